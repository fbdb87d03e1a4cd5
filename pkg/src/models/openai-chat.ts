/** OpenAI Chat Completions, and compatible servers. */
import { TurnlockError } from '../errors.js'
import type { OpenAIChatOptions } from '../generated/models.js'
import { OPEN_AI_CHAT_OPTIONS } from '../generated/rows.js'
import { checkOptions } from '../options.js'
import { post, trimSlash, type Model } from './model.js'

export type { OpenAIChatOptions }

/**
 * A model behind `POST {baseURL}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
 * OpenRouter, vLLM, Ollama's `/v1` and others.
 *
 * @throws TurnlockError `options.invalid`
 */
export function openaiChat(options: OpenAIChatOptions): Model {
  checkOptions(options, OPEN_AI_CHAT_OPTIONS)
  if (!options.baseURL) throw new TurnlockError('options.invalid', '`baseURL`: expected an address')
  const { model, apiKey, maxRetries = 2, dialect = 'openai-chat', body } = options
  const url = `${trimSlash(options.baseURL)}/chat/completions`
  // Mistral rejects unknown members.
  const usage = dialect === 'mistral' ? {} : { stream_options: { include_usage: true } }
  return {
    dialect,
    maxRetries,
    open: (request, { signal }) =>
      post(
        options,
        url,
        apiKey ? { authorization: `Bearer ${apiKey}` } : {},
        { model, stream: true, ...usage, ...body, ...request },
        signal,
      ),
  }
}
