/** OpenAI Chat Completions, and compatible servers. */
import { TurnlockError } from '../errors.js'
import { post, trimSlash, type HttpModelOptions, type Model } from './model.js'

export interface OpenAIChatOptions extends HttpModelOptions {
  /** The URL up to the version, such as `https://api.openai.com/v1`. */
  baseURL: string
  /** The server's variant of the wire format. @defaultValue "openai-chat" */
  dialect?: 'openai-chat' | 'deepseek' | 'mistral'
}

/**
 * A model behind `POST {baseURL}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
 * OpenRouter, vLLM, Ollama's `/v1` and others.
 */
export function openaiChat(options: OpenAIChatOptions): Model {
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
