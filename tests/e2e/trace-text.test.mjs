// "Your trace", without the page: what a pasted text is, where it loops, who would refuse it.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import test from 'node:test'
import { data } from '../data.mjs'
import { callsOf, groupsOf, saved } from '../../www/src/trace/calls.js'
import { recognise } from '../../www/src/trace/recognise.js'
import { asked, body, LOOP, said, told } from './looping.mjs'

test('bodies of requests, by their shape', () => {
  const bodies = {
    'OpenAI request body': body,
    'Anthropic request body': { system: 'x', messages: [said] },
    'Bedrock Converse request body': { messages: [said], inferenceConfig: {} },
    'Gemini request body': { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    'OpenAI Responses request body': { input: [said], store: false },
  }
  for (const [what, value] of Object.entries(bodies)) {
    const found = recognise(JSON.stringify(value))
    assert.equal(found.what, what)
    const list = value.messages ?? value.contents ?? value.input
    assert.deepEqual(found.history, list)
    assert.equal(found.beside.length, Object.keys(value).length - 1)
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
    assert.deepEqual(recognise(JSON.stringify(list)), { what, history: list })
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
    const found = recognise(command)
    assert.equal(found?.what, 'curl command, OpenAI request body', command)
    assert.deepEqual(found.history, LOOP)
  }
})

test('JSON lines: messages, requests, chunks of a response', () => {
  const lines = (...values) => values.map((value) => JSON.stringify(value)).join('\n')
  assert.deepEqual(recognise(lines(...LOOP)), {
    what: 'JSON lines: OpenAI messages',
    history: LOOP,
  })
  const log = recognise(lines({ messages: [said] }, body, { level: 'info' }))
  assert.match(log.what, /^JSON lines, 2 of them with a history; the longest: OpenAI request body$/)
  assert.deepEqual(log.history, LOOP)
  const chunk = (delta) => ({ choices: [{ index: 0, delta }] })
  const streamed = recognise(
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
  assert.deepEqual(recognise(JSON.stringify(langsmith)), {
    what: 'LangSmith run: OpenAI messages',
    history: [...LOOP, answer],
  })
  const langfuse = { id: 't', observations: [{ input: [said] }, { input: LOOP, output: answer }] }
  const found = recognise(JSON.stringify(langfuse))
  assert.deepEqual([found.what, found.history], ['Langfuse trace: OpenAI messages', LOOP])
  assert.equal(recognise('{"a":[1,2,{"b":3}]}'), undefined)
  assert.equal(recognise('42'), undefined)
  assert.throws(() => recognise('hello'), SyntaxError)
})

test('recorded responses of every wire, whole and streamed, become messages', () => {
  let known = 0
  for (const provider of ['openai', 'anthropic', 'google', 'deepseek', 'cohere']) {
    const root = data(`streams-vercel-ai/files/${provider}/`)
    // Some recordings are broken on purpose.
    for (const name of readdirSync(root).filter(
      (file) => !/error|embed|spliced|wrapper/.test(file),
    )) {
      const found = recognise(readFileSync(new URL(name, root), 'utf8'))
      if (!found) continue
      assert.match(found.what, /^(response|JSON lines|the longest|error)/, name)
      if (/^response stream/.test(found.what)) {
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
    const { calls } = callsOf(recognise(line).history)
    assert.equal(calls.length, given.n_tool_calls)
    const groups = groupsOf(calls.map((call) => ({ ...call, turn: 0 })))
    const twice = groups.reduce((sum, { places }) => sum + places.length - 1, 0)
    assert.equal(twice, given.duplicate_calls)
  }
})

test('what a budget would have saved', () => {
  const found = callsOf(LOOP)
  assert.deepEqual(
    groupsOf(found.calls).map(({ name, places, texts }) => [name, places, texts.size]),
    [
      ['read_file', [0, 1, 2, 3], 2],
      ['list_files', [4], 1],
    ],
  )
  // Five requests, of which the first asked for the call and the second is the answer's.
  const one = saved(found, 1)
  assert.deepEqual([one.models, one.runs, one.cut], [3, 4, 1])
  const bytes = (messages) =>
    messages.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
  assert.equal(
    one.bytes,
    [5, 7, 9].reduce((sum, end) => sum + bytes(LOOP.slice(0, end)), 0),
  )
  const two = saved(found, 2)
  assert.deepEqual([two.models, two.runs], [0, 3])
  const apart = callsOf([...LOOP.slice(0, 3), said, ...LOOP.slice(3, 5)])
  assert.equal(groupsOf(apart.calls)[0].places.length, 1, 'another user turn is no repeat')
})
