// Requests that continue state at the provider: their results answer calls that only the provider has,
// so nothing of them is an orphan. Anthropic's SDK sends such requests from its tool runner.
// agno-agi/agno#9376 (2026-08-05) and lidge-jun/opencodex#1912 (2026-08-17): repairs of orphans do not
// apply to requests whose state the provider keeps.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import { createProxy } from 'turnlock/proxy'
import { createHost } from './hosts.mjs'
import { LOOP, looped, WIRES } from './wires.mjs'

const MODES = ['observe', 'repair', 'bound']
const member = (wire) => (wire === 'responses' ? 'input' : 'messages')
const result = (wire, id) =>
  ({
    chat: { role: 'tool', tool_call_id: id, content: 'notes.txt' },
    messages: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: 'notes.txt' }],
    },
    responses: { type: 'function_call_output', call_id: id, output: 'notes.txt' },
  })[wire]

/** Sends a body through the proxy; the provider answers with `answer`. */
async function sent(wire, body, { answer = '{}', ...options } = {}) {
  const [requests, reports] = [[], []]
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    ...options,
    onReport: (report) => reports.push(report),
    fetch: async (_, init) => {
      requests.push(Buffer.from(init.body).toString())
      return new Response(answer)
    },
  })
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body }))
  const text = await response.text()
  const header = JSON.parse(response.headers.get('x-turnlock-report'))
  return { json: requests[0], requests, text, report: reports[0], header }
}

/** What makes a request partial, and what does not. */
const PARTIAL = [
  { thread: { id: 'th_1' } },
  { thread: { type: 'continue', previous_message_id: 'msg_1' } },
  { thread: { type: 'continue' } },
  { thread: 'th_1' },
  { previous_response_id: 'resp_1' },
  { conversation: 'conv_1' },
  { conversation: { id: 'conv_1' } },
]
const WHOLE = [
  {},
  { thread: { type: 'create' }, previous_response_id: null },
  { thread: null, conversation: null, previous_response_id: '' },
  { thread: '' },
]

test('partial history: results of calls that the provider has reach it byte for byte', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const more of PARTIAL) {
      for (const history of [
        [result(wire, 'c1')],
        [result(wire, 'c1'), result(wire, 'c2'), { role: 'user', content: 'Go on.' }],
      ]) {
        const body = JSON.stringify({ model: 'm', [member(wire)]: history, ...more }, null, 1)
        for (const mode of MODES) {
          const { json, report, header } = await sent(wire, body, { mode })
          assert.equal(json, body)
          assert.deepEqual(
            [report.repairs, report.history, header.history],
            [[], 'partial', 'partial'],
          )
        }
      }
    }
  }
})

test('whole history: a result without a call is still left out', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const more of WHOLE) {
      const history = [
        { role: 'user', content: 'a' },
        result(wire, 'gone'),
        { role: 'user', content: 'b' },
      ]
      const body = JSON.stringify({ model: 'm', ...more, [member(wire)]: history })
      const { json, report, header } = await sent(wire, body, { mode: 'repair' })
      assert.ok(!json.includes('gone'), json)
      assert.deepEqual([report.history, header.history], ['whole', 'whole'])
    }
  }
})

test('partial history: a call may have its result at the provider; other faults are mended', async () => {
  const call = {
    chat: {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c2', type: 'function', function: { name: 'ls', arguments: '{}' } }],
    },
    messages: {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c2', name: 'ls', input: {} }],
    },
    responses: { type: 'function_call', call_id: 'c2', name: 'ls', arguments: '{}' },
  }
  for (const wire of Object.keys(WIRES)) {
    const history = [result(wire, 'c1'), call[wire], { role: 'user', content: 'Go on.' }]
    const body = JSON.stringify({ model: 'm', ...PARTIAL[0], [member(wire)]: history })
    const { json, report } = await sent(wire, body, { mode: 'repair' })
    assert.deepEqual([json, report.repairs], [body, []])
    const twice = [call[wire], result(wire, 'c2'), { role: 'user', content: 'Go on.' }]
    twice.splice(2, 0, result(wire, 'c2'))
    const faulty = JSON.stringify({ model: 'm', ...PARTIAL[0], [member(wire)]: twice })
    const mended = await sent(wire, faulty, { mode: 'repair' })
    assert.deepEqual(
      mended.report.repairs.map(({ code }) => code),
      ['TOOL_RESULT_DUPLICATE'],
    )
  }
})

test('partial history: references to items are partial, and nothing of them is mended', async () => {
  // The `type` of a reference is optional.
  for (const reference of [{ type: 'item_reference', id: 'fc_1' }, { id: 'fc_1' }]) {
    const body = JSON.stringify({ model: 'm', input: [reference, result('responses', 'c1')] })
    const { json, report } = await sent('responses', body, { mode: 'repair' })
    assert.deepEqual([json, report.history], [body, 'partial'])
  }
})

test('partial history: no result is lost, whatever else the request contains', async () => {
  const element = (wire) =>
    fc.oneof(
      fc.nat(4).map((n) => result(wire, `c${n}`)),
      fc.constant({ role: 'user', content: 'Go on.' }),
      fc.constant({ role: 'assistant', content: 'Well.' }),
    )
  const cases = fc.constantFrom(...Object.keys(WIRES)).chain((wire) =>
    fc.tuple(
      fc.constant(wire),
      fc.constantFrom(...PARTIAL),
      fc.constantFrom('repair', 'bound'),
      // One result a call: a second one is a fault of its own.
      fc.uniqueArray(element(wire), {
        minLength: 1,
        maxLength: 8,
        selector: (value) => JSON.stringify(value),
      }),
    ),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ([wire, more, mode, history]) => {
      const body = JSON.stringify({ model: 'm', ...more, [member(wire)]: history })
      const { json, report } = await sent(wire, body, { mode })
      const ids = (text) =>
        [...text.matchAll(/"(?:tool_call_id|tool_use_id|call_id)":"(c\d)"/g)]
          .map(([, id]) => id)
          .sort()
      assert.deepEqual(ids(json), ids(body))
      assert.ok(!report.repairs.some(({ code }) => code === 'TOOL_RESULT_ORPHAN'))
    }),
  )
})

test('partial history: `bound` judges the calls of the response alone', async () => {
  const calls = [LOOP, { ...LOOP, id: 'call_two' }, { ...LOOP, id: 'call_three' }]
  for (const wire of Object.keys(WIRES)) {
    for (const more of PARTIAL) {
      const body = JSON.stringify({ ...WIRES[wire].body(looped(5), { stream: false }), ...more })
      const answer = JSON.stringify(WIRES[wire].whole({ calls }))
      // Five equal calls of the history are no reason to refuse one.
      const free = await sent(wire, body, { mode: 'bound', answer })
      assert.equal(free.text, answer)
      assert.deepEqual(free.report.blocked, [])
      assert.deepEqual(
        free.report.repeats.map(({ name, times }) => [name, times]),
        [['ls', 3]],
      )
      const policy = { maxTools: 2 }
      const spent = await sent(wire, body, { mode: 'bound', answer, policy })
      assert.equal(spent.requests.length, 1)
      assert.ok(spent.text.includes('call_two') && !spent.text.includes('call_three'))
      assert.deepEqual(
        spent.report.blocked.map(({ reason }) => reason),
        ['budget'],
      )
    }
  }
})

test('report.repeats: equal calls from the third on, whatever their results; none is refused for it', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const [times, expected] of [
      [1, []],
      [2, [['ls', 3]]],
      [7, [['ls', 8]]],
    ]) {
      for (const stream of [true, false]) {
        const body = JSON.stringify(
          WIRES[wire].body(
            looped(times, (n) => `at ${n}`),
            { stream },
          ),
        )
        const answer = stream
          ? WIRES[wire].stream({ calls: [LOOP] }, { n: 1, body: {} }).join('')
          : JSON.stringify(WIRES[wire].whole({ calls: [LOOP] }))
        for (const mode of MODES) {
          const { text, report } = await sent(wire, body, { mode, answer })
          assert.equal(text, answer)
          assert.deepEqual(
            report.repeats.map(({ name, times }) => [name, times]),
            expected,
          )
          assert.deepEqual(report.blocked, [])
        }
      }
    }
  }
})

/**
 * A provider with message threads: it keeps each conversation by the id of its last message, and
 * refuses a continuation that does not answer its calls.
 */
function threads(stream) {
  const kept = new Map()
  let count = 0
  return ({ text }, response) => {
    const body = JSON.parse(text)
    const before = body.thread?.type === 'continue' ? kept.get(body.thread.previous_message_id) : []
    const history = before && [...before, ...body.messages]
    const answered = new Set(
      (history ?? [])
        .flatMap(({ content }) => (Array.isArray(content) ? content : []))
        .flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' ? [id] : [])),
    )
    const asked = (history ?? [])
      .flatMap(({ role, content }) => (role === 'assistant' ? content : []))
      .filter(({ type }) => type === 'tool_use')
    if (!history || body.messages.length === 0 || asked.some(({ id }) => !answered.has(id))) {
      response.writeHead(400, { 'content-type': 'application/json' })
      const error = {
        type: 'invalid_request_error',
        message: 'tool_use ids without tool_result blocks',
      }
      return response.end(JSON.stringify({ type: 'error', error }))
    }
    const n = ++count
    const entry =
      asked.length < 2
        ? { calls: [{ id: `toolu_${n}`, name: 'ls', args: { path: `${n}` } }] }
        : { text: ['Two files.'] }
    const whole = {
      ...WIRES.messages.whole({ calls: entry.calls, text: entry.text?.[0] }),
      id: `msg_${n}`,
    }
    kept.set(whole.id, [...history, { role: 'assistant', content: whole.content }])
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
    response.end(
      stream ? WIRES.messages.stream(entry, { n, body }).join('') : JSON.stringify(whole),
    )
  }
}

for (const runtime of ['node', 'workerd']) {
  describe(`partial histories of real clients (${runtime})`, () => {
    let host
    before(async () => (host = await createHost(runtime)))
    after(() => host.close())

    for (const stream of [true, false]) {
      test(`@anthropic-ai/sdk, tool runner, ${stream ? 'stream' : 'whole'}: its threads reach an answer in every mode`, async () => {
        for (const mode of MODES) {
          const upstream = host.script(threads(stream))
          const client = new Anthropic({
            baseURL: host.url,
            apiKey: upstream.key({ mode }),
            maxRetries: 0,
          })
          const run = []
          const ls = {
            name: 'ls',
            type: 'custom',
            description: 'Lists files.',
            input_schema: { type: 'object', properties: { path: { type: 'string' } } },
            parse: (input) => input,
            run: (input) => {
              run.push(input.path)
              return 'notes.txt'
            },
          }
          const message = await client.beta.messages
            .toolRunner({
              model: 'm',
              max_tokens: 99,
              stream,
              max_iterations: 6,
              tools: [ls],
              messages: [{ role: 'user', content: 'go' }],
            })
            .runUntilDone()
          assert.equal(WIRES.messages.said(message), 'Two files.')
          assert.deepEqual(run, ['1', '2'])
          const bodies = upstream.requests.map(({ text }) => JSON.parse(text))
          assert.deepEqual(
            bodies.map(({ thread }) => thread?.type),
            ['create', 'continue', 'continue'],
          )
          const reports = await host.reports(3)
          assert.deepEqual(
            reports.map(({ history }) => history),
            ['whole', 'partial', 'partial'],
          )
          assert.deepEqual(
            reports.flatMap(({ repairs }) => repairs),
            [],
          )
        }
      })
    }

    test('openai, responses: an output that continues a response or a conversation reaches the provider', async () => {
      for (const mode of MODES) {
        for (const more of PARTIAL.slice(4)) {
          const upstream = host.script(({ text }, response) => {
            const { input } = JSON.parse(text)
            const isAnswered = input.some(({ call_id }) => call_id === 'call_1')
            response.writeHead(isAnswered ? 200 : 400, { 'content-type': 'application/json' })
            response.end(
              JSON.stringify(
                isAnswered
                  ? WIRES.responses.whole({ text: 'Done.' })
                  : { error: { message: 'No tool output found' } },
              ),
            )
          })
          const client = new OpenAI({
            baseURL: `${host.url}/v1`,
            apiKey: upstream.key({ mode }),
            maxRetries: 0,
          })
          const input = [result('responses', 'call_1')]
          const response = await client.responses.create({ model: 'm', input, ...more })
          assert.equal(response.output_text, 'Done.')
          const [{ history, repairs }] = await host.reports()
          assert.deepEqual([history, repairs], ['partial', []])
        }
      }
    })
  })
}
