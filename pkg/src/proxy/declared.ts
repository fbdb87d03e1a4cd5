/**
 * Arguments as a tool's schema reads them. Frameworks validate a call before they run it, and send
 * back what they read: the AI SDK and LangChain drop members that a zod schema does not declare, and
 * fill in defaults. The same call of the model then looks like another one.
 */
import { either, list, listed, membersOf, object, stringify, type Members } from './json.js'

/** Levels of objects that are read; deeper ones stay as they are. */
const MAX_DEPTH = 8

/** The schemas of a request's tools, by name. */
export function declaredSchemas(body: Members | undefined): ReadonlyMap<string, Members> {
  const schemas = new Map<string, Members>()
  const add = (name: unknown, schema: unknown) => {
    if (typeof name === 'string') schemas.set(name, object(schema))
  }
  for (const entry of [...listed(body?.['tools']), ...list(body?.['functions'])].map(object)) {
    const { name, parameters, input_schema: input, function: nested } = entry
    const { name: nestedName, parameters: nestedParameters } = object(nested)
    add(nestedName ?? name, nestedParameters ?? parameters ?? input)
    for (const declared of listed(either(entry, 'functionDeclarations')).map(object)) {
      const json = either(declared, 'parametersJsonSchema')
      add(declared.name, json ?? inLowerCase(declared.parameters))
    }
  }
  return schemas
}

/** A schema of Gemini, whose types are in capital letters, as JSON Schema. */
const inLowerCase = (schema: unknown = {}): unknown =>
  JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    name === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  )

/**
 * The JSON text of an object without the members that its schema excludes, and with the defaults of
 * those that are missing. Any other text stays as it is, and so do the texts of values.
 */
export function asDeclared(json: string, schema: Members, depth = MAX_DEPTH): string {
  const text = json.trim()
  const properties = object(schema['properties'])
  if (!text.startsWith('{') || depth === 0 || Object.keys(properties).length === 0) return json
  const isClosed = schema['additionalProperties'] === false
  const members = membersOf(text)
  const parts: string[] = []
  for (const [name, { start, end }] of members) {
    const isDeclared = Object.hasOwn(properties, name)
    if (!isDeclared && isClosed) continue
    const value = text.slice(start, end)
    const read = isDeclared ? asDeclared(value, object(properties[name]), depth - 1) : value
    parts.push(`${JSON.stringify(name)}:${read}`)
  }
  for (const [name, property] of Object.entries(properties)) {
    const { default: preset } = object(property)
    if (preset !== undefined && !members.has(name)) {
      parts.push(`${JSON.stringify(name)}:${stringify(preset)}`)
    }
  }
  return `{${parts.join(',')}}`
}
