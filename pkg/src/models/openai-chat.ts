/** OpenAI Chat Completions, and compatible servers. */
import { wrong } from '../errors.js'
import type { OpenAIChatOptions } from '../generated/models.js'
import { OPEN_AI_CHAT_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { bearer, httpModel, type Model } from './model.js'

export type { OpenAIChatOptions }

const DIALECTS = ['openai-chat', 'deepseek', 'mistral', 'groq', 'xai', 'chat-template']

/**
 * A model behind `POST {baseURL}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
 * OpenRouter, vLLM, Ollama's `/v1` and others.
 *
 * @throws TurnlockError `options.invalid`
 */
export function openaiChat(options: OpenAIChatOptions): Model {
  options = readOptions(options, OPEN_AI_CHAT_OPTIONS)
  const { baseURL, apiKey, dialect = 'openai-chat' } = options
  if (!DIALECTS.includes(dialect)) throw wrong('dialect', `one of ${DIALECTS.join(', ')}`)
  return httpModel(dialect, options, baseURL, bearer(apiKey))
}
