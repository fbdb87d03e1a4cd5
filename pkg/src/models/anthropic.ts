/** Anthropic Messages. */
import { checkValues } from '../checks.js'
import type { AnthropicOptions } from '../generated/models.js'
import { ANTHROPIC } from '../generated/providers.js'
import { ANTHROPIC_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Model } from './model.js'
import { modelOf } from './provider.js'

export type { AnthropicOptions }

/**
 * A model behind `POST {baseURL}/messages`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function anthropic(options: AnthropicOptions): Model {
  options = readOptions(options, ANTHROPIC_OPTIONS)
  const { maxTokens } = options
  checkValues({ maxTokens }, { maxTokens: { whole: [1] } })
  const body = { max_tokens: maxTokens ?? 4096, ...options.body }
  return modelOf(ANTHROPIC, { ...options, body })
}
