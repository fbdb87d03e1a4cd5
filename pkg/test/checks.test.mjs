// The check of options in TypeScript, compared with the reader of the core that it stands for: each
// row with values of every kind.
import assert from 'node:assert/strict'
import test from 'node:test'
import { checkBundle } from '../dist/evidence/bundle.js'
import { checkChain } from '../dist/chain/chain.js'
import { answer, encode } from '../dist/core/instance.js'
import * as tables from '../dist/generated/checks.js'
import { checkPass } from '../dist/planning/run.js'
import { checkTurn } from '../dist/turn/turn.js'
import { partsOf } from './parts.mjs'

const { parts } = await partsOf('../dist')
await Promise.all(Object.values(parts).map((part) => part.prepare()))

const secret = '0123456789abcdef0123456789abcdef'
const messages = [{ role: 'user', content: 'go' }]
const tool = { name: 'look', inputSchema: {} }
const price = { input: 1, output: 2 }
const MACHINES = {
  TURN_OPTIONS: {
    check: checkTurn,
    make: (options) => parts.durable.call((glue) => glue.turn_new(options)),
    free: (handle) => parts.durable.call((glue) => glue.turn_free(handle)),
    base: {
      dialect: 'openai-chat',
      requestId: 'r',
      secret,
      messages,
      tools: [tool],
      policy: {},
      keep: { owner: secret },
    },
  },
  PASS_OPTIONS: {
    check: checkPass,
    make: (options) => parts.planning.call((glue) => glue.request_new(options)),
    free: (handle) => parts.planning.call((glue) => glue.turn_free(handle)),
    base: {
      dialect: 'openai-chat',
      planId: 'p',
      runId: 'r',
      secret,
      input: {},
      tools: [tool],
      policy: {},
      requestPrompt: { id: 'i', text: 't' },
      planPrompt: { id: 'i', text: 't' },
    },
  },
  CORE_BUNDLE_OPTIONS: {
    check: checkBundle,
    make: (options) => parts.evidence.call((glue) => glue.bundle_new(options)),
    free: (handle) => parts.evidence.call((glue) => glue.bundle_free(handle)),
    base: { task: 't', perReplicate: {}, budget: {}, limits: {}, prices: { m: price } },
  },
  CHAIN_OPTIONS: {
    check: checkChain,
    make: (options) => parts.chain.call((glue) => glue.chain_new(options)),
    free: (handle) => parts.chain.call((glue) => glue.chain_free(handle)),
    base: { query: 'q', limits: {}, costs: {}, hooks: {}, classifier: {} },
  },
}

const VALUES = [
  null,
  true,
  false,
  'a string',
  '',
  0,
  1,
  2,
  -1,
  1.5,
  1e9,
  2 ** 53,
  2 ** 60,
  -0.5,
  1e300,
  [],
  {},
  ['a string'],
  [1],
  [true],
  [[]],
  [null],
  { m: 1 },
  { m: { input: 'x', output: 1 } },
]

/** What the host makes itself, what `wireTools` checks, and what only the core sees. */
const ELSEWHERE = [
  'secret',
  'boxSecret',
  'keep',
  'keep.owner',
  'tools',
  'tools[0].name',
  'tools[0].reuseMs',
  'dialect',
  'messages',
  'replay',
  'schema',
  'learned',
]

const outcome = (work) => {
  try {
    return void work()
  } catch ({ code, message }) {
    return { code, message: message.replace(/; did you mean.*/, '') }
  }
}

/** Paths of the rows that `base` has room for, with what puts a value there. */
function* places(rows, base, path = '', put = (value) => value) {
  for (const [name, row] of Object.entries(rows)) {
    const at = path ? `${path}.${name}` : name
    const place = (value) => put({ ...base, [name]: value })
    yield [at, place]
    const inner = row.rows ?? row.list?.rows
    const held = row.list ? base[name]?.[0] : base[name]
    if (!inner || typeof held !== 'object') continue
    const around = row.list ? (value) => place([value]) : place
    yield* places(inner, held, row.list ? `${at}[0]` : at, around)
  }
  yield [`${path ? `${path}.` : ''}noSuchOption`, (value) => put({ ...base, noSuchOption: value })]
}

for (const [table, { check, make, free, base }] of Object.entries(MACHINES)) {
  test(`${table}: what is refused before the core is loaded, and how, is what the core refuses`, () => {
    let compared = 0
    const open = (options) => free(Number(answer(make(encode(JSON.stringify(options))))))
    assert.equal(
      outcome(() => check(base)),
      undefined,
    )
    assert.equal(
      outcome(() => open(base)),
      undefined,
    )
    for (const [path, place] of places(tables[table], base)) {
      for (const value of VALUES) {
        const options = place(value)
        const here = outcome(() => check(options))
        const core = outcome(() => open(options))
        const what = `${path}: ${JSON.stringify(value)}`
        if (here || !ELSEWHERE.includes(path)) assert.deepEqual(here, core, what)
        compared++
      }
    }
    assert.ok(compared > 300, `${compared}`)
  })
}
