/** Anthropic Messages. */
import { post, trimSlash, type HttpModelOptions, type Model } from './model.js'

export interface AnthropicOptions extends HttpModelOptions {
  /** The URL up to the version. @defaultValue "https://api.anthropic.com/v1" */
  baseURL?: string
  /** Maximum tokens of one response. @defaultValue 4096 */
  maxTokens?: number
  /** Sends the header that allows requests from pages. The page's user can then see the key. */
  dangerouslyAllowBrowser?: boolean
}

/** A model behind `POST {baseURL}/messages`. */
export function anthropic(options: AnthropicOptions): Model {
  const { model, apiKey, maxRetries = 2, maxTokens = 4096, body } = options
  const url = `${trimSlash(options.baseURL ?? 'https://api.anthropic.com/v1')}/messages`
  const own: Record<string, string> = { 'anthropic-version': '2023-06-01' }
  if (apiKey) own['x-api-key'] = apiKey
  if (options.dangerouslyAllowBrowser) own['anthropic-dangerous-direct-browser-access'] = 'true'
  return {
    dialect: 'anthropic',
    maxRetries,
    open: (request, { signal }) =>
      post(
        options,
        url,
        own,
        { model, max_tokens: maxTokens, stream: true, ...body, ...request },
        signal,
      ),
  }
}
