/** Cohere, version 2 of its API. */
import type { CohereOptions } from '../generated/models.js'
import { COHERE } from '../generated/providers.js'
import { COHERE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Model } from './model.js'
import { modelOf } from './provider.js'

export type { CohereOptions }

/**
 * A model behind `POST {baseURL}/chat`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function cohere(options: CohereOptions): Model {
  return modelOf(COHERE, readOptions(options, COHERE_OPTIONS))
}
