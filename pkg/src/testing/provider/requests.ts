/** Requests to the scripted provider: the check of their shape, and the lists of models. */
import type { Wire } from './wire/entry.js'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members that are lists of objects; `input` may be a string. */
const LISTS = ['messages', 'contents', 'input', 'tools']

/** Returns an error message for a body that cannot be read; undefined if it can. */
export function describeInvalidBody(body: unknown, wire: Wire): string | undefined {
  if (body === null) return 'We could not parse the JSON body of your request.'
  if (!isObject(body)) return 'The body of the request is no JSON object.'
  for (const name of LISTS) {
    const list = body[name]
    if (list == null || (name === 'input' && typeof list === 'string')) continue
    if (!Array.isArray(list)) return `Invalid type for '${name}': expected an array.`
    const at = list.findIndex((element) => !isObject(element))
    if (at >= 0) return `Invalid type for '${name}[${at}]': expected an object.`
  }
  try {
    wire.violation(body)
    wire.view(body)
    return undefined
  } catch {
    return 'The body of the request has a member of another type than its API takes.'
  }
}

/**
 * Returns the body for a request of models: one model, with the members of every API; undefined if
 * `path` is not such a request.
 */
export function modelsAt(path: string, name: string): object | undefined {
  const created = 1700000000
  const model = {
    id: name,
    object: 'model',
    created,
    owned_by: 'turnlock',
    type: 'model',
    display_name: name,
    created_at: '2023-11-14T22:13:20Z',
  }
  if (/^models\/[^/:]+$/.test(path)) return model
  if (path === 'api/tags') return { models: [{ name, model: name }] }
  if (path !== 'models') return undefined
  return {
    object: 'list',
    data: [model],
    has_more: false,
    first_id: name,
    last_id: name,
    models: [{ name: `models/${name}` }],
  }
}
