/** Ollama's own API. */
import type { OllamaOptions } from '../generated/models.js'
import { OLLAMA_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { bearer, httpModel, type Model } from './model.js'

export type { OllamaOptions }

/**
 * A model behind `POST {baseURL}/api/chat`. Ollama's `/v1` is for `openaiChat`. A local server
 * needs no key.
 *
 * @throws TurnlockError `options.invalid`
 */
export function ollama(options: OllamaOptions): Model {
  options = readOptions(options, OLLAMA_OPTIONS)
  const { apiKey, baseURL = 'http://localhost:11434' } = options
  return httpModel('ollama', options, baseURL, bearer(apiKey))
}
