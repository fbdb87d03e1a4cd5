/** Models without HTTP: in the browser, or behind another SDK. */
import { wrong } from '../errors.js'
import type { CustomModelOptions } from '../generated/models.js'
import { CUSTOM_MODEL_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { Delta } from '../types.js'
import type { Model, ModelRequest } from './model.js'

/**
 * A model from a generator of deltas. `request` contains `messages`, `tools` and `tool_choice` in
 * OpenAI Chat's shape. A `finish` delta may be left out: returning ends the response and every
 * call in it.
 *
 * A model with `threads` keeps the conversation: turns with `strategy: "thread"` send it
 * `request.threadId` and only the messages that its thread lacks.
 *
 * What `generate` or its generator throws ends the turn with `model.failed`, or is tried again by
 * `maxRetries` of the turn.
 *
 * @throws TurnlockError `options.invalid`
 */
export function customModel(
  generate: (request: ModelRequest, options: { signal: AbortSignal }) => AsyncIterable<Delta>,
  options: CustomModelOptions = {},
): Model {
  options = readOptions(options, CUSTOM_MODEL_OPTIONS)
  const { threads = false } = options
  if (typeof threads !== 'boolean') throw wrong('threads', 'true or false')
  if (typeof generate !== 'function') throw wrong('generate', 'a function')
  // What `generate` itself throws fails the request, as what its generator throws does.
  const open: Model['open'] = async function* (request, { signal }) {
    yield* generate(request, { signal })
  }
  return { dialect: 'openai-chat', maxRetries: 0, ...(threads && { threads }), open }
}
