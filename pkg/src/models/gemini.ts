/** Gemini. */
import type { GeminiOptions } from '../generated/models.js'
import { GEMINI_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { httpModel, type Model } from './model.js'

export type { GeminiOptions }

/**
 * A model behind `POST {baseURL}/models/{model}:streamGenerateContent`. The key is sent as
 * `x-goog-api-key`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function gemini(options: GeminiOptions): Model {
  options = readOptions(options, GEMINI_OPTIONS)
  const { apiKey, baseURL = 'https://generativelanguage.googleapis.com/v1beta' } = options
  return httpModel('gemini', options, baseURL, apiKey ? { 'x-goog-api-key': apiKey } : {})
}
