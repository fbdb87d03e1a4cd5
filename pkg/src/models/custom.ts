/** Models without HTTP: in the browser, or behind another SDK. */
import type { Delta } from '../types.js'
import type { Model, ModelRequest } from './model.js'

/**
 * A model from a generator of deltas. `request` contains `messages`, `tools` and `tool_choice` in
 * OpenAI Chat's shape. A `finish` delta may be left out: returning ends the response and every
 * call in it.
 */
export function customModel(
  generate: (request: ModelRequest, options: { signal: AbortSignal }) => AsyncIterable<Delta>,
): Model {
  const open: Model['open'] = (request, { signal }) => generate(request, { signal })
  return { dialect: 'openai-chat', maxRetries: 0, open }
}
