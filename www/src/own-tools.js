// Tools that the visitor describes as JSON, with the results that they return. They stay in this
// browser.
import { defineTool } from 'turnlock'
import { parseJson } from 'turnlock/inspect'
import { byId } from './dom.js'
import { recall, remember } from './kept.js'

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** As it stands in the field. */
const text = () => byId('own-tools').value.trim()

/**
 * Reads a list of tools: ours, or those of a request body of OpenAI or Anthropic.
 * @returns {Record<string, { description: string, inputSchema: object, readOnly?: boolean,
 *   needsApproval?: boolean, results: unknown[] }> | undefined} by name; undefined for an empty text
 * @throws Error in words for the field
 */
function toolsOf(given) {
  if (!given) return undefined
  let list = parseJson(given)
  if (isObject(list)) list = list.tools ?? [list]
  if (!Array.isArray(list) || !list.length) throw new Error('expected a list of tools')
  const tools = Object.create(null)
  for (const [at, one] of list.entries()) {
    const where = `tool ${at + 1}`
    if (!isObject(one)) throw new Error(`${where}: expected an object`)
    const { name, tool } = described(one, where)
    if (tools[name]) throw new Error(`${where}: there is another one called ${name}`)
    tools[name] = tool
  }
  return tools
}

function described(one, where) {
  const { name, description, ...said } = isObject(one.function) ? one.function : one
  if (!NAME.test(name ?? '')) {
    throw new Error(`${where}: "name" has letters, digits, _ and -, 64 at most`)
  }
  const schemas = [said.schema, said.inputSchema, said.input_schema, said.parameters]
  const inputSchema = schemas.find((schema) => schema !== undefined) ?? { type: 'object' }
  if (!isObject(inputSchema)) throw new Error(`${name}: "schema" is a JSON Schema, an object`)
  const results = one.results ?? ('result' in one ? [one.result] : [null])
  if (!Array.isArray(results) || !results.length) {
    throw new Error(`${name}: "results" is a list, one for each call; the last one again and again`)
  }
  const tool = {
    description: typeof description === 'string' ? description : `The tool ${name}.`,
    inputSchema,
    results,
    ...(one.readOnly === true && { readOnly: true }),
    ...(one.needsApproval === true && { needsApproval: true }),
  }
  // What it refuses is said here, not when a turn begins.
  defineTool({ description: tool.description, inputSchema, execute: () => null })
  return { name, tool }
}

/** The `nth` result of a tool; `{ "error": "…" }` alone is thrown. */
export function resultOf({ results }, nth) {
  const result = results[Math.min(nth, results.length - 1)]
  if (isObject(result) && Object.keys(result).join() === 'error') throw new Error(result.error)
  return result
}

/** What the field has; undefined where it is empty. */
export const ownTools = () => toolsOf(text())

/** Says at the field what is wrong with it. */
function check() {
  const says = byId('own-tools-said')
  try {
    const names = Object.keys(ownTools() ?? {})
    byId('own-tools').setAttribute('aria-invalid', 'false')
    says.className = 'hint about'
    says.textContent = names.length
      ? `Turns have: ${names.join(', ')}.`
      : 'Turns have the tools of the page.'
  } catch ({ message }) {
    byId('own-tools').setAttribute('aria-invalid', 'true')
    says.className = 'hint about failed'
    says.textContent = `${message}.`
  }
}

const EXAMPLE = [
  {
    name: 'search',
    description: 'Searches the manual.',
    schema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    readOnly: true,
    results: [{ hits: [] }, { hits: ['Chapter 4'] }, { error: 'the index is being rebuilt' }],
  },
]

export function setUpOwnTools() {
  byId('own-tools').value = recall('tools', '')
  byId('own-tools').addEventListener('input', () => {
    remember('tools', text() || undefined)
    check()
  })
  byId('own-tools-example').addEventListener('click', () => {
    byId('own-tools').value = JSON.stringify(EXAMPLE, null, 1)
    byId('own-tools').dispatchEvent(new Event('input'))
    byId('own-tools').focus()
  })
  if (text()) byId('own-tools').closest('details').open = true
  check()
}
