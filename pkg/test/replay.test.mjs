// `turnlock replay`: events of real turns, over the scripted provider, played again.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { defineTool, memoryStore, openaiChat, resumeTurn, runTurn } from 'turnlock'
import { createProvider } from '../../tests/provider/server.mjs'
import { turnlocks } from './commands.mjs'

const folder = new URL('..', import.meta.url)
const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const command = fileURLToPath(new URL(bin.turnlock, folder))
const turnlock = (input, ...args) =>
  spawnSync(process.execPath, [command, 'replay', ...args], {
    encoding: 'utf8',
    input,
    timeout: 30_000,
  })
const lines = (events) => events.map((event) => JSON.stringify(event)).join('\n')
/** What `--json` says at its end. */
const verdict = ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1)).replayed

let provider
test.before(async () => (provider = await createProvider()))
test.after(() => provider.close())

let sessions = 0
const model = (behaviour) =>
  openaiChat({ baseURL: `${provider.url}/s/replay-${sessions++}/${behaviour}/v1`, model: 'm' })
const messages = [{ role: 'user', content: 'What is in my files?' }]
const inputSchema = { type: 'object' }
const tools = (readOnly = true) => ({
  list_files: defineTool({ description: 'x', inputSchema, readOnly, execute: () => ['notes.txt'] }),
  read_file: defineTool({
    description: 'x',
    inputSchema,
    readOnly,
    execute() {
      throw new Error('no file')
    },
  }),
})
async function eventsOf(turn) {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

const BEHAVIOURS = ['answer', 'one-call', 'thinks', 'loop', 'loop-then-answer', 'loop-reordered']
const TURNS = [...BEHAVIOURS, 'list-then-read', 'read-then-note', 'json-answer'].flatMap(
  (behaviour) =>
    [
      { mode: 'unified' },
      { policy: { maxTools: 2 } },
      { policy: { maxTools: 1, actionMaxTools: 1 }, tools: tools(false), projectId: 'p' },
    ].map((options) => ({ behaviour, options })),
)
test('the same turn', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'turnlock-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const lists = []
  for (const [at, { behaviour, options }] of TURNS.entries()) {
    const turn = runTurn({ model: model(behaviour), messages, tools: tools(), ...options })
    const file = join(dir, `${at}.jsonl`)
    writeFileSync(file, lines(await eventsOf(turn)))
    lists.push(['replay', file, '--json'])
  }
  const runs = turnlocks(lists)
  for (const [at, { behaviour, options }] of TURNS.entries()) {
    await t.test(`${behaviour}, ${JSON.stringify(options.policy ?? options.mode)}`, () => {
      assert.deepEqual(
        [runs[at].status, runs[at].stderr, verdict(runs[at])],
        [0, '', { same: true, missing: [], added: [], ended: 'complete' }],
      )
    })
  }
})

test('a turn that was paused for a decision, and one that went on', async () => {
  const store = memoryStore()
  const own = tools()
  own.list_files = defineTool({
    description: 'x',
    inputSchema,
    needsApproval: true,
    execute: () => ['notes.txt'],
  })
  const turn = runTurn({ model: model('one-call'), messages, tools: own, store })
  const paused = await eventsOf(turn)
  const { resume, approvals } = paused.at(-1)
  const approved = approvals.map(({ signature }) => ({ signature, approved: true }))
  const further = resumeTurn({
    ...resume,
    model: model('one-call'),
    tools: own,
    store,
    approvals: approved,
  })
  const whole = [...paused, ...(await eventsOf(further))]
  assert.equal(whole.at(-1).type, 'complete')
  const run = turnlock(lines(whole), '-', '--json')
  assert.deepEqual(verdict(run), { same: true, missing: [], added: [], ended: 'complete' })
  assert.equal(run.status, 0)
})

test('a turn that was cancelled is played as far as it went', async () => {
  const turn = runTurn({ model: model('list-then-read'), messages, tools: tools() })
  const events = []
  for await (const event of turn) {
    events.push(event)
    if (event.type === 'tool_results') turn.cancel('enough')
  }
  assert.equal(events.at(-1).type, 'cancelled')
  const run = turnlock(lines(events), '-')
  assert.equal(run.status, 0, run.stdout)
  assert.match(run.stdout, /it did not come to an answer: cancelled/)
})

test('what differs is named, and ends with 1', async (t) => {
  const policy = { maxTools: 2 }
  const turn = runTurn({ model: model('list-then-read'), messages, tools: tools(), policy })
  const events = await eventsOf(turn)
  const smaller = turnlock(lines(events), '-', '--max-tools', '1', '--json')
  assert.equal(smaller.status, 1)
  assert.ok(verdict(smaller).missing.some((text) => /calls read_file/.test(text)))
  const plain = turnlock(lines(events), '-', '--mode', 'unified')
  assert.equal(plain.status, 1)
  assert.match(plain.stdout, /^\+ unified starts/m)
  // A turn whose record says that the same call ran twice, which this version does not do.
  const altered = structuredClone(events)
  for (const event of altered) {
    for (const call of event.toolCalls ?? event.toolResults ?? []) call.args = { path: 'other' }
  }
  const other = turnlock(lines(altered), '-', '--json')
  assert.equal(other.status, 1)
  assert.ok(verdict(other).missing.length > 0)
  // As they came over HTTP, in a file, twice: each event counts once.
  const dir = mkdtempSync(join(tmpdir(), 'turnlock-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'turn.sse')
  const sse = events.map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  writeFileSync(file, sse + sse)
  const run = turnlock('', file)
  assert.equal(run.status, 0, run.stdout + run.stderr)
  assert.match(run.stdout, /tool_results read_file error/)
  assert.match(run.stdout, /✓ the same turn/)
})

test('a trace of another program runs as Turnlock would have had it', () => {
  const call = (id) => ({
    id,
    type: 'function',
    function: { name: 'list_files', arguments: '{"path":"."}' },
  })
  const exchange = (id) => [
    { role: 'assistant', content: null, tool_calls: [call(id)] },
    { role: 'tool', tool_call_id: id, content: '["notes.txt"]' },
  ]
  const looping = [...messages, ...exchange('a'), ...exchange('b'), ...exchange('c')]
  const history = [...looping, { role: 'assistant', content: 'There is notes.txt.' }]
  const run = turnlock(JSON.stringify({ messages: history }), '-', '--max-tools', '2', '--json')
  assert.equal(run.status, 0, run.stderr)
  assert.equal(verdict(run).asked, 3)
  assert.equal(verdict(run).ran, 1)
  const shown = turnlock(JSON.stringify(history), '-').stdout
  assert.match(shown, /3 calls; with maxTools: 1, 1 of them ran/)
  // What has no result in it is given none.
  for (const open of [[], [{ role: 'user', content: 'and?' }]]) {
    const { stdout } = turnlock(JSON.stringify([...messages, exchange('a')[0], ...open]), '-')
    assert.match(stdout, /tool_results list_files error .*the trace has no result of this call/)
    assert.match(stdout, /the trace has 1 call; with maxTools: 1, 1 of them ran/)
  }
})

test('replay: events that were edited or cut end with a verdict or a typed error', async (t) => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  t.after(() => rmSync(at, { recursive: true }))
  const events = await eventsOf(runTurn({ model: model('one-call'), tools: tools(), messages }))
  const places = []
  const walk = (value, path) => {
    for (const name of Object.keys(Object(value))) {
      places.push([...path, name])
      if (typeof value[name] === 'object') walk(value[name], [...path, name])
    }
  }
  walk(events, [])
  const files = places.flatMap((path) =>
    [undefined, null, 'odd', 7, [], {}, [null]].map((odd) => {
      const copy = structuredClone(events)
      path.slice(0, -1).reduce((inner, name) => inner[name], copy)[path.at(-1)] = odd
      return copy.map((event) => JSON.stringify(event) ?? '').join('\n')
    }),
  )
  const lists = files
    .filter((_, index) => index % 5 === 0)
    .map((text, index) => {
      const file = join(at, String(index))
      writeFileSync(file, text)
      return ['replay', file, '--json']
    })
  while (lists.length > 0) {
    const some = lists.splice(0, 50)
    for (const [index, { stderr, status }] of turnlocks(some).entries()) {
      const text = readFileSync(some[index][1], 'utf8')
      assert.ok(status <= 2, text)
      assert.doesNotMatch(stderr, /Cannot read|is not|undefined|iterable/, text)
    }
  }
})

test('what cannot be replayed is said, with 2', () => {
  const trace = [{ type: 'llm_call' }, { type: 'tool_registration' }].map((one) =>
    JSON.stringify(one),
  )
  for (const [input, args, why] of [
    ['', [], /usage/],
    ['{', ['-'], /JSON/],
    ['[]', ['-'], /no call/],
    [trace.join('\n'), ['-'], /onTrace/],
    [JSON.stringify(messages), ['-'], /no call in it/],
    ['[]', ['-', '--mode', 'both'], /--mode/],
    ['[]', ['-', '--max-tools', 'x'], /--max-tools/],
    ['[]', ['-', '--step'], /terminal/],
    ['', ['/no/such/file'], /ENOENT/],
  ]) {
    const run = turnlock(input, ...args)
    assert.equal(run.status, 2, `${args}: ${run.stdout}`)
    assert.match(run.stderr, why)
    assert.doesNotMatch(run.stderr, /\n {4}at /)
  }
})
