/** Cohere, version 2 of its API. */
import type { CohereOptions } from '../generated/models.js'
import { COHERE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { bearer, httpModel, type Model } from './model.js'

export type { CohereOptions }

/**
 * A model behind `POST {baseURL}/chat`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function cohere(options: CohereOptions): Model {
  options = readOptions(options, COHERE_OPTIONS)
  const { apiKey, baseURL = 'https://api.cohere.com/v2' } = options
  return httpModel('cohere', options, baseURL, bearer(apiKey))
}
