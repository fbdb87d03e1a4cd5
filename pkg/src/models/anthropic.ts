/** Anthropic Messages. */
import type { AnthropicOptions } from '../generated/models.js'
import { ANTHROPIC_OPTIONS } from '../generated/rows.js'
import { checkOptions } from '../options.js'
import { checkAddress, post, type Model } from './model.js'

export type { AnthropicOptions }

/**
 * A model behind `POST {baseURL}/messages`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function anthropic(options: AnthropicOptions): Model {
  checkOptions(options, ANTHROPIC_OPTIONS)
  const { model, apiKey, maxRetries = 2, maxTokens = 4096, body } = options
  const { baseURL = 'https://api.anthropic.com/v1' } = options
  checkAddress(baseURL)
  const own: Record<string, string> = {}
  if (apiKey) own['x-api-key'] = apiKey
  if (options.dangerouslyAllowBrowser) own['anthropic-dangerous-direct-browser-access'] = 'true'
  return {
    dialect: 'anthropic',
    maxRetries,
    model,
    body: { max_tokens: maxTokens, ...body },
    open: (request, sending) => post(options, baseURL, own, request, sending),
  }
}
