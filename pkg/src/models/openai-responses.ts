/** OpenAI Responses. */
import type { OpenAIResponsesOptions } from '../generated/models.js'
import { OPEN_AI_RESPONSES_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { bearer, httpModel, type Model } from './model.js'

export type { OpenAIResponsesOptions }

/**
 * A model behind `POST {baseURL}/responses`. Nothing is kept by the provider (`store: false`):
 * reasoning comes encrypted and is sent back within a turn. With `strategy: "thread"` of a turn the
 * provider keeps the conversation (`store: true`), and requests name its last response
 * (`previous_response_id`).
 *
 * @throws TurnlockError `options.invalid`
 */
export function openaiResponses(options: OpenAIResponsesOptions): Model {
  options = readOptions(options, OPEN_AI_RESPONSES_OPTIONS)
  const { apiKey, baseURL = 'https://api.openai.com/v1' } = options
  return { ...httpModel('openai-responses', options, baseURL, bearer(apiKey)), threads: true }
}
