/** Requests whose history is partial. */
import { isObject } from '../checks.js'

/**
 * Whether a request continues state at the provider, so that its history is partial: it may answer
 * calls that only the provider has. Anthropic's `thread` (also as the id alone, or `{ id }`), OpenAI's
 * `previous_response_id` and `conversation`.
 */
export function isPartial(body: Readonly<Record<string, unknown>>): boolean {
  const { thread, previous_response_id: response, conversation } = body
  const { type, id, previous_message_id: message } = isObject(thread) ? thread : {}
  const named = typeof thread === 'string' ? thread : message
  return type === 'continue' || [named, id, response, conversation].some(isReference)
}

const isReference = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== ''
