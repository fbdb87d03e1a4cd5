// Writes the inputs that the fuzzer begins with: `node tests/fuzz/seeds.mjs`. What it has found stands
// beside them, as `found-…`, and stays.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore, openaiChat, defineTool, runTurn } from 'turnlock'
import { scriptedProvider } from 'turnlock/testing'
import { WIRES } from '../../pkg/dist/testing/provider/wire/index.js'

const here = import.meta.dirname
const read = (path) => JSON.parse(readFileSync(join(here, '..', path), 'utf8'))
const bytes = (value) => (typeof value === 'string' ? Buffer.from(value) : Buffer.from(value))
/** A piece: its length in two bytes, and itself. */
const piece = (value) => {
  const text = bytes(value)
  return Buffer.concat([Buffer.from([text.length >> 8, text.length & 255]), text])
}
const join_ = (...parts) =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part)))

function write(target, inputs) {
  const folder = join(here, 'seeds', target)
  mkdirSync(folder, { recursive: true })
  for (const file of readdirSync(folder)) {
    if (!file.startsWith('found-')) rmSync(join(folder, file))
  }
  for (const [at, input] of inputs.entries()) writeFileSync(join(folder, `${at}`), input)
}

const call = (id, args) => ({ id, name: 'list', args })
const ENTRIES = [
  { text: ['Hello', ' there.'] },
  { reasoning: ['hm', 'm'], text: ['é😀\n'], calls: [call('c1', { path: '.' }), call('c2', {})] },
  { calls: [{ ...call('c1', { a: [1, 'x"\\'] }), fragments: 4 }], then: 'cut' },
  { text: ['a'], then: 'error' },
]
const streamOf = (wire, entry) =>
  Buffer.concat(WIRES[wire].stream(entry, { body: { stream: true } }).map(bytes))
const wires = Object.keys(WIRES)
for (const wire of wires) {
  const inputs = ENTRIES.map((entry, at) => join_(at * 7, streamOf(wire, entry)))
  write(`wire_${wire.replaceAll('-', '_')}`, inputs)
}

write('json', [
  '{"a":[1,2.5e-3,true,null],"b":{"é":"\\ud83d\\ude00\\n"}}',
  '[0,-0,1e400,9007199254740993,"\\u0000"]',
  ' {"a":1,"a":2} ',
  '"\\ud800"',
])
write('signature', [
  join_(piece('list'), bytes('{"b":1,"a":[{"d":1.0,"c":"x"}]}')),
  join_(piece('é'), bytes('9007199254740993')),
])
const lines = ['data: a\n\ndata: b\ndata:c\n\n', ': ping\r\nevent: x\r\nid: 1\r\ndata: y\r\n\r\n']
write(
  'sse',
  [...lines, '\ufeffdata\n\nretry: 1\rdata: z\r\r'].map((text) => join_(9, 2, bytes(text))),
)

const nasty = read('data/nasty-histories/nasty-histories.json').cases
write(
  'history',
  nasty
    .map(({ input }, at) => join_(at, bytes(JSON.stringify(input))))
    .filter(({ length }) => length < 1500),
)
// A dialect, a row of `shapes.json` in two bytes, and changes of it.
const importers = readdirSync(join(here, '../../src/history/import'))
  .filter((file) => !['mod.rs', 'fields.rs'].includes(file))
  .map((file) => file.replace('.rs', ''))
for (const [at, name] of importers.entries()) {
  const input = (_, one) =>
    Buffer.from(
      Array.from({ length: 8 + one }, (_, byte) => (at * 67 + one * 31 + byte * 97) & 255),
    )
  write(`import_${name}`, Array.from({ length: 8 }, input))
}
write(
  'trim',
  nasty.slice(0, 8).map(({ input }, at) => join_(at, at * 3, bytes(JSON.stringify(input)))),
)
const plans = [
  {
    reasoning: 'r',
    pattern: 'conditional',
    steps: [
      { id: 1, type: 'search', query: 'a' },
      { id: 2, type: 'search', query: 'b $1', dependencies: [1], when: 'count($1) > 0' },
      { id: 3, type: 'synthesis', query: 'c', dependencies: [1, 2] },
    ],
    stopping_criteria: 's',
  },
  {
    steps: [
      { id: 'a', type: 'search', query: 'x ${a/0/title}', dependencies: ['b'] },
      { id: 'b', query: 'y' },
    ],
  },
]
const planTexts = plans.map((one) => JSON.stringify(one))
write('plan', [...planTexts, `Here it is:\n\`\`\`json\n${planTexts[0]}\n\`\`\``])
const requests = [
  '{"tool_requests":[{"tool_name":"list","params":{"a":1},"reason":"r"}]}',
  '{"tool_requests":[]}',
  'I ask:\n```json\n{"tool_requests":[{"tool_name":"send","params":{}}]}\n```',
]
write(
  'request',
  requests.map((text) => join_(piece('{"allow":["list"],"maxToolCalls":2}'), bytes(text))),
)
const pairs = [
  ['{"a":1,"b":[1,2,3],"c":"x"}', '{"a":2,"b":[1,3],"d":{"e":null}}'],
  ['["a","b","c","d"]', '["b","c","x"]'],
  ['"kitten"', '"sitting"'],
  ['{"a/b~":1}', '[{"op":"replace","path":"/a~1b~0","value":2},{"op":"remove","path":"/x"}]'],
]
for (const target of ['patch', 'distance']) {
  write(
    target,
    pairs.map(([one, other]) => join_(piece(one), bytes(other))),
  )
}

const base = {
  dialect: 'openai-chat',
  requestId: 'r',
  secret: '0123456789abcdef0123456789abcdef',
  messages: [{ role: 'user', content: 'go' }],
}
write(
  'options',
  [
    {
      ...base,
      policy: { maxTools: 2, readMode: 'auto' },
      tools: [{ name: 'list', readOnly: true }],
    },
    { ...base, answerSchema: { type: 'object' }, system: 's', fallbacks: [{ dialect: 'gemini' }] },
    { task: 't', k: 3, schema: { type: 'object', properties: { a: { type: 'number' } } } },
    { query: 'compare a and b', limits: {}, patterns: ['parallel'] },
    { input: {}, tools: [{ name: 'list', readOnly: true }], policy: { allow: ['list'] } },
  ].map((one) => JSON.stringify(one)),
)

// 0 head with a text · 2 bytes · 6 the end · 9 a tool settles · 12 time · 15 cancel; in front of each
// whether the ids are the open ones (1) or the next two bytes (0).
const head = join_(1, 0, 0, piece(''))
const sent = (wire, entry) => join_(1, 2, piece(streamOf(wire, entry)))
const end = join_(1, 6)
const settled = join_(1, 0, 9, piece('["a.txt"]'))
const turns = ['openai-chat', 'anthropic', 'openai-responses'].flatMap((wire, at) => {
  const front = (flags) => join_([0, 2, 1][at], flags, 0)
  const calls = { text: ['I look. '], calls: [call('c1', { path: '.' }), call('c2', { n: 2 })] }
  const first = join_(head, sent(wire, calls), end, settled)
  const last = join_(head, sent(wire, { text: ['Done.'] }), end)
  return [1, 2, 5, 9, 10, 17].map((flags) => join_(front(flags), first, last))
})
write('turn', turns)

/** What a real turn has left in a store, behind each of its commits. */
async function keptTurns() {
  const inner = memoryStore()
  const found = []
  const store = {
    ...inner,
    async commit(key, commit) {
      const answer = await inner.commit(key, commit)
      const kept = await inner.read(key)
      found.push({ ...kept, idleMs: null, groups: await inner.events(key, 0, 100) })
      return answer
    },
  }
  for (const name of Object.keys(inner)) store[name] ??= inner[name].bind(inner)
  const model = openaiChat({
    baseURL: 'http://x/s/seed/one-call/v1',
    model: 'm',
    fetch: scriptedProvider().fetch,
  })
  const list_files = defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ['a.txt'],
  })
  await runTurn({ model, messages: base.messages, tools: { list_files }, store, requestId: 'r' })
    .result
  return found
}
const kept = await keptTurns()
write(
  'restore',
  kept.map(({ revision, open, idleMs, state, records, groups }) => {
    const events = groups.map(({ text }) => text)
    const json = { kept: { revision, open, idleMs, state, records }, events }
    const rest = join_(head, sent('openai-chat', { text: ['Done.'] }), end)
    return join_(piece(JSON.stringify(json)), rest)
  }),
)

const data = (text) => join_(0, 0, 1, piece(text))
write('bundle', [
  join_(
    2,
    0,
    0,
    data('{"label":"a","risk":0.8}'),
    data('{"label":"a","risk":0.7}'),
    data('{"label":"b"}'),
  ),
  join_(4, 1, 1, data('[1,2]'), data('no json'), join_(0, 5, piece('broke')), data('[1,3]')),
])
const returned = (text) => join_(0, 0, piece(text))
write('chain', [
  join_(
    piece('Compare the salaries of nurses in Oslo and Bergen since 2010'),
    returned('{"complexity":"complex"}'),
    returned(planTexts[0]),
    returned('[{"title":"x"}]'),
    returned('[]'),
    returned('"answer"'),
  ),
  join_(piece('hi'), returned('"hello"')),
])
const conditions = [
  ['count($a) > 0 and $b contains "recall"', '[{"title":"x"}]', '"a Recall"'],
  ['!(failed(a) || empty($b)) && $a[0].n >= 1.5', '[{"n":2}]', '{}'],
  ['not ok(b) or $a.x == null', '{"x":null}', '0'],
]
write(
  'condition',
  conditions.map(([when, one, other]) =>
    join_(piece(when), 1, piece(one), piece(other), bytes('[]')),
  ),
)
/** The numbers of a header's name and value, as `frames` reads them. */
const event = (value, payload) => join_(3, 0, 0, 1, value, piece(payload))
write('frames', [
  join_(
    6,
    1,
    event(3, '{"role":"assistant"}'),
    event(5, '{"contentBlockIndex":0,"delta":{"text":"Hello"}}'),
    event(6, '{"stopReason":"end_turn"}'),
  ),
  join_(2, 0, event(3, '{"role":"assistant"}'), join_(3, 0, 1, 2, 4, piece('{"message":"no"}'))),
  join_(9, 3, event(7, '{"bytes":"e30="}'), join_(0, piece('\u0001x'), piece('{}'))),
])
