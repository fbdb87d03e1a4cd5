/**
 * Schemas and arguments of a server's tools. OpenAI refuses an array without `items` ("array schema
 * missing items", ruvnet/ruflo#1294, 2026-03-05). `nullable` is OpenAPI's, which JSON Schema does not
 * know. Null for what is optional comes from models whose own API makes every parameter required
 * (openclaw/openclaw#96729, 2026-06-25): servers want it left out.
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

/** The arguments without each null of an optional property that takes none. */
export function withoutNulls(args: unknown, schema: unknown, root: unknown = schema): unknown {
  const own = resolved(schema, root)
  if (!isObject(own)) return args
  if (Array.isArray(args)) return args.map((item) => withoutNulls(item, own['items'], root))
  const { properties, required } = own
  if (!isObject(args) || !isObject(properties)) return args
  const kept = Object.entries(args).flatMap(([key, value]) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    const optional = !Array.isArray(required) || !required.includes(key)
    if (value === null && optional && property !== undefined && !takesNull(property, root))
      return []
    return [[key, withoutNulls(value, property, root)]]
  })
  return Object.fromEntries(kept)
}

function takesNull(schema: unknown, root: unknown, depth = 0): boolean {
  const own = resolved(schema, root)
  if (!isObject(own) || depth > MOST) return true
  const { type, enum: values, const: value, anyOf, oneOf, allOf } = own
  const takes = (one: unknown) => takesNull(one, root, depth + 1)
  if (type !== undefined && ![type].flat().includes('null')) return false
  if (Array.isArray(values) && !values.includes(null)) return false
  if ('const' in own && value !== null) return false
  if (Array.isArray(allOf) && !allOf.every(takes)) return false
  return [anyOf, oneOf].every((list) => !Array.isArray(list) || list.some(takes))
}

/** References that are followed in a row. */
const MOST = 16

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The schema that a reference leads to; undefined if it leads nowhere. */
function resolved(schema: unknown, root: unknown): unknown {
  let found = schema
  for (let steps = 0; isObject(found) && typeof found['$ref'] === 'string'; steps++) {
    const path = found['$ref']
    if (steps === MOST || !path.startsWith('#')) return undefined
    found = path
      .split('/')
      .slice(1)
      .map((name) => decoded(name).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((at, name) => {
        if (Array.isArray(at)) return at[Number(name)] as unknown
        return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
      }, root)
  }
  return found
}
