/** Anthropic Messages. */
import { checkValues, type Checks } from '../checks.js'
import type { AnthropicOptions } from '../generated/models.js'
import { ANTHROPIC_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { httpModel, type Model } from './model.js'

export type { AnthropicOptions }

/**
 * A model behind `POST {baseURL}/messages`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function anthropic(options: AnthropicOptions): Model {
  options = readOptions(options, ANTHROPIC_OPTIONS)
  const { apiKey, maxTokens, dangerouslyAllowBrowser } = options
  const { baseURL = 'https://api.anthropic.com/v1' } = options
  const rows: Checks = { maxTokens: { whole: [1] }, dangerouslyAllowBrowser: 'flag' }
  checkValues({ maxTokens, dangerouslyAllowBrowser }, rows)
  const own: Record<string, string> = {}
  if (apiKey) own['x-api-key'] = apiKey
  if (dangerouslyAllowBrowser) own['anthropic-dangerous-direct-browser-access'] = 'true'
  const body = { max_tokens: maxTokens ?? 4096, ...options.body }
  return httpModel('anthropic', { ...options, body }, baseURL, own)
}
