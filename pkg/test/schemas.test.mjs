// Schemas of other libraries, unmodified: what the model reads, and what the tool receives.
import assert from 'node:assert/strict'
import test from 'node:test'
import { toJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod3'
import { customModel, defineTool, runTurn } from 'turnlock'
import { summarizeReplicates } from 'turnlock/evidence'
import { runPlanning } from 'turnlock/planning'
import { scriptedModel } from 'turnlock/testing'

const tool = (inputSchema, own) =>
  defineTool({ description: 'd', inputSchema, execute: (args) => args, ...own })

/** A schema made by hand, which says no JSON Schema. */
const hand = (vendor) => ({ '~standard': { version: 1, vendor, validate: (value) => ({ value }) } })

/** Calls the tool once, with these arguments. */
async function called(own, args) {
  let asked = 0
  const model = customModel(async function* () {
    if (asked++ > 0) return yield { type: 'text', text: 'done' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'own' }
    yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify(args) }
    yield { type: 'tool_call_end', index: 0 }
  })
  const progress = []
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }], tools: { own } })
  for await (const event of turn) if (event.type === 'tool_progress') progress.push(event.data)
  return { settled: (await turn.result).toolResults[0], progress }
}

test('a schema that makes its own JSON Schema is what the model reads', async () => {
  const schemas = {
    zod: z.object({ path: z.string() }),
    arktype: type({ path: 'string' }),
  }
  for (const [vendor, schema] of Object.entries(schemas)) {
    const own = tool(schema)
    assert.equal(own.inputSchema.properties.path.type, 'string', vendor)
    assert.deepEqual(own.inputSchema.required, ['path'], vendor)
    const { settled } = await called(own, { path: 'a' })
    assert.deepEqual([settled.status, settled.result], ['ok', { path: 'a' }], vendor)
  }
})

test('what a schema refuses is told with its place', () => {
  const own = tool(z.object({ user: z.object({ name: z.string() }), list: z.array(z.number()) }))
  const { errors } = own.check({ user: { name: 5 }, list: [1, 'x'] })
  assert.match(errors, /^\/user\/name: .+; \/list\/1: /)
  const many = tool(z.object({ list: z.array(z.number()) })).check({ list: Array(50).fill('x') })
  assert.equal(many.errors.split('; ').length, 5)
})

test('a schema that makes none is refused, and the error names the cure', () => {
  const refused = {
    valibot: [v.object({ path: v.string() }), /@valibot\/to-json-schema/],
    'zod/mini': [mini.object({ path: mini.string() }), /z\.toJSONSchema/],
    'zod 3': [z3.object({ path: z3.string() }), /zod-to-json-schema/],
    'zod with a date': [z.object({ at: z.date() }), /jsonSchema.*`at`.*z\.coerce\.date/],
    'zod with a bigint': [
      z.object({ user: z.object({ id: z.bigint() }), at: z.coerce.date() }),
      /`user\.id`: bigint is not JSON/,
    ],
    'a literal': [z.object({ n: z.literal(5n) }), /`n`: the literal is not JSON/],
    'arktype with a date': [
      type({ at: 'Date', list: type({ when: 'Date' }).array() }),
      /`at`: a Date is not JSON; use `string\.date\.iso\.parse`; `list\[\]\.when`/,
    ],
    'arktype with a bigint': [type({ 'id?': 'bigint' }), /`id`: its type is not JSON/],
    effect: [hand('effect'), /Schema\.toStandardJSONSchemaV1/],
    'any other vendor': [hand('mine'), /pass `jsonSchema`/],
  }
  for (const [vendor, [schema, cure]] of Object.entries(refused)) {
    const matches = (error) => error.code === 'tool.invalid_schema' && cure.test(error.message)
    assert.throws(() => tool(schema), matches, vendor)
  }
})

test('`z.coerce.date()`: the tool declares a date-time string', async () => {
  const schema = z.object({ at: z.coerce.date(), list: z.array(z.coerce.date()).optional() })
  const text = { type: 'string', format: 'date-time' }
  const own = tool(schema)
  assert.deepEqual(own.inputSchema.properties, { at: text, list: { type: 'array', items: text } })
  const at = '2026-11-30T08:00:00Z'
  assert.deepEqual(own.check({ at }).args, { at: new Date(at) })
  assert.match(own.check({ at: 'soon' }).errors, /^\/at: /)
})

test('arktype: what is declared too widely is no fault, and a date is made of a text', () => {
  const own = tool(
    type({ at: 'string.date.iso.parse', any: 'unknown', 'or?': 'string | undefined' }),
  )
  assert.equal(own.inputSchema.properties.at.type, 'string')
  const at = '2026-11-30T08:00:00Z'
  assert.deepEqual(own.check({ at, any: 1 }).args, { at: new Date(at), any: 1 })
})

test('a pattern is a regular expression of JavaScript, with `u` or without', () => {
  const of = (pattern) => tool({ type: 'object', properties: { a: { type: 'string', pattern } } })
  for (const [pattern, fits, not] of [
    ['^\\d{4}\\-\\d{2}$', '2024-01', '2024_01'],
    ['^[\\w-.]+$', 'a-b.c', 'a b'],
    ['^a\\_b$', 'a_b', 'a-b'],
    ['^\\p{Lu}.$', 'Ä\u{1f600}', 'ä\u{1f600}'],
  ]) {
    assert.equal(of(pattern).check({ a: fits }).valid, true, pattern)
    assert.match(of(pattern).check({ a: not }).errors, /#\/a: .*pattern/, pattern)
  }
  const names = tool({ type: 'object', patternProperties: { '^x\\-': { type: 'number' } } })
  assert.equal(names.check({ 'x-a': 'text' }).valid, false)
  assert.equal(names.check({ 'x-a': 1, y: 'text' }).valid, true)
})

test('a schema by which nothing could be checked is refused when the tool is defined', () => {
  const at = (own) => ({ type: 'object', properties: { list: { type: 'array', items: own } } })
  for (const [schema, why] of [
    [at({ type: 'string', pattern: '(' }), /Invalid regular expression/],
    [at({ $ref: '#/$defs/nope' }), /`\$ref` leads nowhere: #\/\$defs\/nope/],
    [at({ $ref: 'https://schemas.example/one.json' }), /leads nowhere: https/],
  ]) {
    const matches = (error) => error.code === 'tool.invalid_schema' && why.test(error.message)
    assert.throws(() => tool(schema), matches)
  }
  const names = { type: 'object', patternProperties: { '(?i)^x': {} } }
  assert.throws(() => tool(at(names)), /Invalid regular expression/)
})

test('what JSON Schema does not know is data, and a reference may lead there', () => {
  const data = { pattern: '(', $ref: '#/no', id: 'one', $id: 'http://[' }
  const own = { 'x-ui': data, example: data, errorMessage: data, discriminator: { mapping: data } }
  tool({
    type: 'object',
    default: data,
    examples: [data, data],
    enum: [{}, data],
    properties: { a: own, b: own, c: { examples: { one: { value: data } } }, id: { id: 'one' } },
    dependencies: { a: ['b'], pattern: ['(a'], $ref: { required: ['a'] } },
  })
  const A = { type: 'number' }
  const $defs = {
    A,
    'a/b<c>$': A,
    c: { $anchor: 'c', ...A },
    d: { $id: 'https://x.example/d', ...A },
  }
  const more = { $defs, definitions: { A: { id: 'A', ...A } }, components: { schemas: { A } } }
  for (const $ref of [
    '#/$defs/A',
    '#/%24defs/A',
    '#/$defs/a~1b%3Cc%3E$',
    '#/$defs/a~1b<c>%24',
    '#c',
    'https://x.example/d',
    '#/definitions/A',
    '#/components/schemas/A',
    '#/properties/other',
  ]) {
    const one = tool({ type: 'object', properties: { a: { $ref }, other: A }, ...more })
    assert.equal(one.check({ a: 1 }).valid, true, $ref)
    assert.equal(one.check({ a: 'text' }).valid, false, $ref)
  }
  const tree = { $ref: '#/components/schemas/tree' }
  const components = { schemas: { tree: { properties: { next: tree, a: { $ref: '#/x/a' } } } } }
  const own2 = tool({ type: 'object', properties: { tree }, components, x: { a: A } })
  assert.equal(own2.check({ tree: { next: { next: { a: 1 } } } }).valid, true)
  assert.equal(own2.check({ tree: { next: { next: { a: 'text' } } } }).valid, false)
  for (const $ref of [
    '#/constructor',
    '#/x/b',
    '#nope',
    '#/components/schemas/tree/properties/next/no',
  ]) {
    const inputSchema = { type: 'object', properties: { a: { $ref } }, components }
    assert.throws(() => tool(inputSchema), { code: 'tool.invalid_schema' }, $ref)
  }
})

test('what the validator cannot do is told as that', () => {
  const { valid, errors } = tool({ type: 'object', properties: { a: { enum: 'x' } } }).check({
    a: 1,
  })
  assert.equal(valid, false)
  assert.match(errors, /enum/)
})

test('a JSON Schema beside the schema is what the model reads; the schema checks', async () => {
  const schema = v.object({ path: v.string() })
  const own = tool(schema, { jsonSchema: toJsonSchema(schema) })
  assert.equal(own.inputSchema.properties.path.type, 'string')
  assert.equal((await called(own, { path: 'a' })).settled.status, 'ok')
  assert.notEqual((await called(own, { path: 1 })).settled?.status, 'ok')
})

test('what JSON would empty is a typed error', async () => {
  const results = {
    Map: new Map([[1, 2]]),
    Set: new Set([1]),
    Response: new Response('x'),
    ReadableStream: new Response('x').body,
    Generator: (function* () {
      yield 1
    })(),
    Error: { why: new Error('x') },
    Headers: [{ deep: new Headers() }],
    Private: new (class Private {
      #x = 1
    })(),
    Uint8Array: { bytes: new Uint8Array(3) },
  }
  for (const [kind, value] of Object.entries(results)) {
    const own = tool({ type: 'object' }, { execute: () => value })
    const { settled } = await called(own, {})
    assert.equal(settled.status, 'error', kind)
    assert.equal(settled.error.code, 'tool.unserializable', kind)
    assert.match(settled.error.message, new RegExp(`a ${kind} has no JSON`))
  }
  class Point {
    x = 1
  }
  const bare = Object.create(null)
  const kept = {
    point: new Point(),
    none: {},
    bare,
    own: { constructor: 1 },
    at: new Date(0),
    list: [],
    text: new String('a'),
  }
  const { settled } = await called(tool({ type: 'object' }, { execute: () => kept }), {})
  assert.deepEqual(settled.result, JSON.parse(JSON.stringify(kept)))
})

test('what an async generator yields is progress, what it returns the result', async () => {
  const execute = async function* ({ most }) {
    for (let n = 1; n <= most; n++) yield { n }
    return { most }
  }
  const { settled, progress } = await called(tool({ type: 'object' }, { execute }), { most: 3 })
  assert.deepEqual([settled.status, settled.result], ['ok', { most: 3 }])
  assert.deepEqual(progress, [{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('an async generator that throws is an error, and a cancelled one is returned', async () => {
  const throwing = async function* () {
    yield 1
    throw new Error('half way')
  }
  const { settled } = await called(tool({ type: 'object' }, { execute: throwing }), {})
  assert.deepEqual([settled.status, settled.error.code], ['error', 'tool.threw'])

  let closed = false
  const endless = async function* () {
    try {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        yield 1
      }
    } finally {
      closed = true
    }
  }
  const model = customModel(async function* () {
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'own' }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const own = tool({ type: 'object' }, { execute: endless })
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }], tools: { own } })
  for await (const event of turn) if (event.type === 'tool_progress') turn.cancel()
  while (!closed) await new Promise((resolve) => setTimeout(resolve, 1))
})

test('nullable of OpenAPI: `null` is valid in plans, answers, arguments and replicates', async () => {
  const schema = {
    type: 'object',
    properties: {
      stop: { type: 'number', nullable: true },
      side: { enum: ['buy', 'sell'], type: 'string', nullable: true },
      // A property of this name is none of the keyword.
      nullable: { type: 'boolean' },
    },
    required: ['stop', 'nullable'],
  }
  const value = { stop: null, side: null, nullable: true }
  const text = JSON.stringify(value)
  const messages = [{ role: 'user', content: 'go' }]

  const answered = runTurn({ model: scriptedModel([text]), messages, answerSchema: schema })
  assert.deepEqual((await answered.result).object, value)

  const planned = runPlanning({
    model: scriptedModel(['{"tool_calls":[]}', text]),
    input: { global_context: {} },
    tools: {},
    planSchema: schema,
  })
  assert.deepEqual((await planned).plan, value)

  const tool = defineTool({ inputSchema: schema, execute: () => 1 })
  assert.equal((await tool.check(value)).valid, true)
  assert.equal((await tool.check({ ...value, nullable: null })).valid, false)

  const { valid_count: valid } = summarizeReplicates([{ data: value }, { data: {} }], { schema })
  assert.equal(valid, 1)
})
