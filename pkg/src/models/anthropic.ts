/** Anthropic Messages. */
import { post, trimSlash, type HttpModelOptions, type Model } from './model.js'

export interface AnthropicOptions extends HttpModelOptions {
  /** Up to the version. @defaultValue "https://api.anthropic.com/v1" */
  baseURL?: string
  /** Tokens of one response. @defaultValue 4096 */
  maxTokens?: number
  /** Send the header with which the API answers pages: the key is then visible to the page's user. */
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
