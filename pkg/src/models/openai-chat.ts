/** OpenAI Chat Completions, and compatible servers. */
import { wrong } from '../errors.js'
import type { OpenAIChatOptions } from '../generated/models.js'
import { CHAT_DIALECTS, OPENAI_CHAT } from '../generated/providers.js'
import { OPEN_AI_CHAT_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { checkAddress, type Model } from './model.js'
import { modelOf, withHistory } from './provider.js'

export type { OpenAIChatOptions }

/**
 * A model behind `POST {baseURL}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
 * OpenRouter, vLLM, Ollama's `/v1` and others.
 *
 * @throws TurnlockError `options.invalid`
 */
export function openaiChat(options: OpenAIChatOptions): Model {
  options = readOptions(options, OPEN_AI_CHAT_OPTIONS)
  const { baseURL, dialect = 'openai-chat' } = options
  if (!CHAT_DIALECTS.includes(dialect)) throw wrong('dialect', `one of ${CHAT_DIALECTS.join(', ')}`)
  checkAddress(baseURL)
  const { reasoning, missingReasoning } = options
  return withHistory(modelOf({ ...OPENAI_CHAT, dialect }, options), {
    reasoning,
    missingReasoning,
  })
}
