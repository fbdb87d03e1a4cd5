/** OpenAI Chat Completions, and compatible servers. */
import type { OpenAIChatOptions } from '../generated/models.js'
import { OPEN_AI_CHAT_OPTIONS } from '../generated/rows.js'
import { checkOptions } from '../options.js'
import { checkAddress, post, type Model } from './model.js'

export type { OpenAIChatOptions }

/**
 * A model behind `POST {baseURL}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
 * OpenRouter, vLLM, Ollama's `/v1` and others.
 *
 * @throws TurnlockError `options.invalid`
 */
export function openaiChat(options: OpenAIChatOptions): Model {
  checkOptions(options, OPEN_AI_CHAT_OPTIONS)
  const { model, baseURL, apiKey, maxRetries = 2, dialect = 'openai-chat', body } = options
  checkAddress(baseURL)
  const own: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {}
  return {
    dialect,
    maxRetries,
    model,
    body,
    open: (request, sending) => post(options, baseURL, own, request, sending),
  }
}
