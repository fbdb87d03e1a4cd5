/** Ollama's own API. */
import type { OllamaOptions } from '../generated/models.js'
import { OLLAMA } from '../generated/providers.js'
import { OLLAMA_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Model } from './model.js'
import { modelOf } from './provider.js'

export type { OllamaOptions }

/**
 * A model behind `POST {baseURL}/api/chat`. Ollama's `/v1` is for `openaiChat`. A local server
 * needs no key.
 *
 * @throws TurnlockError `options.invalid`
 */
export function ollama(options: OllamaOptions): Model {
  return modelOf(OLLAMA, readOptions(options, OLLAMA_OPTIONS))
}
