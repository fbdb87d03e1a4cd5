// Bodies that would take many times their size when they are parsed are refused before that. Sources:
// FasterXML/jackson-databind#4286 (many empty nodes), agentrust-io/cmcp#147 (2026-06-06: a limit of bytes
// alone bounds neither levels nor members). Read on 2026-11-29.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import fc from 'fast-check'
import { jsonExcess } from '../dist/server/json-density.js'

const bytes = (text) => new TextEncoder().encode(text)
const MIB = 1024 * 1024

/** A list of as many of these texts as have `size` bytes. */
const filled = (item, size = MIB - 100) =>
  `[${Array.from({ length: Math.floor(size / (item.length + 1)) }, () => item).join()}]`

const DENSE = {
  'empty objects': filled('{}'),
  'empty lists': filled('[]'),
  'lists of a number': filled('[1]'),
  'lists in lists': '['.repeat(MIB / 2) + ']'.repeat(MIB / 2),
  'objects in objects': '{"":'.repeat(MIB / 8) + '1' + '}'.repeat(MIB / 8),
  'empty objects after a long text': `["${'\\"'.repeat(MIB / 8)}",${filled('{}', MIB / 2).slice(1)}`,
}

for (const [name, text] of Object.entries(DENSE)) {
  test(`body: ${name} are too many`, () => {
    assert.ok(text.length <= MIB, String(text.length))
    JSON.parse(text)
    const isDeep = name.includes(' in ')
    assert.equal(jsonExcess(bytes(text)), isDeep ? 'json.too_deep' : 'request.json')
  })
}

const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'and now?' }] }
const COMMON = {
  'messages of few words': JSON.stringify(Array.from({ length: 10_000 }, () => user)),
  'rows of a table': filled(JSON.stringify({ id: 1234, name: 'Ada', total: 17.5 })),
  coordinates: filled('[13.4050,52.5200]'),
  numbers: filled('1'),
  'a text of brackets': JSON.stringify('{['.repeat(MIB / 2 - 2)),
  'a text of quotes': JSON.stringify('"{'.repeat(MIB / 4)),
  'members of many names': `{${Array.from({ length: 100_000 }, (_, n) => `"${n.toString(36)}":0`).join()}}`,
  'no JSON': '"\\',
}

for (const [name, text] of Object.entries(COMMON)) {
  test(`body: ${name} are not too many`, () => {
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
  const text = '{"messages":[' + Array(Math.floor(size / (item.length + 1))).fill(item).join() + ']}'
  await ask('{}')
  const before = process.resourceUsage().maxRSS
  const statuses = await Promise.all(Array.from({ length: 16 }, () => ask(text)))
  const grown = (process.resourceUsage().maxRSS - before) / 1024
  console.log(JSON.stringify({ statuses: [...new Set(statuses)], grown }))
`

for (const kind of ['plain', 'ai-sdk', 'ag-ui', 'proxy']) {
  test(`${kind}: 16 bodies of 1 MB that are refused take little memory`, () => {
    for (const item of ['{}', '[[]]']) {
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
