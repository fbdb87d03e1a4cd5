/**
 * Completes the schemas of tools, because some providers refuse all tools of a request for what one
 * leaves out: OpenAI an object without `properties` (bnb-chain/bnbchain-mcp#68, 2026-03-30) and an
 * array without `items` (ruvnet/ruflo#1294, 2026-03-05), MiniMax an empty schema
 * (QwenLM/qwen-code#11905, 2026). `nullable` is OpenAPI's, which JSON Schema does not know.
 */
import { isObject } from '../checks.js'

type Schema = Record<string, unknown>

/** Keywords whose values are data. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples'])

/**
 * Returns the schema with `type` and `properties` at its root and with `items` in each array. A schema
 * whose root is no object, or that is no JSON, stays as it is.
 */
export function completeSchema(schema: Schema): Schema {
  const { type = 'object' } = schema
  if (![type].flat().includes('object')) return schema
  try {
    const copy = JSON.parse(JSON.stringify({ type, properties: {}, ...schema })) as Schema
    return withItems(copy) as Schema
  } catch {
    return schema
  }
}

/** Returns the schema with `items` in each array that has none. */
function withItems(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withItems)
  if (!isObject(schema)) return schema
  const all = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, DATA.has(key) ? value : withItems(value)]),
  ) as Schema
  const isArray = [all['type']].flat().includes('array')
  return isArray && !('items' in all) && !('prefixItems' in all) ? { ...all, items: {} } : all
}

/** Keywords whose values are schemas by names, of which `nullable` may be one. */
const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

const eachWithNull = (schemas: object): Schema =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withNull(schema)]))

/** Returns the schema with `nullable: true` in the words of JSON Schema. */
export function withNull(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNull)
  if (!isObject(schema)) return schema
  const all = Object.entries(schema).map(([key, value]) => {
    if (DATA.has(key)) return [key, value]
    return [key, MAPS.has(key) && isObject(value) ? eachWithNull(value) : withNull(value)]
  })
  const { nullable, ...rest } = Object.fromEntries(all) as Schema
  if (nullable !== true) return { ...(nullable !== undefined && { nullable }), ...rest }
  const { type, enum: values } = rest
  if (type === undefined) return { anyOf: [rest, { type: 'null' }] }
  return {
    ...rest,
    type: [...new Set([type, 'null'].flat())],
    ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
  }
}
