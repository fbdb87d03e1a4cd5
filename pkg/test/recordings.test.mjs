// Recordings of agents and tracing tools, rebuilt from public reports (pkg/test/recordings).
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import { detectProvider, findLoops, inspectText, recognizeFormat } from 'turnlock/inspect'

const folder = new URL('recordings/', import.meta.url)
const cases = readdirSync(folder).map((name) => [
  name.replace('.json', ''),
  JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
])
const textOf = ({ lines, value }) =>
  lines ? lines.map((line) => JSON.stringify(line)).join('\n') : JSON.stringify(value)

/** Codes that follow from the form of a history, if that is another provider's. */
const OF_SHAPE = ['CONTENT_SHAPE', 'REASONING_FOREIGN', 'TOOL_RESULT_TYPE']

/** Codes without those that say that the history is written in another provider's form. */
const codesOf = (violations) => {
  const codes = violations.map(({ code }) => code)
  return codes.includes('CONTENT_SHAPE') ? codes.filter((code) => !OF_SHAPE.includes(code)) : codes
}

for (const [name, given] of cases) {
  test(`${name}: ${given.about}`, () => {
    const { expect } = given
    const text = textOf(given)
    if (expect.error) {
      const { format, error, violations, result } = inspectText(text, { dialect: 'anthropic' })
      assert.deepEqual([format, error.code], ['unknown format', expect.error])
      assert.deepEqual([violations, result], [undefined, undefined])
      return
    }
    const recognized = recognizeFormat(text)
    const { format, history } = recognized
    const dialect = detectProvider(text, recognized)
    assert.deepEqual([format, dialect ?? null], [expect.format, expect.dialect ?? null])
    const report = inspectText(text, { dialect: dialect ?? 'openai-chat' })
    assert.equal(report.error, undefined)
    assert.deepEqual([...new Set(codesOf(report.violations))], expect.violations)
    assert.deepEqual(report.remaining, [])
    const loops = findLoops(report.trace).map(({ name, places }) => [name, places.length])
    assert.deepEqual(Object.fromEntries(loops), expect.loops)
    const { calls } = report.trace
    if (expect.calls) {
      assert.deepEqual(
        calls.map(({ name }) => name),
        expect.calls,
      )
    }
    if (expect.results !== undefined) {
      assert.equal(calls.filter(({ result }) => result !== undefined).length, expect.results)
    }
    if (expect.refused) assert.deepEqual(report.refused, expect.refused)
    if (expect.messages !== undefined) assert.equal(history.length, expect.messages)
    if (expect.history) assert.deepEqual(history, expect.history)
  })
}

test('a session of a framework: at least one provider refuses no more than its form', () => {
  for (const [name, given] of cases) {
    if (given.expect.error || given.expect.dialect || given.expect.violations.length) continue
    const dialects = ['openai-chat', 'anthropic', 'gemini']
    const codes = dialects.map((dialect) =>
      codesOf(inspectText(textOf(given), { dialect }).violations),
    )
    assert.ok(
      codes.some(({ length }) => length === 0),
      `${name}: ${codes.join(' ')}`,
    )
  }
})

test('a session whose last line is cut off is read up to it', () => {
  const [, codex] = cases.find(([name]) => name === 'codex-compacted')
  const text = textOf(codex)
  const cut = recognizeFormat(text.slice(0, -20))
  assert.equal(cut.format, 'Codex session (the last line is cut off)')
  assert.equal(cut.history.length, recognizeFormat(text).history.length - 1)
})

test('a broken line of JSON lines: the error names the line', () => {
  const text = '{"role":"user","content":"a"}\n{"role":"user" "content"}\n{"role":"user"}'
  const details = { offset: 45, line: 2, column: 16 }
  assert.throws(() => recognizeFormat(text), { code: 'json.syntax', details })
})

test('a session without messages: the error says so', () => {
  const meta = { timestamp: '2026-08-01T10:00:00Z', type: 'session_meta', payload: { id: 'x' } }
  assert.throws(() => recognizeFormat(JSON.stringify(meta)), {
    code: 'options.invalid',
    message: /no message in it: Codex session/,
  })
})

test('a list of which half is unknown is diagnosed, one of which more is unknown is not', () => {
  const known = { role: 'user', content: 'hi' }
  const unknown = { type: 'telemetry', level: 'info' }
  const half = inspectText(JSON.stringify([known, unknown]), { dialect: 'openai-chat' })
  assert.deepEqual([half.error, codesOf(half.violations)], [undefined, ['ELEMENT_UNKNOWN']])
  const most = inspectText(JSON.stringify([known, unknown, unknown]), { dialect: 'openai-chat' })
  assert.deepEqual(most.error.details, { unknown: 2, elements: 3 })
  assert.match(most.error.message, /^unknown format: 2 of 3 elements/)
})

/** Every value of a JSON text, as the path to it. */
const paths = (value, at = []) => [
  at,
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => paths(inner, [...at, key]))
    : []),
]

/** A copy in which the value at the path is another one. */
const changed = (value, [key, ...rest], other) => {
  if (key === undefined) return other
  const copy = Array.isArray(value) ? [...value] : { ...value }
  copy[key] = changed(value[key], rest, other)
  return copy
}

test('a recording with any value changed: a report, or an error with a code', () => {
  for (const [name, given] of cases) {
    const key = given.lines ? 'lines' : 'value'
    const all = paths(given[key]).filter(({ length }) => length > 0)
    all.forEach((path, at) => {
      const other = [null, 0, '', [], {}, [[null]], { role: 7 }][at % 7]
      const text = textOf({ [key]: changed(given[key], path, other) })
      const { error } = inspectText(text, { dialect: 'anthropic' })
      assert.ok(error === undefined || error.code, `${name} ${path.join('.')}: ${error?.stack}`)
    })
  }
})

const ASKED = { role: 'user', content: 'Weather?' }
const stream = (type, message, more = {}) => ({
  type,
  message: { role: type, ...message },
  parent_tool_use_id: null,
  session_id: 's',
  ...more,
})

test('stream-json of Claude Code: one message for each response, without those of subagents', () => {
  const lines = [
    { type: 'system', subtype: 'init', session_id: 's', tools: ['Task'] },
    stream('assistant', { id: 'm1', content: [{ type: 'text', text: 'I delegate.' }] }),
    stream('assistant', {
      id: 'm1',
      content: [{ type: 'tool_use', id: 't1', name: 'Task', input: { prompt: 'x' } }],
    }),
    stream(
      'assistant',
      { id: 'm2', content: [{ type: 'tool_use', id: 't2', name: 'Bash', input: {} }] },
      { parent_tool_use_id: 't1' },
    ),
    stream('user', { content: [{ type: 'tool_result', tool_use_id: 't1', content: 'done' }] }),
    { type: 'rate_limit_event', session_id: 's' },
    stream('assistant', { id: 'm3', content: [{ type: 'text', text: 'Done.' }] }),
    { type: 'result', subtype: 'success', result: 'Done.', session_id: 's' },
  ]
  for (const text of [textOf({ lines }), JSON.stringify(lines)]) {
    const recognized = recognizeFormat(text)
    assert.equal(recognized.format, 'Claude Code stream-json')
    const { violations, trace } = inspectText(text, { dialect: 'anthropic' })
    assert.deepEqual([violations, trace.calls.map(({ name }) => name)], [[], ['Task']])
    assert.equal(recognized.history.length, 3)
  }
  // The file of a subagent has no other lines.
  const own = lines.filter(({ parent_tool_use_id: parent }) => parent)
  assert.equal(recognizeFormat(JSON.stringify(own)).history.length, 1)
})

test('a Claude Code session: errors of the provider are no answers, a compaction begins anew', () => {
  const line = (type, uuid, parentUuid, content, more = {}) => ({
    type,
    uuid,
    parentUuid,
    sessionId: 's',
    message: { role: type, content },
    ...more,
  })
  const lines = [
    line('user', 'u1', null, 'Old.'),
    line('assistant', 'a1', 'u1', [{ type: 'text', text: 'Old answer.' }]),
    { type: 'system', subtype: 'compact_boundary', uuid: 'b', parentUuid: null, sessionId: 's' },
    line('user', 'u2', 'b', 'Summary.', { isCompactSummary: true }),
    line('user', 'u3', 'u2', 'Go on.'),
    line('assistant', 'a2', 'u3', [{ type: 'text', text: 'API Error: 529' }], {
      isApiErrorMessage: true,
    }),
    line('user', 'u4', 'a2', 'Again.'),
    { type: 'summary', summary: 'A title', leafUuid: 'u4' },
  ]
  const { history } = recognizeFormat(textOf({ lines }))
  const text = ['Summary.', 'Go on.', 'Again.'].map((text) => ({ type: 'text', text }))
  assert.deepEqual(history, [{ role: 'user', content: text }])
})

test('a rollout of Codex from before 2025-09: items without an envelope', () => {
  const lines = [
    { id: 'x', timestamp: '2025-08-01T10:00:00Z', instructions: null, git: {} },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List them.' }] },
    { record_type: 'state' },
    { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{"command":["ls"]}' },
    {
      type: 'function_call_output',
      call_id: 'c',
      output: { content: 'exit code 1', success: false },
    },
  ]
  const { format, history } = recognizeFormat(textOf({ lines }))
  assert.deepEqual([format, history.length], ['Codex session', 3])
  assert.equal(history[2].output, 'exit code 1')
})

test('a session of Codex: one unknown item is no refusal, mostly unknown ones are an unknown format', () => {
  const item = (payload) => ({ timestamp: '2026-11-01T10:00:00Z', type: 'response_item', payload })
  const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] }
  const lines = [item(said), item({ type: 'agent_message', author: 'root' })]
  const { violations, error } = inspectText(textOf({ lines }), { dialect: 'openai-responses' })
  assert.deepEqual([violations, error], [[], undefined])
  const unknown = textOf({ lines: [...lines, lines[1]] })
  const { code } = inspectText(unknown, { dialect: 'openai-responses' }).error
  assert.equal(code, 'message.unknown_format')
})

test('a Claude Code session without links between its lines is read in the order of the file', () => {
  const lines = ['Hi.', 'Hello.', 'Bye.'].map((content, at) => {
    const role = at % 2 ? 'assistant' : 'user'
    return {
      type: role,
      uuid: `u${at}`,
      parentUuid: null,
      sessionId: 's',
      message: { role, content },
    }
  })
  assert.equal(recognizeFormat(textOf({ lines })).history.length, 3)
})

test('a session of gemini-cli: newer versions keep calls with their signatures in the content', () => {
  const call = {
    functionCall: { id: 'c', name: 'read_file', args: { path: 'a' } },
    thoughtSignature: 'c2ln',
  }
  const result = { functionResponse: { id: 'c', name: 'read_file', response: { output: 'A' } } }
  const lines = [
    { sessionId: 's', projectHash: 'h' },
    { id: '1', type: 'user', content: [{ text: 'Read a.' }] },
    {
      id: '2',
      type: 'gemini',
      content: [call],
      toolCalls: [{ id: 'c', name: 'read_file', args: { path: 'a' }, result: [result] }],
    },
  ]
  assert.deepEqual(recognizeFormat(textOf({ lines })).history.slice(1), [
    { role: 'model', parts: [call] },
    { role: 'user', parts: [result] },
  ])
})

test('steps of the AI SDK of version 4, and lines of onStepFinish, with the first request', () => {
  const step = (own) => ({ finishReason: 'tool-calls', response: { id: 'r' }, text: '', ...own })
  const lines = [
    step({
      request: { body: JSON.stringify({ model: 'm', messages: [ASKED] }) },
      toolCalls: [{ toolCallId: 'c', toolName: 'weather', args: { city: 'Rome' } }],
      toolResults: [{ toolCallId: 'c', toolName: 'weather', args: {}, result: { sky: 'clear' } }],
    }),
    step({ finishReason: 'stop', text: 'Clear.', toolCalls: [], toolResults: [] }),
  ]
  const { history, format } = recognizeFormat(textOf({ lines }))
  assert.deepEqual(
    [format, history.map(({ role }) => role)],
    ['AI SDK steps', ['user', 'assistant', 'tool', 'assistant']],
  )
  const { trace } = inspectText(textOf({ lines }), { dialect: 'openai-chat' })
  assert.deepEqual(
    trace.calls.map(({ name, args, result }) => [name, args, result]),
    [['weather', '{"city":"Rome"}', '{"sky":"clear"}']],
  )
})

/** The same conversation, as each convention of spans writes it. */
const SPANS = {
  'gen_ai.input.messages': {
    attributes: {
      'gen_ai.input.messages': JSON.stringify([
        { role: 'user', parts: [{ type: 'text', content: 'Weather?' }] },
        {
          role: 'assistant',
          parts: [{ type: 'tool_call', id: null, name: 'weather', arguments: { city: 'Rome' } }],
        },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: null, response: 'clear' }] },
      ]),
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', parts: [{ type: 'text', content: 'Clear.' }] },
      ]),
    },
  },
  OpenLLMetry: {
    attributes: {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'Weather?',
      'gen_ai.prompt.1.role': 'assistant',
      'gen_ai.prompt.1.tool_calls.0.id': 'c',
      'gen_ai.prompt.1.tool_calls.0.name': 'weather',
      'gen_ai.prompt.1.tool_calls.0.arguments': '{"city":"Rome"}',
      'gen_ai.prompt.2.role': 'tool',
      'gen_ai.prompt.2.content': 'clear',
      'gen_ai.prompt.2.tool_call_id': 'c',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.content': 'Clear.',
    },
  },
  OpenInference: {
    attributes: {
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'Weather?',
      'llm.input_messages.1.message.role': 'assistant',
      'llm.input_messages.1.message.tool_calls.0.tool_call.id': 'c',
      'llm.input_messages.1.message.tool_calls.0.tool_call.function.name': 'weather',
      'llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments': '{"city":"Rome"}',
      'llm.input_messages.2.message.role': 'tool',
      'llm.input_messages.2.message.content': 'clear',
      'llm.input_messages.2.message.tool_call_id': 'c',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'Clear.',
    },
  },
  'the AI SDK': {
    attributes: {
      'ai.prompt.messages': JSON.stringify([
        { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', toolCallId: 'c', toolName: 'weather', input: { city: 'Rome' } },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c',
              toolName: 'weather',
              output: { type: 'text', value: 'clear' },
            },
          ],
        },
      ]),
      'ai.response.text': 'Clear.',
    },
  },
  'events before 1.37': {
    attributes: { 'gen_ai.system': 'openai' },
    events: [
      { name: 'gen_ai.user.message', attributes: { content: 'Weather?' } },
      {
        name: 'gen_ai.assistant.message',
        attributes: {
          'gen_ai.event.content': JSON.stringify({
            tool_calls: [
              {
                id: 'c',
                type: 'function',
                function: { name: 'weather', arguments: '{"city":"Rome"}' },
              },
            ],
          }),
        },
      },
      { name: 'gen_ai.tool.message', attributes: { id: 'c', content: 'clear' } },
      {
        name: 'gen_ai.choice',
        attributes: { index: 0, message: '{"role":"assistant","content":"Clear."}' },
      },
    ],
  },
}

test('spans of each convention have the same conversation', () => {
  for (const [convention, span] of Object.entries(SPANS)) {
    for (const text of [JSON.stringify([span]), textOf({ lines: [{ name: 'root' }, span] })]) {
      const { format } = recognizeFormat(text)
      assert.equal(format, 'OpenTelemetry GenAI spans', convention)
      const { trace, violations } = inspectText(text, { dialect: 'openai-chat' })
      assert.deepEqual(codesOf(violations), [], convention)
      const { messages, calls } = trace
      assert.deepEqual(
        messages.map(({ role, content }) => [role, content]),
        [
          ['user', 'Weather?'],
          ['assistant', null],
          ['tool', 'clear'],
          ['assistant', 'Clear.'],
        ],
        convention,
      )
      const [{ name, args, result }] = calls
      assert.deepEqual([name, args, result], ['weather', '{"city":"Rome"}', 'clear'], convention)
    }
  }
})

test('a HAR file without a refusal: the longest request, for the provider of its address', () => {
  const entry = (url, body, encoding) => ({
    request: { url, postData: { text: JSON.stringify(body) } },
    response: { status: 200, content: { text: 'e30=', ...(encoding && { encoding }) } },
  })
  const messages = [ASKED, { role: 'assistant', content: 'Clear.' }, ASKED]
  const log = {
    entries: [
      entry('https://api.groq.com/openai/v1/chat/completions', { messages: [ASKED] }),
      entry('https://api.groq.com/openai/v1/chat/completions', { model: 'm', messages }, 'base64'),
      entry('https://example.test/log', { level: 'info' }),
      { request: { method: 'GET', url: 'https://example.test/' } },
    ],
  }
  const text = JSON.stringify({ log })
  const recognized = recognizeFormat(text)
  assert.equal(recognized.format, 'HAR file, requests: 2; the longest: OpenAI request body')
  assert.equal(detectProvider(text, recognized), 'groq')
  assert.deepEqual(recognized.body, { model: 'm', messages })
})

test('a session of thousands of short calls: a report, though its repair is at the limit', () => {
  const line = (type, at, content) => ({
    type,
    uuid: `u${at}`,
    parentUuid: at ? `u${at - 1}` : null,
    sessionId: 's',
    message: { role: type, content },
  })
  const lines = Array.from({ length: 4000 }, (_, at) => {
    if (at === 0) return line('user', at, 'Go.')
    const id = `t${at - (at % 2 ? 0 : 1)}`
    return at % 2
      ? line('assistant', at, [{ type: 'tool_use', id, name: 'f', input: { at } }])
      : line('user', at, [{ type: 'tool_result', tool_use_id: id, content: 'x'.repeat(100) }])
  })
  for (const dialect of ['anthropic', 'openai-responses']) {
    const { error, trace } = inspectText(textOf({ lines }), { dialect })
    assert.deepEqual([error, trace.calls.length], [undefined, 2000], dialect)
  }
})
