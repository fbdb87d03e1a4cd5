// Replicates of made-up data, the same at every run; for `benches/bundle.mjs` and the page.

/** Numbers from 0 to 1, the same at every run. */
export function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
}

let random = randomFrom(1)
const pick = (list) => list[Math.floor(random() * list.length)]
const WORDS =
  'a quick brown fox jumps over lazy dogs while the naïve café owner counts twelve coins'
    .split(' ')
    .concat('東京', 'Größe')

const KINDS = [
  { type: 'number', minimum: 0, maximum: 1 },
  { type: 'number' },
  { enum: ['low', 'mid', 'high'] },
  { enum: ['low', 'mid', 'high'], 'x-compare': 'ordinal' },
  { type: 'boolean' },
  { type: 'string', 'x-weight': 0.25 },
  { type: 'array', items: { type: 'string' }, uniqueItems: true },
  { type: 'array', items: { type: 'string' } },
  { type: 'array', items: { type: 'number', minimum: 0, maximum: 1 } },
]

function valueOf(schema) {
  if (schema.enum) return pick(schema.enum)
  if (schema.type === 'number') return Math.round(random() * 100) / 100
  if (schema.type === 'boolean') return random() < 0.5
  if (schema.type === 'string') return Array.from({ length: 12 }, () => pick(WORDS)).join(' ')
  return Array.from({ length: 4 }, () => valueOf(schema.items)).map((item) =>
    typeof item === 'string' ? item.split(' ')[0] : item,
  )
}

/** Fields in groups of ten; replicates that agree on seven fields of ten. */
export function replicates(k, fields) {
  random = randomFrom(7)
  const properties = {}
  const base = {}
  for (let at = 0; at < fields; at++) {
    const group = `group${Math.floor(at / 10)}`
    const schema = KINDS[at % KINDS.length]
    properties[group] ??= { type: 'object', properties: {} }
    properties[group].properties[`field${at}`] = schema
    base[group] ??= {}
    base[group][`field${at}`] = valueOf(schema)
  }
  const data = Array.from({ length: k }, () => {
    const own = structuredClone(base)
    for (const [group, members] of Object.entries(own)) {
      for (const name of Object.keys(members)) {
        if (random() < 0.12) members[name] = valueOf(properties[group].properties[name])
      }
    }
    return own
  })
  return { schema: { type: 'object', properties }, data }
}

/** As `summarizeReplicates` takes them. */
export const believed = (data) => data.map((one) => ({ data: one, quality: { valid: true } }))
