// The definitions of a bundle's summary in plain JavaScript, as one would write them without this
// package: values prepared once, then compared. It has every kind that the benchmark's data has:
// number, ordinal, category, text (of letters and digits alone), set, multiset, positional, object. No
// limits, no caps, no checks of its input.

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

function kindOf(schema = {}) {
  if (schema['x-compare']) return schema['x-compare']
  if (schema.enum) return 'category'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  if (schema.type === 'boolean') return 'category'
  if (schema.type === 'string') return schema.format ? 'category' : 'text'
  if (schema.type === 'array') {
    if (schema.uniqueItems) return 'set'
    return schema.items?.type === 'number' ? 'positional' : 'multiset'
  }
  return 'object'
}

const canonical = (value) =>
  JSON.stringify(value, (_, inner) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : typeof inner === 'string'
        ? inner.normalize('NFC')
        : inner,
  )

function counted(items) {
  const counts = new Map()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

const orderOf = (kind, items) => (kind === 'set' ? [...new Set(items)] : items).join()

/** A word, or a Chinese character. */
const WORD = /\p{sc=Han}|(?:(?!\p{sc=Han})[\p{Alphabetic}\p{N}])+/gu

/** A value with what comparing it needs. */
function prepare(value, schema = {}) {
  const kind = kindOf(schema)
  if (value === null) return { kind: 'null', value, vote: 'null' }
  if (kind === 'object') {
    const members = new Map()
    for (const [name, inner] of Object.entries(value)) {
      members.set(name, prepare(inner, schema.properties?.[name]))
    }
    return { kind, value, members }
  }
  if (kind === 'text') {
    const lower = value.normalize('NFC').toLowerCase().replaceAll('ß', 'ss').match(WORD) ?? []
    return {
      kind,
      value,
      words: new Set(lower),
      vote: lower.length ? `t ${lower.join(' ')}` : value,
    }
  }
  if (kind === 'set' || kind === 'multiset') {
    const items = value.map(canonical)
    const counts = kind === 'set' ? counted(new Set(items)) : counted(items)
    return { kind, value, counts, vote: [...counts].sort().join(), order: orderOf(kind, items) }
  }
  if (kind === 'ordinal')
    return { kind, value, rank: schema.enum.indexOf(value), vote: canonical(value) }
  return { kind, value, vote: canonical(value) }
}

function jaccard(a, b) {
  let [both, either] = [0, 0]
  for (const [item, count] of a) {
    const other = b.get(item) ?? 0
    both += Math.min(count, other)
    either += Math.max(count, other)
  }
  for (const [item, count] of b) if (!a.has(item)) either += count
  return either ? 1 - both / either : 0
}

function words(a, b) {
  let both = 0
  for (const word of a) if (b.has(word)) both++
  const either = a.size + b.size - both
  // The same words in another order.
  return both === either ? 0.25 / (both + 1) : 1 - both / either
}

const numbers = (a, b, { minimum, maximum }) =>
  a === b
    ? 0
    : Math.min(
        1,
        Math.abs(a - b) /
          (maximum > minimum ? maximum - minimum : Math.max(Math.abs(a), Math.abs(b))),
      )

function distance(a, b, schema = {}) {
  if (a.kind === 'null' || b.kind === 'null') return a.kind === b.kind ? 0 : 1
  switch (a.kind) {
    case 'number':
      return numbers(a.value, b.value, schema)
    case 'ordinal':
      return Math.abs(a.rank - b.rank) / (schema.enum.length - 1)
    case 'text':
      return a.vote === b.vote ? 0 : a.words.size || b.words.size ? words(a.words, b.words) : 1
    case 'set':
    case 'multiset':
      return jaccard(a.counts, b.counts)
    case 'positional': {
      const [n, m] = [a.value.length, b.value.length]
      let sum = Math.abs(n - m)
      for (let i = 0; i < Math.min(n, m); i++) sum += numbers(a.value[i], b.value[i], schema.items)
      return n || m ? sum / Math.max(n, m) : 0
    }
    case 'object': {
      let [sum, weights] = [0, 0]
      for (const name of new Set([...a.members.keys(), ...b.members.keys()])) {
        const inner = schema.properties?.[name] ?? {}
        const weight = inner['x-weight'] ?? 1
        const [left, right] = [a.members.get(name), b.members.get(name)]
        weights += weight
        sum += weight * (left && right ? distance(left, right, inner) : 1)
      }
      return weights ? sum / weights : 0
    }
    default:
      return a.vote === b.vote ? 0 : 1
  }
}

const token = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Every field with what each replicate has there. */
function* leaves(held, schema = {}, field = '', weight = 1) {
  if (!held.every((one) => !one || one.kind === 'object'))
    return yield { held, schema, field, weight }
  const names = new Set(held.flatMap((one) => (one ? [...one.members.keys()] : [])))
  for (const name of [...names].sort()) {
    const inner = schema.properties?.[name] ?? {}
    const own = weight * (inner['x-weight'] ?? 1)
    const below = held.map((one) => one?.members.get(name))
    if (own > 0) yield* leaves(below, inner, `${field}/${token(name)}`, own)
  }
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const last = sorted.length - 1
  return (sorted[Math.floor(last / 2)] + sorted[Math.ceil(last / 2)]) / 2
}

function distribution({ held, schema }) {
  const there = held.filter(Boolean)
  const kind = kindOf(schema)
  if (kind === 'number') {
    const values = there.filter((one) => one.kind === 'number').map((one) => one.value)
    const n = values.length
    const mean = values.reduce((sum, value) => sum + value, 0) / n
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    const stdev = n > 1 ? Math.sqrt(squares / (n - 1)) : null
    return {
      n,
      mean,
      stdev,
      min: Math.min(...values),
      max: Math.max(...values),
      median: median(values),
    }
  }
  if (kind !== 'category' && kind !== 'ordinal') return undefined
  const counts = new Map()
  for (const one of there) {
    const entry = counts.get(one.vote) ?? { value: one.value, count: 0 }
    entry.count++
    counts.set(one.vote, entry)
  }
  const sorted = [...counts.values()].sort((a, b) => b.count - a.count)
  return { n: there.length, missing: held.length - there.length, counts: sorted }
}

/** The replicates of a class by the order of their lists. */
function ordersOf({ held }, { replicates }) {
  const orders = new Map()
  for (const at of replicates) {
    const order = held[at]?.order
    const one = orders.get(order) ?? { value: held[at]?.value, replicates: [] }
    one.replicates.push(at)
    orders.set(order, one)
  }
  return [...orders.values()]
}

/** The summary of valid replicates. */
export function summarize(replicates, schema) {
  const ready = replicates.map((data) => prepare(data, schema))
  const k = ready.length
  const pairwise_distance = Array.from({ length: k }, () => new Array(k).fill(0))
  let [sum, pairs] = [0, 0]
  for (let i = 0; i < k; i++) {
    for (let j = i + 1; j < k; j++) {
      const far = distance(ready[i], ready[j], schema)
      pairwise_distance[i][j] = pairwise_distance[j][i] = far
      sum += far
      pairs++
    }
  }
  const consensus = {}
  const disagreements = []
  const distributions = {}
  for (const leaf of leaves(ready, schema)) {
    const groups = new Map()
    leaf.held.forEach((one, at) => {
      const vote = one?.vote
      const group = groups.get(vote) ?? { value: one?.value ?? null, missing: !one, replicates: [] }
      group.replicates.push(at)
      groups.set(vote, group)
    })
    const values = [...groups.values()]
    const winner = values.find(({ replicates: all }) => all.length >= 2 && 2 * all.length > k)
    if (winner) {
      const shown = ordersOf(leaf, winner).find(({ replicates: all }) => 2 * all.length > k)
      if (!winner.missing) consensus[leaf.field] = (shown ?? winner).value
    } else if (
      kindOf(leaf.schema) === 'number' &&
      leaf.held.every((one) => one?.kind === 'number')
    ) {
      const all = leaf.held.map((one) => one.value).sort((a, b) => a - b)
      const { minimum, maximum } = leaf.schema
      const measured = maximum > minimum || !all.every(Number.isInteger)
      const near = numbers(all[0], all[k - 1], leaf.schema) <= 0.05 + 1e-12
      if (measured && near) consensus[leaf.field] = all[Math.floor((k - 1) / 2)]
    }
    const orders = values.map((group) => ordersOf(leaf, group)).filter(({ length }) => length > 1)
    if (orders.length) {
      const { field, weight } = leaf
      const all = orders.flat().sort((a, b) => b.replicates.length - a.replicates.length)
      const none = { mean_distance: 0, max_distance: 0 }
      disagreements.push({ field, weight, ...none, kind: 'order', values: all })
    }
    if (values.length > 1) {
      let [total, most, n] = [0, 0, 0]
      for (let i = 0; i < k; i++) {
        for (let j = i + 1; j < k; j++) {
          const [a, b] = [leaf.held[i], leaf.held[j]]
          if (!a && !b) continue
          const far = a && b ? distance(a, b, leaf.schema) : 1
          total += far
          most = Math.max(most, far)
          n++
        }
      }
      values.sort((a, b) => b.replicates.length - a.replicates.length)
      const [mean_distance, max_distance] = [total / n, most]
      disagreements.push({
        field: leaf.field,
        weight: leaf.weight,
        mean_distance,
        max_distance,
        values,
      })
    }
    const found = distribution(leaf)
    if (found) distributions[leaf.field] = found
  }
  const steps = (value) => Math.round(value * 1e9)
  disagreements.sort(
    (a, b) =>
      (a.kind ? 1 : 0) - (b.kind ? 1 : 0) ||
      steps(b.weight * b.mean_distance) - steps(a.weight * a.mean_distance) ||
      steps(b.max_distance) - steps(a.max_distance) ||
      (a.field < b.field ? -1 : 1),
  )
  const confidence = pairs ? 1 - sum / pairs : null
  return { pairwise_distance, confidence, consensus, disagreements, distributions }
}
