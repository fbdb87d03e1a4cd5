// The command: what files, models, clients and arguments wrote reaches no terminal unescaped.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { customModel, defineTool, runTurn } from 'turnlock'
import { turnlocks } from './commands.mjs'

const range = (from, to) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at))
/** By kind: characters that a terminal obeys, or that show nothing. */
const HOSTILE = {
  'C0 controls': [...range(0, 8), ...range(0xb, 0x1f)],
  'DEL and C1 controls': range(0x7f, 0x9f),
  'separators of lines': ['\u2028', '\u2029'],
  'bidirectional controls': [
    '\u061c',
    '\u200e',
    '\u200f',
    ...range(0x202a, 0x202e),
    ...range(0x2066, 0x2069),
  ],
  'zero width': [
    '\u00ad',
    '\u034f',
    '\u180e',
    '\u200b',
    '\u200c',
    '\u200d',
    ...range(0x2060, 0x2065),
    '\ufeff',
  ],
  'fillers and variation selectors': [
    '\u115f',
    '\u1160',
    '\u3164',
    '\uffa0',
    '\u2800',
    ...range(0xfe00, 0xfe0f),
  ],
  'annotations, tags, deprecated': [
    ...range(0xfff9, 0xfffb),
    ...range(0x206a, 0x206f),
    ...range(0xe0020, 0xe007f),
    '\u{e0100}',
  ],
}
const SEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu
const shown = (text) => [...text.matchAll(SEEN)].map(([one]) => one).filter((one) => one !== '\n')
const visible = (text, where) =>
  assert.deepEqual(shown(text), [], `${where}: ${JSON.stringify(text).slice(0, 500)}`)

/** A text with each kind in turn: a line is cut before it could hold all of them. */
let turns = 0
const MARKS = Object.values(HOSTILE).map((characters) => `a${characters.join('')}b`)
const nextMark = () => MARKS[turns++ % MARKS.length]

/** Copies of a value, each with a mark in another of its texts and names. */
function* marked(value) {
  const places = []
  const walk = (inner, path) => {
    if (typeof inner === 'string') places.push(path)
    else if (typeof inner === 'object' && inner !== null)
      for (const name of Object.keys(inner)) {
        walk(inner[name], [...path, name])
        if (!Array.isArray(inner)) places.push([...path, { name }])
      }
  }
  walk(value, [])
  for (const path of places) {
    const mark = nextMark()
    const copy = structuredClone(value)
    const last = path.at(-1)
    const holder = path.slice(0, -1).reduce((inner, name) => inner[name], copy)
    if (typeof last === 'object') {
      holder[last.name + mark] = holder[last.name]
      delete holder[last.name]
    } else holder[last] += mark
    yield copy
  }
}

const HISTORY = {
  model: 'gpt-5-mini',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Look.' }], name: 'ada' },
    ...[1, 2].flatMap((n) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: `call_${n}`, type: 'function', function: { name: 'look', arguments: '{"a":"b"}' } },
        ],
      },
      { role: 'tool', tool_call_id: `call_${n}`, content: 'seen' },
    ]),
    { role: 'tool', tool_call_id: 'gone', content: 'orphan' },
    { role: 'odd', content: 'x' },
  ],
}

async function recorded() {
  let requests = 0
  const model = customModel(async function* () {
    if (requests++ > 0) return yield { type: 'text', text: 'It is there.' }
    yield { type: 'reasoning', text: 'I look.' }
    yield { type: 'tool_call_start', index: 0, id: 'call_1', name: 'look' }
    yield { type: 'tool_call_arguments', index: 0, text: '{"a":"b"}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const tools = {
    look: defineTool({
      description: 'Looks.',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: () => ({ seen: 'something' }),
    }),
  }
  const events = []
  const turn = runTurn({ model, tools, messages: [{ role: 'user', content: 'Look.' }] })
  for await (const event of turn) events.push(event)
  assert.equal(events.at(-1).type, 'complete')
  return events
}

test('command: controls and invisible characters of others are escaped, in text and in JSON', async (t) => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  t.after(() => rmSync(at, { recursive: true }))
  const lists = []
  const add = (name, text, ...args) => {
    const file = join(at, `${name}-${lists.length}`)
    writeFileSync(file, text)
    for (const json of [[], ['--json']]) lists.push([args[0], file, ...args.slice(1), ...json])
  }
  let n = 0
  for (const history of marked(HISTORY)) {
    const dialect = ['openai-chat', 'anthropic', 'gemini'][n++ % 3]
    add('history', JSON.stringify(history), 'doctor', '--dialect', dialect, '--diff')
    if (n % 3 === 0) add('history', JSON.stringify(history), 'doctor')
    if (n % 3 === 1) add('history', JSON.stringify(history), 'replay')
  }
  for (const events of marked(await recorded())) {
    add('events', events.map((e) => JSON.stringify(e)).join('\n'), 'replay')
  }
  for (const mark of MARKS) {
    // An error of a provider, and what is no JSON.
    add('error', JSON.stringify({ error: { message: mark, type: mark, code: mark } }), 'doctor')
    for (const command of ['doctor', 'replay']) add('broken', `{"a": ${mark}`, command)
    const argument = mark.replaceAll('\0', '')
    lists.push(
      ['sign', argument, '{}'],
      ['sign', argument, '{}', '--json'],
      ['sign', 'find', `{"a":${argument}`],
      ['help', argument],
      [argument, '--json'],
      ['doctor', `/nowhere/${argument}`],
      ['doctor', `/nowhere/${argument}`, '--json'],
      ['doctor', 'a', `--${argument}`],
      ['doctor', 'a', argument],
      ['doctor', '--dialect', argument, 'a'],
      ['replay', 'a', '--mode', argument],
      ['serve', '--behaviour', argument],
      ['proxy', '--upstream', argument],
      ['proxy', '--upstream', 'http://x.invalid', '--key-env', argument],
      ['proxy', '--upstream', 'http://x.invalid', '--allow-host', argument],
    )
  }
  const runs = turnlocks(lists)
  let found = 0
  runs.forEach(({ stdout, stderr }, at) => {
    const where = lists[at].join(' ')
    visible(stdout, where)
    visible(stderr, where)
    if (!lists[at].includes('--json')) return
    for (const row of `${stdout}${stderr}`.split('\n').filter(Boolean)) {
      // As JSON, the value is what it was.
      if (shown(deep(JSON.parse(row))).length > 0) found++
    }
  })
  assert.ok(found > 10, `${found} lines of JSON have them`)
})

const deep = (value) =>
  typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flat().map(deep).join('')
      : ''

test('command: a file that a JSON command writes is read as the same value', (t) => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  t.after(() => rmSync(at, { recursive: true }))
  const file = join(at, 'history')
  const text = Object.values(HOSTILE).flat().join('')
  writeFileSync(file, JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] }))
  turnlocks([['doctor', file, '--dialect', 'openai-chat', '--fix', `${file}.fixed`]])
  assert.equal(JSON.parse(readFileSync(`${file}.fixed`, 'utf8')).messages[0].content, text)
})

test('command: names that a model calls are escaped in the lines of the proxy', async (t) => {
  const mark = Object.values(HOSTILE).flat().join('')
  const upstream = createServer((request, response) => {
    request.resume()
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: `look${mark}`, arguments: '{}' } },
      ],
    }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: 'x',
        model: 'm',
        choices: [{ index: 0, finish_reason: 'tool_calls', message }],
      }),
    )
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.after(() => upstream.close())
  const folder = new URL('../', import.meta.url)
  const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
  for (const json of [[], ['--json']]) {
    const args = [fileURLToPath(new URL(bin.turnlock, folder)), 'proxy', '--port', '0', ...json]
    const url = `http://127.0.0.1:${upstream.address().port}/v1`
    const child = spawn(process.execPath, [...args, '--upstream', url], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    let [out, err] = ['', '']
    child.stderr.on('data', (data) => (err += data))
    const rows = createInterface(child.stdout)
    rows.on('line', (row) => (out += `${row}\n`))
    const [first] = await once(rows, 'line')
    const [address] = /http:\/\/127[^ "]+/.exec(first)
    const call = { id: 'a', type: 'function', function: { name: `old${mark}`, arguments: '{' } }
    const response = await fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: `gone${mark}`, content: mark },
        ],
      }),
    })
    await response.text()
    await (await fetch(`${address}/x${encodeURIComponent(mark)}`)).text()
    child.kill('SIGTERM')
    await once(child, 'exit')
    assert.match(out, json.length ? /"calls":\["look/ : /calls look/)
    visible(out, 'stdout')
    visible(err, 'stderr')
  }
})
