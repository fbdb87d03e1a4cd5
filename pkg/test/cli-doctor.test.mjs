// What doctor and replay say, as processes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { customModel, defineTool, runTurn } from 'turnlock'
import { turnlocks } from './commands.mjs'

const folder = new URL('../', import.meta.url)
const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const path = fileURLToPath(new URL(bin.turnlock, folder))
const turnlock = (args, input = '') =>
  spawnSync(process.execPath, [path, ...args], { encoding: 'utf8', input })

const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
const BROKEN = JSON.stringify({
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
    { role: 'tool', tool_call_id: 'gone', content: '42' },
  ],
})

test('what --fix writes is a request of the provider, which doctor knows without --dialect', () => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const given = join(at, 'broken.json')
  writeFileSync(given, BROKEN)
  const rows = [
    ['openai-chat', ['model', 'messages']],
    ['openai-responses', ['input']],
    ['anthropic', ['system', 'messages']],
    ['gemini', ['systemInstruction', 'contents']],
    ['bedrock', ['system', 'messages']],
    ['ollama', ['messages']],
    ['langchain', ['messages']],
    // They write as OpenAI does.
    ['cohere', ['messages'], 'openai-chat'],
    ['mistral', ['model', 'messages'], 'openai-chat'],
  ]
  const fixed = (dialect) => join(at, `${dialect}.json`)
  const runs = turnlocks(
    rows.flatMap(([dialect]) => [
      ['doctor', given, '--dialect', dialect, '--fix', fixed(dialect)],
      ['doctor', fixed(dialect), '--json'],
    ]),
  )
  for (const [dialect, members, own = dialect] of rows) {
    const [first, again] = runs.splice(0, 2)
    assert.equal(first.status, 1)
    const written = JSON.parse(readFileSync(fixed(dialect), 'utf8'))
    assert.deepEqual(Object.keys(written), members, dialect)
    const found = JSON.parse(again.stdout)
    assert.deepEqual([found.dialect, found.violations, again.status], [own, [], 0], dialect)
  }
  rmSync(at, { recursive: true })
})

/** A request whose history has an orphan behind every seventh of its messages. */
const long = (count, text = 'a') => ({
  model: 'm',
  messages: Array.from({ length: count }, (_, at) => [
    { role: at % 2 ? 'assistant' : 'user', content: `${text} ${at}` },
    ...(at % 7 ? [] : [{ role: 'tool', tool_call_id: `gone ${at}`, content: '42' }]),
  ]).flat(),
})

test('what --diff shows makes of the request, applied by git, what --fix writes', () => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const rows = [
    ['one', JSON.parse(BROKEN), 'openai-chat'],
    ['many', long(200), 'openai-chat'],
    [
      'first',
      { messages: [{ role: 'tool', tool_call_id: 'a', content: '1' }, ...long(2).messages] },
      'mistral',
    ],
    ['more than are looked for', long(900, 'longer'), 'anthropic'],
    ['another shape', long(3), 'gemini'],
    ['a control character', long(1, '\u009b2J\u202e'), 'openai-chat'],
    ['nothing', { messages: [{ role: 'user', content: 'hi' }] }, 'openai-chat'],
  ]
  const file = (name) => join(at, `${name}.json`)
  for (const [name, request] of rows) writeFileSync(file(name), JSON.stringify(request, null, 2))
  const runs = turnlocks(
    rows.flatMap(([name, , dialect]) => [
      [
        'doctor',
        file(name),
        '--dialect',
        dialect,
        '--diff',
        '--json',
        '--fix',
        file(`${name}, fixed`),
      ],
      ['doctor', file(name), '--dialect', dialect, '--diff'],
    ]),
  )
  for (const [name, request, dialect] of rows) {
    const [machine, shown] = runs.splice(0, 2)
    const { diff } = JSON.parse(machine.stdout)
    const fixed = JSON.parse(readFileSync(file(`${name}, fixed`), 'utf8'))
    assert.equal(diff.length > 0, JSON.stringify(fixed) !== JSON.stringify(request), name)
    assert.ok(shown.stdout.includes(diff.join('\n')), name)
    assert.doesNotMatch(diff.join('\n'), /[\x7f-\x9f\u202e]/, name)
    const comes = diff.filter((row) => row.startsWith('+')).length
    // Only what goes is shown to go; where more differs than is looked for, all of it is.
    if (name === 'many') assert.equal(comes, 0)
    if (name === 'more than are looked for') {
      const kinds = diff.filter((row) => /^[-+]/.test(row)).map(([kind]) => kind)
      assert.match(kinds.join(''), /^-{1000,}\+{1000,}$/)
    }
    if (diff.length === 0) continue
    // As it was sent, or its messages alone where the provider's request is another.
    const own = ['openai-chat', 'mistral'].includes(dialect)
    const before = own
      ? request
      : { [dialect === 'gemini' ? 'contents' : 'messages']: request.messages }
    const escaped = JSON.stringify(before, null, 2).replace(
      /[\x7f-\x9f\u202e]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    writeFileSync(join(at, 'applied.json'), `${escaped}\n`)
    const patch = ['--- applied.json', '+++ applied.json', ...diff, ''].join('\n')
    const applied = spawnSync('git', ['apply', '-p0', '-'], {
      cwd: at,
      input: patch,
      encoding: 'utf8',
    })
    assert.equal(applied.status, 0, `${name}: ${applied.stderr}`)
    assert.deepEqual(JSON.parse(readFileSync(join(at, 'applied.json'), 'utf8')), fixed, name)
  }
  rmSync(at, { recursive: true })
})

test('--diff needs a known provider', () => {
  const plain = JSON.stringify([
    { role: 'user', content: 'hi', chunk: 1 },
    { type: 'text', chunk: 'a' },
  ])
  const refused = turnlock(['doctor', '-', '--diff', '--json'], plain)
  assert.deepEqual([refused.status, JSON.parse(refused.stderr).error.code], [2, 'command.usage'])
  assert.match(refused.stderr, /--diff needs --dialect/)
})

test('--fix keeps what else the request says, and both of its prompts', () => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const file = join(at, 'fixed.json')
  const fixed = (request) => {
    turnlock(['doctor', '-', '--fix', file], JSON.stringify(request))
    return JSON.parse(readFileSync(file, 'utf8'))
  }
  const [user, system] = [
    { role: 'user', content: 'go' },
    { role: 'system', content: 'Be brief.' },
  ]
  const rest = { model: 'm', max_tokens: 9, tools: [{ name: 'f', input_schema: {} }] }
  const brief = { type: 'text', text: 'Be brief.' }
  const kind = { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }
  for (const [own, both] of [
    ['Be kind.', [{ type: 'text', text: 'Be kind.' }, brief]],
    [[kind], [kind, brief]],
  ]) {
    const { messages, ...kept } = fixed({ ...rest, system: own, messages: [system, user] })
    assert.deepEqual(kept, { ...rest, system: both })
    assert.deepEqual(messages, [{ role: 'user', content: [{ type: 'text', text: 'go' }] }])
  }
  const alone = fixed({ ...rest, system: [kind], messages: [user, user] })
  assert.deepEqual([alone.system, alone.messages.length], [[kind], 1])

  const config = { generationConfig: { temperature: 0 } }
  const own = { role: 'system', parts: [{ text: 'Be kind.' }] }
  const contents = [
    { role: 'system', parts: [{ text: 'Be brief.' }] },
    { role: 'user', parts: [{ text: 'go' }] },
  ]
  const gemini = fixed({ ...config, systemInstruction: own, contents })
  assert.deepEqual(gemini, {
    ...config,
    systemInstruction: { ...own, parts: [...own.parts, { text: 'Be brief.' }] },
    contents: contents.slice(1),
  })
  rmSync(at, { recursive: true })
})

test('a body of Bedrock without tools is one, and an object as arguments alone is not Ollama’s', () => {
  const wrong = { ...call, function: { name: 'f', arguments: {} } }
  for (const [messages, dialect] of [
    [[{ role: 'user', content: [{ text: 'go' }] }], 'bedrock'],
    [[{ role: 'assistant', content: null, tool_calls: [wrong] }], 'openai-chat'],
  ]) {
    const { stdout } = turnlock(['doctor', '-', '--json'], JSON.stringify({ messages }))
    assert.equal(JSON.parse(stdout).dialect, dialect)
  }
})

test('a plain history is clean; one that is wrong in its own shape is not', () => {
  const plain = [{ role: 'user', content: 'x' }]
  const shown = turnlock(['doctor', '-'], JSON.stringify(plain))
  assert.equal(shown.status, 0)
  assert.match(shown.stdout, /^openai-chat +✓ accepts$/m)
  assert.match(shown.stdout, /^gemini +converts$/m)
  assert.match(shown.stdout, /^✓ nothing is wrong with it; Turnlock sends it/m)
  assert.match(shown.stdout, /--dialect NAME says what/)
  const machine = turnlock(['doctor', '-', '--json'], JSON.stringify(plain))
  const { dialects, violations } = JSON.parse(machine.stdout)
  assert.equal(machine.status, 0)
  assert.deepEqual([dialects.gemini, violations.gemini[0].code], [1, 'CONTENT_SHAPE'])
  assert.equal(violations['openai-chat'], undefined)
  const wrong = JSON.stringify([...plain, { role: 'assistant', content: '' }])
  const refused = turnlock(['doctor', '-', '--json'], wrong)
  const found = JSON.parse(refused.stdout).violations
  assert.equal(refused.status, 1)
  assert.ok(
    Object.values(found).some(([{ index, code, message }]) => index === 1 && code && message),
  )
  const said = turnlock(['doctor', '-'], wrong).stdout
  assert.match(said, /✕ rejects \(\d+\)/)
  assert.doesNotMatch(said, /nothing is wrong/)
})

test('the events of a turn are nobody’s request: clean, unless something is wrong beside the shape', async () => {
  const model = customModel(async function* ({ tools, tool_choice: choice }) {
    if (!tools?.length || choice === 'none') return yield { type: 'text', text: 'Two files.' }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'look' }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const execute = () => ['a', 'b']
  const look = defineTool({ description: 'x', inputSchema: {}, readOnly: true, execute })
  const messages = [{ role: 'user', content: 'go' }]
  const events = []
  for await (const event of runTurn({ model, messages, tools: { look } })) events.push(event)
  for (const trace of [events, [...messages, ...events]]) {
    const { status, stdout } = turnlock(['doctor', '-'], JSON.stringify(trace))
    assert.equal(status, 0, stdout)
    assert.match(stdout, /^openai-chat +converts$/m)
    assert.doesNotMatch(stdout, /^openai-chat.*refused/m)
    assert.match(stdout, /^✓ nothing is wrong with it/m)
  }
  const lost = [...messages, ...events.filter(({ type }) => type !== 'tool_calls')]
  const { status, stdout } = turnlock(['doctor', '-'], JSON.stringify(lost))
  assert.equal(status, 1)
  assert.match(stdout, /^openai-chat +✕ rejects \(\d+\)$/m)
})

test('replay says what is no trace, and what one is', () => {
  for (const text of [
    '{"a":1}',
    '[{"type":"x"}]',
    '{"messages":[{"role":"user","content":5}]}',
    '7',
  ]) {
    const { status, stderr, stdout } = turnlock(['replay', '-'], text)
    assert.deepEqual([status, stdout], [2, ''], text)
    assert.match(
      stderr,
      /^command\.usage: this is no trace \(.*\): replay reads the events of a turn/,
    )
  }
})

test('replay says with which code a turn failed', async () => {
  const model = customModel(async function* () {
    yield { type: 'text', text: 'Well' }
    throw new Error('gone')
  })
  const events = []
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }] })
  for await (const event of turn) events.push(event)
  const { type, code } = events.at(-1)
  assert.equal(type, 'error')
  const text = JSON.stringify(events)
  assert.ok(
    turnlock(['replay', '-'], text).stdout.includes(`it did not come to an answer: error, ${code}`),
  )
  const last = turnlock(['replay', '-', '--json'], text).stdout.trim().split('\n').at(-1)
  assert.equal(JSON.parse(last).replayed.code, code)
})

test('doctor: a request that continues state at the provider has no orphans', () => {
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '7 °C' }
  const messages = [{ role: 'user', content: [result] }]
  const output = { type: 'function_call_output', call_id: 'call_1', output: '7 °C' }
  const call = { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}' }
  const input = [call, { ...output, call_id: 'call_2' }, output]
  const rows = [
    ['anthropic', { messages, thread: { type: 'continue', previous_message_id: 'msg_1' } }, true],
    ['anthropic', { messages, thread: { type: 'start' } }, false],
    ['anthropic', { messages }, false],
    ['openai-responses', { input, previous_response_id: 'resp_1' }, true],
    ['openai-responses', { input, conversation: 'conv_1' }, true],
    ['openai-responses', { input, conversation: { id: 'conv_1' } }, true],
    ['openai-responses', { input, previous_response_id: null, conversation: null }, false],
    ['openai-responses', { input, previous_response_id: '' }, false],
  ]
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const runs = turnlocks(
    rows.map(([, body], row) => {
      const file = join(at, `${row}.json`)
      writeFileSync(file, JSON.stringify({ model: 'm', ...body }))
      return ['doctor', file, '--json']
    }),
  )
  rmSync(at, { recursive: true })
  rows.forEach(([dialect, body, partial], row) => {
    const found = JSON.parse(runs[row].stdout)
    assert.deepEqual([found.dialect, found.partial], [dialect, partial], JSON.stringify(body))
    const codes = found.violations.map(({ code }) => code)
    assert.equal(codes.includes('TOOL_RESULT_ORPHAN'), !partial, JSON.stringify(body))
    assert.equal(codes.length === 0, partial)
    assert.equal(found.repairs.length === 0, partial)
    assert.equal(runs[row].status, partial ? 0 : 1)
  })
})

test('doctor: sessions of agents, refused requests of a HAR file, and what is no known format', () => {
  const recording = (name) => {
    const text = readFileSync(new URL(`test/recordings/${name}.json`, folder), 'utf8')
    const { lines, value } = JSON.parse(text)
    return lines ? lines.map((line) => JSON.stringify(line)).join('\n') : JSON.stringify(value)
  }
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const rows = [
    ['codex-reads-again', 0, /^✓ openai-responses accepts it as it is$/m, /^ {2}3× exec_command/m],
    ['codex-interrupted', 1, /TOOL_CALL_UNANSWERED/],
    ['claude-code-parallel-results', 0, /^✓ anthropic accepts it as it is$/m],
    ['gemini-cli-missing-response', 1, /^✕ gemini rejects it: 1$/m],
    ['opencode-loop', 0, /^✓ nothing is wrong with it/m],
    ['opencode-pending', 1, /^openai-chat +✕ rejects \(1\)$/m],
    ['otel-call-as-text', 0, /^✓ nothing is wrong with it/m],
    ['ai-sdk-steps-accumulate', 0, /^✓ nothing is wrong with it/m],
    ['har-refused', 1, /^✕ anthropic rejects it: 1$/m, /^a provider's error:/m],
    ['unknown-pi-session', 2],
  ]
  const runs = turnlocks(
    rows.map(([name]) => {
      const file = join(at, `${name}.jsonl`)
      writeFileSync(file, recording(name))
      return ['doctor', file]
    }),
  )
  rmSync(at, { recursive: true })
  rows.forEach(([name, status, ...patterns], row) => {
    const { stdout, stderr, status: ended } = runs[row]
    assert.equal(ended, status, `${name}: ${stdout}${stderr}`)
    for (const pattern of patterns) assert.match(stdout, pattern, name)
    if (status === 2) assert.match(stderr, /^message\.unknown_format: unknown format: 5 of 5/)
    assert.equal(/refuse/.test(stdout) && status === 2, false)
  })
})
