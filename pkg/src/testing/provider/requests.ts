// @ts-nocheck
// What comes to the scripted provider: bodies of no known shape, and what asks for its models.

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The lists of the wires. Their elements are objects; `input` may be one text. */
const LISTS = ['messages', 'contents', 'input', 'tools']

/** Why a body cannot be read, in words for its client; undefined where it can. */
export function misshapen(body, wire) {
  if (body === null) return 'We could not parse the JSON body of your request.'
  if (!isObject(body)) return 'The body of the request is no JSON object.'
  for (const name of LISTS) {
    const list = body[name]
    if (list == null || (name === 'input' && typeof list === 'string')) continue
    if (!Array.isArray(list)) return `Invalid type for '${name}': expected an array.`
    const at = list.findIndex((one) => !isObject(one))
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

/** What a client is told of the models at `path`: one, in the words of every wire. */
export function models(path, name) {
  const created = 1700000000
  const model = {
    ...{ id: name, object: 'model', created, owned_by: 'turnlock' },
    ...{ type: 'model', display_name: name, created_at: '2023-11-14T22:13:20Z' },
  }
  if (/^models\/[^/:]+$/.test(path)) return model
  if (path === 'api/tags') return { models: [{ name, model: name }] }
  if (path !== 'models') return undefined
  const ends = { has_more: false, first_id: name, last_id: name }
  return { object: 'list', data: [model], ...ends, models: [{ name: `models/${name}` }] }
}
