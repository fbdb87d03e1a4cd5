// turnlock/inspect: formats of texts, repeated calls, savings of a budget, replays.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import test from 'node:test'
import { data } from '../../tests/data.mjs'
import {
  detectProvider,
  estimateSavings,
  findLoops,
  groupCalls,
  inspectText,
  recognizeFormat,
  replay,
  traceCalls,
} from 'turnlock/inspect'
import { asked, body, LOOP, said, told } from '../../tests/e2e/looping.mjs'

test('bodies of requests, by their shape', () => {
  const bodies = {
    'OpenAI request body': body,
    'Anthropic request body': { system: 'x', messages: [said] },
    'Bedrock Converse request body': { messages: [said], inferenceConfig: {} },
    'Gemini request body': { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    'OpenAI Responses request body': { input: [said], store: false },
  }
  for (const [what, value] of Object.entries(bodies)) {
    const found = recognizeFormat(JSON.stringify(value))
    assert.equal(found.format, what)
    const list = value.messages ?? value.contents ?? value.input
    assert.deepEqual(found.history, list)
    assert.equal(found.otherFields.length, Object.keys(value).length - 1)
  }
})

test('lists, by whose they are', () => {
  const lists = {
    'OpenAI messages': LOOP,
    messages: [said],
    'AI SDK messages': [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }],
    'Gemini contents': [{ role: 'user', parts: [{ text: 'x' }] }],
    'LangChain messages': [{ lc: 1, type: 'constructor', id: ['HumanMessage'], kwargs: {} }],
    'Responses items': [said, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
    'Anthropic messages': [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
    ],
    'Turnlock events': [{ type: 'text', seq: 1, requestId: 'r', chunk: 'x' }],
  }
  for (const [what, list] of Object.entries(lists)) {
    assert.deepEqual(recognizeFormat(JSON.stringify(list)), {
      format: what,
      history: list,
      partial: false,
    })
  }
})

test('a curl command, as shells quote', () => {
  const json = JSON.stringify(body)
  const commands = [
    `curl https://x.test/v1 -H 'authorization: Bearer sk' -d '${json.replaceAll("'", String.raw`'\''`)}'`,
    `curl -X POST https://x.test \\\n  --data-raw '${json.replaceAll("'", String.raw`'\''`)}' \\\n  --compressed`,
    `curl https://x.test --json "${json.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`,
    `$ curl https://x.test --data-binary $'${json.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`,
  ]
  for (const command of commands) {
    const found = recognizeFormat(command)
    assert.equal(found?.format, 'curl command, OpenAI request body', command)
    assert.deepEqual(found.history, LOOP)
  }
})

test('JSON lines: messages, requests, chunks of a response', () => {
  const lines = (...values) => values.map((value) => JSON.stringify(value)).join('\n')
  assert.deepEqual(recognizeFormat(lines(...LOOP)), {
    format: 'JSON lines: OpenAI messages',
    history: LOOP,
    partial: false,
  })
  const log = recognizeFormat(lines({ messages: [said] }, body, { level: 'info' }))
  assert.match(
    log.format,
    /^JSON lines, 2 of them with a history; the longest: OpenAI request body$/,
  )
  assert.deepEqual(log.history, LOOP)
  const chunk = (delta) => ({ choices: [{ index: 0, delta }] })
  const streamed = recognizeFormat(
    lines(chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' })),
  )
  assert.deepEqual(streamed.history, [{ role: 'assistant', content: 'ab' }])
})

test('exports of tracing tools: the list in them, and the answer', () => {
  const answer = { role: 'assistant', content: 'Milk.' }
  const langsmith = {
    run_type: 'llm',
    inputs: { messages: [LOOP] },
    outputs: { generations: [[{ message: answer }]] },
  }
  assert.deepEqual(recognizeFormat(JSON.stringify(langsmith)), {
    format: 'LangSmith run: OpenAI messages',
    history: [...LOOP, answer],
    partial: false,
  })
  const langfuse = { id: 't', observations: [{ input: [said] }, { input: LOOP, output: answer }] }
  const found = recognizeFormat(JSON.stringify(langfuse))
  assert.deepEqual([found.format, found.history], ['Langfuse trace: OpenAI messages', LOOP])
  for (const text of ['{"a":[1,2,{"b":3}]}', '42']) {
    assert.throws(() => recognizeFormat(text), { code: 'options.invalid' })
  }
  const details = { offset: 0, line: 1, column: 1 }
  assert.throws(() => recognizeFormat('hello'), { code: 'json.syntax', details })
})

/** Undefined for JSON without a history. */
function recognized(text) {
  try {
    return recognizeFormat(text)
  } catch ({ code }) {
    assert.equal(code, 'options.invalid')
    return undefined
  }
}

test('recorded responses of every wire, whole and streamed, become messages', () => {
  let known = 0
  for (const provider of ['openai', 'anthropic', 'google', 'deepseek', 'cohere']) {
    const root = data(`streams-vercel-ai/files/${provider}/`)
    // Some recordings are broken on purpose.
    for (const name of readdirSync(root).filter(
      (file) => !/error|embed|spliced|wrapper/.test(file),
    )) {
      const found = recognized(readFileSync(new URL(name, root), 'utf8'))
      if (!found) continue
      assert.match(found.format, /^(response|JSON lines|the longest|error)/, name)
      if (/^response stream/.test(found.format)) {
        const [{ role, content, tool_calls: calls = [] }] = found.history
        assert.equal(role, 'assistant')
        for (const call of calls) JSON.parse(call.function.arguments || '{}')
        known += content || calls.length ? 1 : 0
      }
    }
  }
  assert.ok(known > 40, `${known} streams`)
})

test('conversations of agents: the calls that stand in them, repeats by signature', () => {
  const text = readFileSync(data('trajectories-tau-bench/gpt-4o-airline.61.jsonl'), 'utf8')
  for (const line of text.trim().split('\n')) {
    const given = JSON.parse(line)
    const { calls } = traceCalls(recognizeFormat(line).history)
    assert.equal(calls.length, given.n_tool_calls)
    const groups = groupCalls(calls.map((call) => ({ ...call, turn: 0 })))
    const twice = groups.reduce((sum, { places }) => sum + places.length - 1, 0)
    assert.equal(twice, given.duplicate_calls)
  }
})

test('what a budget would have saved', () => {
  const found = traceCalls(LOOP)
  assert.deepEqual(
    groupCalls(found.calls).map(({ name, places, texts }) => [name, places, texts.length]),
    [
      ['read_file', [0, 1, 2, 3], 2],
      ['list_files', [4], 1],
    ],
  )
  // Five requests, of which the first asked for the call and the second is the answer's.
  const one = estimateSavings(found, 1)
  assert.deepEqual([one.inferences, one.runs, one.cut], [3, 4, 1])
  const bytes = (messages) =>
    messages.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
  assert.equal(
    one.bytes,
    [5, 7, 9].reduce((sum, end) => sum + bytes(LOOP.slice(0, end)), 0),
  )
  const two = estimateSavings(found, 2)
  assert.deepEqual([two.inferences, two.runs], [0, 3])
  const apart = traceCalls([...LOOP.slice(0, 3), said, ...LOOP.slice(3, 5)])
  assert.equal(groupCalls(apart.calls)[0].places.length, 1, 'another user turn is no repeat')
})

test('a replay runs the recorded calls under another policy, without requests', async () => {
  const { turn, messages, tools, deltas } = replay(traceCalls(LOOP), { maxTools: 1 })
  const { status, toolResults, text } = await turn.result
  assert.equal(status, 'complete')
  assert.equal(toolResults.filter(({ replayed }) => !replayed).length, 1)
  assert.ok(text)
  assert.deepEqual(messages, LOOP.slice(0, messages.length))
  assert.deepEqual(tools.map(({ name }) => name).sort(), ['list_files', 'read_file'])
  assert.ok(deltas.length > 1)
  assert.throws(() => replay(traceCalls([said])), { code: 'options.invalid' })
})

test('repeats are found in a history or in its trace', () => {
  const repeated = findLoops(LOOP)
  assert.deepEqual(repeated, findLoops(traceCalls(LOOP)))
  const recognized = recognizeFormat(JSON.stringify(LOOP))
  assert.deepEqual(repeated, findLoops(recognized))
  assert.deepEqual(replay(recognized).messages, replay(traceCalls(LOOP)).messages)
  assert.deepEqual(
    repeated.map(({ name, places, results }) => [name, places.length, results]),
    [['read_file', 4, 1]],
  )
})

test('a text becomes a report; an error stands beside what was known before it', () => {
  const report = inspectText(JSON.stringify(body), { dialect: 'openai-chat' })
  assert.equal(report.format, 'OpenAI request body')
  assert.deepEqual(report.remaining, [])
  assert.equal(inspectText('{', { dialect: 'openai-chat' }).error.code, 'json.syntax')
  const refused = inspectText(
    '{"error":{"message":"messages with role \'tool\' must be a response to a preceeding message with \'tool_calls\'"}}',
    { dialect: 'openai-chat' },
  )
  assert.ok(refused.refused.length)
  assert.equal(refused.violations, undefined)
  const curl = `curl https://api.groq.com/openai/v1/chat/completions -d '${JSON.stringify({ messages: [{ role: 'user', content: 'x' }] })}'`
  assert.equal(detectProvider(curl, recognizeFormat(curl)), 'groq')
})

test('the address of a recorded request names its provider', () => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'x' }] })
  for (const [address, provider] of [
    ['https://api.groq.com/openai/v1/chat/completions', 'groq'],
    ['https://eu.api.mistral.ai/v1/chat/completions', 'mistral'],
    ['https://api.cohere.com/v2/chat', 'cohere'],
    ['https://gateway.example/cohere/v2/chat', 'cohere'],
    ['http://localhost:11434/api/chat', 'ollama'],
    ['https://openrouter.ai/api/v1/chat/completions?x=1', 'openai-chat'],
    // https://api-docs.deepseek.com/guides/anthropic_api, read 2026-11: another API of the same host.
    ['https://api.deepseek.com/anthropic/v1/messages', 'anthropic'],
    ['https://api.x.ai/v1/responses', 'openai-responses'],
    ['https://api.x.ai/v1/chat/completions', 'xai'],
    ['https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse', 'bedrock'],
    ['https://api.x.ai.example/v1/chat/completions', 'openai-chat'],
  ]) {
    const curl = `curl ${address} -d '${body}'`
    const found = detectProvider(curl, recognizeFormat(curl))
    assert.equal(found, provider, address)
  }
})

test('a request that continues state at the provider is partial in every form', () => {
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }
  const messages = [{ role: 'user', content: [result] }]
  for (const thread of [
    'th_1',
    { id: 'th_1' },
    { type: 'continue' },
    { previous_message_id: 'msg_1' },
  ]) {
    const text = JSON.stringify({ messages, thread })
    assert.equal(recognizeFormat(text).partial, true)
    const { violations, result } = inspectText(text, { dialect: 'anthropic' })
    assert.deepEqual([violations, result.repairs], [[], []], text)
  }
  const whole = inspectText(JSON.stringify({ messages }), { dialect: 'anthropic' })
  assert.ok(whole.violations.length > 0)
})

test('an empty list is a history without messages', () => {
  const { violations, error } = inspectText('[]', { dialect: 'anthropic' })
  assert.deepEqual([error, violations.map(({ code }) => code)], [undefined, ['MSG_LIST_EMPTY']])
})
