/** OpenAI Responses. */
import type { OpenAIResponsesOptions } from '../generated/models.js'
import { OPENAI_RESPONSES } from '../generated/providers.js'
import { OPEN_AI_RESPONSES_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Model } from './model.js'
import { modelOf } from './provider.js'

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
  return modelOf(OPENAI_RESPONSES, readOptions(options, OPEN_AI_RESPONSES_OPTIONS))
}
