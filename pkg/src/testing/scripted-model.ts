import { TurnlockError } from '../errors.js'
import { customModel } from '../models/custom.js'
import type { Model, ModelRequest } from '../models/model.js'
import type { Delta } from '../types.js'

/** A response of a scripted model: deltas, or a short form of a text or a call. */
export type ScriptedResponse =
  | string
  | { call: string; args?: unknown; id?: string | undefined }
  | readonly Delta[]
  | ((request: ModelRequest) => readonly Delta[] | string)

/** A model that follows a script and records the requests that it received. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[]
}

function deltas(response: Exclude<ScriptedResponse, (...args: never[]) => unknown>): Delta[] {
  if (typeof response === 'string') {
    return [
      { type: 'text', text: response },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ]
  }
  if (!('call' in response)) return [...response]
  const { call, args = {}, id = 'call_1' } = response
  return [
    { type: 'tool_call_start', index: 0, id, name: call },
    { type: 'tool_call_arguments', index: 0, text: JSON.stringify(args) },
    { type: 'tool_call_end', index: 0 },
    { type: 'finish', reason: 'tool_calls', raw: 'tool_calls' },
  ]
}

/**
 * A model for tests. It answers its first request with the first entry, and so on. A request
 * without an entry fails the turn.
 *
 * @example
 * const model = scriptedModel([{ call: 'search', args: { q: 'tides' } }, 'High tide is at noon.'])
 * const { text } = await runTurn({ model, messages, tools: { search } }).result
 * assert.equal(model.requests.length, 2)
 */
export function scriptedModel(entries: readonly ScriptedResponse[]): ScriptedModel {
  const requests: ModelRequest[] = []
  const model = customModel(async function* (request) {
    const entry = entries[requests.length]
    requests.push(request)
    if (entry === undefined) {
      const message = `the script has ${entries.length} responses; this is request ${requests.length}`
      throw new TurnlockError('model.script_ended', message)
    }
    yield* deltas(typeof entry === 'function' ? entry(request) : entry)
  })
  return { ...model, requests }
}
