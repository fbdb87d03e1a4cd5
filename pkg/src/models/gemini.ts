/** Gemini. */
import type { GeminiOptions } from '../generated/models.js'
import { GEMINI } from '../generated/providers.js'
import { GEMINI_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Model } from './model.js'
import { modelOf, withHistory } from './provider.js'

export type { GeminiOptions }

/**
 * A model behind `POST {baseURL}/models/{model}:streamGenerateContent`. The key is sent as
 * `x-goog-api-key`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function gemini(options: GeminiOptions): Model {
  options = readOptions(options, GEMINI_OPTIONS)
  const { thoughtSignatures } = options
  return withHistory(modelOf(GEMINI, options), { thoughtSignatures })
}
