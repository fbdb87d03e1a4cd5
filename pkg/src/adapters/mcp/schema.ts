/**
 * Schemas of a server's tools. OpenAI refuses an array without `items` ("array schema
 * missing items", ruvnet/ruflo#1294, 2026-03-05). `nullable` is OpenAPI's, which JSON Schema does not
 * know.
 */
import { isObject } from '../../checks.js'

type Schema = Record<string, unknown>

/** Keywords whose values are data. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples'])

/** The schema with `items` in each array that has none. */
export function withItems(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withItems)
  if (!isObject(schema)) return schema
  const all = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, DATA.has(key) ? value : withItems(value)]),
  ) as Schema
  const isArray = [all['type']].flat().includes('array')
  return isArray && !('items' in all) && !('prefixItems' in all) ? { ...all, items: {} } : all
}

/** The schema with `nullable: true` in the words of JSON Schema. */
export function withNull(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNull)
  if (!isObject(schema)) return schema
  const all = Object.entries(schema).map(([key, value]) => [
    key,
    DATA.has(key) ? value : withNull(value),
  ])
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
