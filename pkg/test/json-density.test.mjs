// Bodies that would take many times their size when they are parsed are refused before that. Sources:
// FasterXML/jackson-databind#4286 (many empty nodes), agentrust-io/cmcp#147 (2026-06-06: a limit of bytes
// alone bounds neither levels nor members), V8's blog "Fast properties in V8" (2017-08-30: each new name at
// a place makes a hidden class; objects with many names are tables). Read on 2026-11-29.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import fc from 'fast-check'
import { customModel, memoryStore, signature } from 'turnlock'
import { createHandler } from 'turnlock/server'
import { data } from '../../tests/data.mjs'
import { jsonExcess } from '../dist/server/json-density.js'

const bytes = (text) => new TextEncoder().encode(text)
const MIB = 1024 * 1024

/** As many of these texts as have `size` bytes. */
function items(make, size = MIB - 100) {
  const made = []
  for (let n = 0, length = 0; length < size; n++) {
    made.push(make(n))
    length += made.at(-1).length + 1
  }
  return made.slice(0, -1).join()
}
const filled = (item, size) => `[${items(() => item, size)}]`
const name = (n) => n.toString(36)

/** An object with the members `a` to `h` in the `n`th order. */
function ordered(n) {
  const names = [...'abcdefgh']
  const order = []
  for (let rest = n; names.length > 0; rest = Math.floor(rest / (names.length + 1))) {
    order.push(...names.splice(rest % names.length, 1))
  }
  return `{${order.map((one) => `"${one}":0`).join()}}`
}

const DENSE = {
  'empty objects': filled('{}'),
  'empty lists': filled('[]'),
  'lists of a number': filled('[1]'),
  'lists in lists': '['.repeat(MIB / 2) + ']'.repeat(MIB / 2),
  'objects in objects': '{"":'.repeat(MIB / 8) + '1' + '}'.repeat(MIB / 8),
  numbers: filled('1'),
  'empty texts': filled('""'),
  'members of many names': `{${items((n) => `"${name(n)}":0`)}}`,
  'objects of a name of their own': `[${items((n) => `{"${name(n)}":0}`)}]`,
  'objects with the second of two names of their own': `[${items((n) => `{"a":0,"${name(n)}":0}`)}]`,
  'objects of twenty names of their own': `[${items((n) => `{${Array.from({ length: 20 }, (_, at) => `"${name(20 * n + at)}":0`).join()}}`)}]`,
  'the same names in other orders': `[${items(ordered)}]`,
  'objects with an index': filled('{"9999":0}'),
  'large objects of the same names': filled(
    `{${Array.from({ length: 300 }, (_, n) => `"${name(n)}":0`).join()}}`,
  ),
  'empty objects after a long text': `["${'\\"'.repeat(MIB / 8)}",${filled('{}', MIB / 2).slice(1)}`,
}

const DEEP = ['lists in lists', 'objects in objects']
for (const [kind, text] of Object.entries(DENSE)) {
  test(`body: ${kind} are too many`, () => {
    assert.ok(text.length <= MIB, String(text.length))
    JSON.parse(text)
    const code = DEEP.includes(kind) ? 'json.too_deep' : 'request.json'
    assert.equal(jsonExcess(bytes(text)), code)
  })
}

test('body: an error of a deep body says what is too deep and how to send it', async () => {
  const model = customModel(async function* () {})
  const handler = createHandler({ model, store: memoryStore(), authorize: () => ({ tenant: 't' }) })
  const deep = '['.repeat(500_000)
  for (const body of [deep, `{"messages":${deep}`, `{"messages":${deep}${']'.repeat(490_000)}`]) {
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://host.example/api/chat', { method: 'POST', headers, body })
    const response = await handler(request)
    assert.equal(response.status, 400)
    assert.deepEqual(await response.json(), {
      error: {
        code: 'json.too_deep',
        message: 'the body is nested deeper than 128 levels: send a flatter value',
      },
    })
  }
  let nested = []
  for (let level = 0; level < 500_000; level++) nested = [nested]
  assert.throws(() => signature({ tool: 'a', args: nested }), {
    code: 'json.too_deep',
    message: 'the value is nested too deep: pass a flatter one',
  })
})

const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'and now?' }] }
const COMMON = {
  'messages of few words': JSON.stringify(Array.from({ length: 10_000 }, () => user)),
  'rows of a table': filled(JSON.stringify({ id: 1234, name: 'Ada', total: 17.5 })),
  coordinates: filled('[13.4050,52.5200]'),
  'bytes of a file': `[${items((n) => String((n * 7919) % 256))}]`,
  'an embedding': `[${items((n) => String(Math.sin(n)))}]`,
  'totals by name': `{${items((n) => `"customer ${name(n)}":17`)}}`,
  'values by index': `{${items((n) => `"${n}":"a value"`)}}`,
  'objects of 100 shapes': `[${items((n) => `{"kind":"${n % 100}","member_${n % 100}":"some value"}`)}]`,
  'a text of brackets': JSON.stringify('{['.repeat(MIB / 2 - 2)),
  'a text of quotes': JSON.stringify('"{'.repeat(MIB / 4)),
  'no JSON': '"\\',
}

for (const [kind, text] of Object.entries(COMMON)) {
  test(`body: ${kind} are not too many`, () => {
    assert.equal(jsonExcess(bytes(text)), undefined)
  })
}

test('body: any JSON of a few KiB is read', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      assert.equal(jsonExcess(bytes(text.slice(0, 8000))), undefined)
    }),
  )
})

/** Recorded histories, each a list of messages. */
const RECORDED = {
  'nasty-histories': parsed('nasty-histories/nasty-histories.json'),
  'trajectories-swe-agent': readdirSync(data('trajectories-swe-agent'))
    .filter((file) => file.endsWith('.json'))
    .map((file) => parsed(`trajectories-swe-agent/${file}`)),
  'trajectories-tau-bench': readFileSync(
    data('trajectories-tau-bench/gpt-4o-airline.61.jsonl'),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line)),
}
function parsed(file) {
  return JSON.parse(readFileSync(data(file), 'utf8'))
}

for (const [kind, histories] of Object.entries(RECORDED)) {
  test(`body: the histories of ${kind} are not too many, in 1 MiB and in 32 MiB`, () => {
    assert.ok(JSON.stringify(histories).length > 100_000)
    for (const size of [MIB, 32 * MIB]) {
      assert.equal(jsonExcess(bytes(filled(JSON.stringify(histories), size))), undefined)
    }
  })
}

/** The memory of the values of a text, for each of its bytes. */
const RETAINED = `
  import { readFileSync } from 'node:fs'
  const bytes = readFileSync(0)
  gc()
  const before = process.memoryUsage().heapUsed
  globalThis.value = JSON.parse(bytes.toString('latin1'))
  gc()
  console.log((process.memoryUsage().heapUsed - before) / bytes.length)
`

test('body: what is just not too many takes less than eight times its size', () => {
  const isFine = (text) => jsonExcess(bytes(text)) === undefined
  for (const [kind, text] of Object.entries(DENSE)) {
    if (DEEP.includes(kind)) continue
    // The longest beginning that is read, and a text that fills the rest.
    const parts = JSON.parse(text)
    const isList = Array.isArray(parts)
    const all = isList ? parts : Object.entries(parts)
    const beginning = (count) => {
      const some = all.slice(0, count)
      const json = JSON.stringify(isList ? some : Object.fromEntries(some))
      return `[${json},"${'a'.repeat(Math.max(0, MIB - json.length - 10))}"]`
    }
    let [few, many] = [0, all.length]
    while (many - few > all.length / 100) {
      const middle = (few + many) >> 1
      if (isFine(beginning(middle))) few = middle
      else many = middle
    }
    const args = ['--expose-gc', '--input-type=module', '-e', RETAINED]
    const options = { encoding: 'utf8', input: beginning(few) }
    const { stdout, stderr } = spawnSync(process.execPath, args, options)
    assert.ok(stdout, stderr)
    assert.ok(few > 0 && Number(stdout) < 8, `${kind}: ${stdout}`)
  }
})

/** Sends 16 bodies at once; prints by how many MiB the process grows. */
const MEASURE = `
  import { createHandler } from 'turnlock/server'
  import { createProxy } from 'turnlock/proxy'
  import { memoryStore } from 'turnlock'
  const [, kind, item] = process.argv
  const model = { dialect: 'openai-chat', open: () => {} }
  const authorize = () => ({ tenant: 't' })
  const handler = kind === 'proxy'
    ? createProxy({ upstream: 'https://provider.example/v1', authorize, mode: 'bound',
        fetch: async () => new Response('{}') })
    : createHandler({ model, store: memoryStore(), authorize, ...(kind !== 'plain' && { format: kind }) })
  const path = kind === 'proxy' ? '/v1/chat/completions' : '/api/chat'
  const ask = async (text) => {
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://h' + path, { method: 'POST', headers, body: text })
    const { status } = await handler(request)
    return status
  }
  const size = 1024 * 1024 - 100
  const items = []
  for (let n = 0, length = 20; length < size; n++) {
    items.push(item.replace('%', n.toString(36)))
    length += items.at(-1).length + 1
  }
  const text = '{"messages":[' + items.slice(0, -1).join() + ']}'
  await ask('{}')
  const before = process.resourceUsage().maxRSS
  const statuses = await Promise.all(Array.from({ length: 16 }, () => ask(text)))
  const grown = (process.resourceUsage().maxRSS - before) / 1024
  console.log(JSON.stringify({ statuses: [...new Set(statuses)], grown }))
`

for (const kind of ['plain', 'ai-sdk', 'ag-ui', 'proxy']) {
  test(`${kind}: 16 bodies of 1 MB that are refused take little memory`, () => {
    for (const item of ['{}', '[[]]', '0', '{"%":0}']) {
      const args = ['--input-type=module', '-e', MEASURE, '--', kind, item]
      const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      assert.ok(stdout, stderr)
      const { statuses, grown } = JSON.parse(stdout)
      assert.deepEqual(statuses, [400], kind)
      // The bodies themselves are 16 MiB, in some copies. It was 527 MB.
      assert.ok(grown < 120, `${grown} MiB`)
    }
  })
}
