// The outcome of a response whose client closes the connection: complete from its terminal event on,
// cancelled before. Many clients close there (Codex, at `response.completed`).
// QuantumNous/new-api#6756 (2026-08-10): successful Responses streams are counted as cancelled, because
// the client closes after `response.completed` or `response.done`.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { createHost } from './hosts.mjs'
import { LOOP, looped, WIRES } from './wires.mjs'

const MODES = ['observe', 'repair', 'bound']
const sse = (json) => `${json.type ? `event: ${json.type}\n` : ''}data: ${JSON.stringify(json)}\n\n`
const chunk = (choices, more) =>
  sse({ id: 'c1', object: 'chat.completion.chunk', choices, ...more })
const said = (index, content) => chunk([{ index, delta: { content }, finish_reason: null }])
const finished = (index, reason = 'stop') => chunk([{ index, delta: {}, finish_reason: reason }])
const response = (status) => ({ id: 'r1', object: 'response', status, error: null, output: [] })

/** Streams: the part before the terminal event, and the terminal event. */
const ENDS = {
  chat: [
    ['[DONE]', said(0, 'Hi') + finished(0), 'data: [DONE]\n\n'],
    ['finish_reason', said(0, 'Hi'), finished(0)],
    [
      'finish_reason of the last choice',
      said(0, 'a') + said(1, 'b') + finished(0),
      finished(1, 'length'),
      { n: 2 },
    ],
    ['error', said(0, 'Hi'), sse({ error: { message: 'overloaded', code: 502 } })],
  ],
  responses: ['completed', 'incomplete', 'failed', 'cancelled', 'done'].map((status) => [
    status,
    sse({ type: 'response.created', sequence_number: 0, response: response('in_progress') }) +
      sse({
        type: 'response.output_text.delta',
        sequence_number: 1,
        delta: 'data: [DONE] response.completed',
      }),
    sse({ type: `response.${status}`, sequence_number: 2, response: response(status) }),
  ]),
  messages: [
    [
      'message_stop',
      sse({
        type: 'message_start',
        message: { id: 'm1', content: [], usage: { input_tokens: 1, output_tokens: 1 } },
      }) +
        sse({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: '{"type":"message_stop"}' },
        }) +
        sse({
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: 2 },
        }),
      sse({ type: 'message_stop' }),
    ],
    [
      'error',
      sse({ type: 'ping' }),
      sse({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }),
    ],
  ],
}

/** Posts, and closes the connection once a text has arrived. */
const closeAt = (url, key, body, text) =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const request = httpRequest(url, { method: 'POST', headers, agent: false }, (answer) => {
      let got = ''
      answer.setEncoding('utf8').on('data', (piece) => {
        got += piece
        if (!got.includes(text)) return
        request.destroy()
        resolve()
      })
      answer.on('error', () => {})
      answer.on('end', () => reject(new Error(`ended before the client closed: ${got}`)))
    })
    request.on('error', () => {})
    request.end(JSON.stringify(body))
  })

for (const runtime of ['node', 'workerd', 'deno', 'bun']) {
  describe(`outcome (${runtime})`, () => {
    let host
    before(async () => (host = await createHost(runtime)))
    after(() => host.close())

    for (const [wire, ends] of Object.entries(ENDS)) {
      for (const [name, start, terminal, more] of ends) {
        test(`${wire}: a client that closes at ${name} has a complete response, before it a cancelled one`, async () => {
          for (const mode of MODES) {
            for (const [sent, outcome] of [
              [start, 'cancelled'],
              [start + terminal, 'complete'],
              // A comment after the terminal event changes nothing.
              [`${start + terminal}: bye\n\n`, 'complete'],
            ]) {
              // `[DONE]` follows a finish reason, so the response is complete before it.
              if (name === '[DONE]' && outcome === 'cancelled') continue
              // The provider keeps its connection open. workerd sees at a write that a client left.
              const upstream = host.script((_, answer) => {
                answer.writeHead(200, { 'content-type': 'text/event-stream' })
                answer.write(sent)
                const timer = setInterval(() => answer.write(': open\n\n'), 20)
                answer.on('close', () => clearInterval(timer))
              })
              const body = { ...WIRES[wire].body([]), ...more }
              await closeAt(host.url + WIRES[wire].path, upstream.key({ mode }), body, sent)
              const [report] = await host.reports()
              assert.equal(report.outcome, outcome, `${mode} ${JSON.stringify(sent.slice(-60))}`)
              assert.equal(report.error, undefined)
            }
          }
        })
      }
    }
  })
}

test('a terminal event that `bound` withholds has not passed', async () => {
  for (const wire of Object.keys(WIRES)) {
    const reports = []
    let attempts = 0
    const proxy = createProxy({
      upstream: 'https://provider.example',
      authorize: () => ({ tenant: 'me' }),
      mode: 'bound',
      onReport: (report) => reports.push(report),
      limits: { keepAliveMs: 5 },
      // The second response, which is to end the stream, does not begin.
      fetch: (_, { signal }) =>
        attempts++ === 0
          ? new Response(
              WIRES[wire].stream({ text: ['Well. '], calls: [LOOP] }, { n: 1, body: {} }).join(''),
            )
          : new Promise((_resolve, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason)),
            ),
    })
    const body = JSON.stringify(WIRES[wire].body(looped(2)))
    const url = `https://edge.example${WIRES[wire].path}`
    const { body: stream } = await proxy(new Request(url, { method: 'POST', body }))
    const reader = stream.getReader()
    for (let text = ''; !text.includes('Well');) text += Buffer.from((await reader.read()).value)
    await reader.read()
    await reader.cancel()
    assert.equal(reports[0].outcome, 'cancelled', wire)
  }
})

test('the terminal event may arrive in pieces, in any line ends, and is found in each', async () => {
  for (const [wire, ends] of Object.entries(ENDS)) {
    for (const [name, start, terminal, more] of ends) {
      for (const lineEnd of ['\n', '\r\n', '\r']) {
        for (const size of [1, 7, 64]) {
          const bytes = Buffer.from((start + terminal).replaceAll('\n', lineEnd))
          const reports = []
          const proxy = createProxy({
            upstream: 'https://provider.example',
            authorize: () => ({ tenant: 'me' }),
            onReport: (report) => reports.push(report),
            fetch: async () => {
              let at = 0
              const pull = (controller) => {
                if (at >= bytes.length) return new Promise(() => {})
                controller.enqueue(bytes.subarray(at, (at += size)))
              }
              return new Response(new ReadableStream({ pull }))
            },
          })
          const body = JSON.stringify({ ...WIRES[wire].body([]), ...more })
          const url = `https://edge.example${WIRES[wire].path}`
          const { body: stream } = await proxy(new Request(url, { method: 'POST', body }))
          const reader = stream.getReader()
          // A line feed that may belong to the line end before it waits for the next bytes.
          for (let got = 0; got < bytes.length - 1;) got += (await reader.read()).value.length
          await reader.cancel()
          assert.equal(reports[0].outcome, 'complete', `${wire} ${name} ${size}`)
        }
      }
    }
  }
})

/** More than the bytes of a frame that is read, by several pieces. */
const LONG = 'x'.repeat(5 * 1024 * 1024)

test('a terminal event that is too long to be read, or follows such a frame, has passed once its client has it', async () => {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: `"${LONG}` }] }]
  const type = 'response.completed'
  const frames = {
    responses: [
      sse({ type, response: { ...response('completed'), output } }),
      // Its type stands behind the response.
      `data: ${JSON.stringify({ response: { ...response('completed'), output }, type })}\n\n`,
      sse({ type: 'response.output_text.done', text: LONG }) + sse({ type, response: {} }),
    ],
    messages: [
      sse({ type: 'content_block_delta', delta: { text: LONG } }) + sse({ type: 'message_stop' }),
    ],
    chat: [
      said(0, LONG) + finished(0) + finished(1),
      finished(0) + said(0, LONG) + finished(1),
      said(0, `"finish_reason":"stop" ${LONG}`) + 'data: [DONE]\n\n',
    ],
  }
  for (const [wire, all] of Object.entries(frames)) {
    for (const sent of all) {
      for (const lineEnd of ['\n', '\r\n', '\r']) {
        const bytes = Buffer.from(sent.replaceAll('\n', lineEnd))
        for (const size of [300_007]) {
          // Some bytes before the end of the frame, and behind it.
          for (const [missing, outcome] of [
            [0, 'complete'],
            [3 * lineEnd.length, 'cancelled'],
          ]) {
            const reports = []
            const proxy = createProxy({
              upstream: 'https://provider.example',
              authorize: () => ({ tenant: 'me' }),
              onReport: (report) => reports.push(report),
              fetch: async () => {
                let at = 0
                const end = bytes.length - missing
                const pull = (controller) => {
                  if (at >= end) return new Promise(() => {})
                  controller.enqueue(bytes.subarray(at, Math.min((at += size), end)))
                }
                return new Response(new ReadableStream({ pull }))
              },
            })
            const body = JSON.stringify({
              ...WIRES[wire].body([]),
              ...(wire === 'chat' && { n: 2 }),
            })
            const url = `https://edge.example${WIRES[wire].path}`
            const { body: stream } = await proxy(new Request(url, { method: 'POST', body }))
            const reader = stream.getReader()
            const got = []
            for (let left = bytes.length - missing; left > 0;) {
              const { value } = await reader.read()
              got.push(value)
              left -= value.length
            }
            await reader.cancel()
            assert.ok(Buffer.concat(got).equals(bytes.subarray(0, bytes.length - missing)))
            assert.equal(reports[0].outcome, outcome, `${wire} ${sent.slice(0, 90)} ${size}`)
          }
        }
      }
    }
  }
})

test('a frame that the proxy ends a rewritten response with has the members of that response', async () => {
  // The provider's stream ends without its last events, and the second response fails.
  const head = {
    id: 'x-1',
    created: 7,
    model: 'own-model',
    object: 'chat.completion.chunk',
    system_fingerprint: 'fp',
    service_tier: 'flex',
  }
  const args = JSON.stringify(LOOP.args)
  const call = {
    index: 0,
    id: LOOP.id,
    type: 'function',
    function: { name: 'ls', arguments: args },
  }
  const created = {
    id: 'resp-1',
    object: 'response',
    created_at: 7,
    model: 'own-model',
    status: 'in_progress',
    metadata: { a: 'b' },
    output: [],
  }
  const item = { id: 'fc_1', type: 'function_call', call_id: LOOP.id, name: 'ls', arguments: args }
  const streams = {
    chat:
      // Azure's first chunk, about the prompt, has no id.
      sse({
        id: '',
        created: 0,
        model: '',
        object: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0 }],
      }) +
      sse({
        ...head,
        choices: [
          { index: 0, delta: { role: 'assistant', tool_calls: [call] }, finish_reason: null },
        ],
        usage: null,
      }),
    responses:
      sse({ type: 'response.in_progress', sequence_number: 0, response: created }) +
      sse({ type: 'response.output_item.done', sequence_number: 1, output_index: 0, item }),
    messages:
      sse({
        type: 'message_start',
        message: {
          id: 'msg-1',
          model: 'own-model',
          content: [],
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      }) +
      sse({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: LOOP.id, name: 'ls', input: LOOP.args },
      }) +
      sse({ type: 'content_block_stop', index: 0 }),
  }
  for (const wire of Object.keys(WIRES)) {
    let attempts = 0
    const proxy = createProxy({
      upstream: 'https://provider.example',
      authorize: () => ({ tenant: 'me' }),
      mode: 'bound',
      fetch: async () => new Response(streams[wire], { status: attempts++ ? 503 : 200 }),
    })
    const body = JSON.stringify(WIRES[wire].body(looped(2)))
    const url = `https://edge.example${WIRES[wire].path}`
    const text = await (await proxy(new Request(url, { method: 'POST', body }))).text()
    const all = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data))
    assert.ok(!text.includes(LOOP.id), text)
    const last = all.at(-1)
    if (wire === 'chat') {
      const { choices, ...members } = last
      assert.deepEqual(members, head)
      assert.deepEqual(choices, [{ index: 0, delta: {}, finish_reason: 'stop' }])
      assert.ok(text.endsWith('data: [DONE]\n\n'))
    }
    if (wire === 'responses') {
      const { output, ...members } = last.response
      assert.equal(last.type, 'response.completed')
      const { output: _, ...expected } = { ...created, status: 'completed' }
      assert.deepEqual(members, expected)
      assert.equal(output.length, 1)
    }
    if (wire === 'messages') {
      assert.deepEqual(
        all.slice(-2).map(({ type }) => type),
        ['message_delta', 'message_stop'],
      )
      assert.equal(all.at(-2).usage.input_tokens, 3)
    }
  }
})
