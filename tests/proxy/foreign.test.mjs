// In `bound`, a response in the format of another API is refused: it has calls where nobody judges them.
// What servers send beside the documented events passes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { WIRES } from './wires.mjs'

const NAMES = Object.keys(WIRES)
const data = (json) => `data: ${typeof json === 'string' ? json : JSON.stringify(json)}\n\n`
const event = (json) => `event: ${json.type}\n${data(json)}`

async function through(wire, answer, { stream = true, mode = 'bound', status = 200 } = {}) {
  let report
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode,
    onReport: (own) => (report = own),
    fetch: async () => new Response(answer, { status }),
  })
  const body = JSON.stringify(
    WIRES[wire].body(
      [1, 2].map(() => ['ls', { n: 1 }, 'same']),
      { stream },
    ),
  )
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body }))
  return { text: await response.text(), report }
}

const call = { id: 'call_1', name: 'ls', args: '{"n":1}' }
/** Responses with one call, of other APIs. */
const OTHERS = {
  gemini: {
    candidates: [{ content: { parts: [{ functionCall: { name: 'ls', args: { n: 1 } } }] } }],
  },
  'gemini as protobuf': { content: { parts: [{ function_call: { name: 'ls', args: { n: 1 } } }] } },
  bedrock: {
    output: {
      message: { content: [{ toolUse: { toolUseId: 'c', name: 'ls', input: { n: 1 } } }] },
    },
  },
  'bedrock, a piece': { contentBlockStart: { start: { toolUse: { toolUseId: 'c', name: 'ls' } } } },
  cohere: {
    type: 'tool-call-start',
    delta: { message: { tool_calls: { id: 'c', function: { name: 'ls', arguments: '{"n":1}' } } } },
  },
  ollama: {
    message: { role: 'assistant', tool_calls: [{ function: { name: 'ls', arguments: { n: 1 } } }] },
  },
  'a page': { type: 'tool-input-available', toolName: 'ls', input: { n: 1 } },
  nothing: { hello: 1, n: '"n":1' },
}
const refused = (wire, { text, report }, about) => {
  assert.ok(!/n\\*":\s*1\b/.test(text), `${about}: ${text}`)
  assert.match(text, /proxy\.(response_format|call_form)/, about)
  assert.deepEqual(report.calls, [], about)
}

for (const wire of NAMES) {
  test(`${wire}: a response in the format of another API is refused`, async () => {
    for (const other of NAMES.filter((name) => name !== wire)) {
      const stream = WIRES[other].stream(
        { calls: [{ ...call, args: { n: 1 } }] },
        { n: 1, body: {} },
      )
      const whole = JSON.stringify(WIRES[other].whole({ calls: [{ ...call, args: { n: 1 } }] }))
      const streamed = await through(wire, stream.join(''))
      assert.deepEqual(
        [streamed.report.error, streamed.report.outcome],
        ['proxy.response_format', 'failed'],
      )
      refused(wire, streamed, other)
      for (const answer of [whole, data(whole)]) {
        const got = await through(wire, answer, { stream: answer !== whole })
        assert.equal(got.report.error, 'proxy.response_format', other)
        refused(wire, got, other)
      }
      const { text } = await through(wire, stream.join(''), { mode: 'observe' })
      assert.equal(text, stream.join(''))
    }
    for (const [name, json] of Object.entries(OTHERS)) {
      for (const answer of [JSON.stringify(json), data(json), event({ type: 'x', ...json })]) {
        const got = await through(wire, answer, { stream: answer[0] !== '{' })
        assert.equal(got.report.error, 'proxy.response_format', name)
        refused(wire, got, name)
      }
    }
    for (const answer of [data('hello'), data('7'), data('[1]'), data('{"n":1'), data('{}')]) {
      const { text, report } = await through(wire, answer)
      assert.equal(report.error, 'proxy.response_format', answer)
      assert.ok(!text.includes(answer), text)
    }
  })

  test(`${wire}: calls of another API behind events of the wire do not pass`, async () => {
    const own = WIRES[wire].stream({ text: ['Well.'] }, { n: 1, body: {} })
    for (const [name, json] of Object.entries(OTHERS)) {
      if (name === 'nothing') continue
      const sent = [own[0], data(json), ...own.slice(1)].join('')
      const { text, report } = await through(wire, sent)
      assert.ok(!/n\\*":\s*1\b/.test(text), `${name}: ${text}`)
      assert.match(report.error, /^proxy\.(response_format|call_form)$/, name)
    }
  })

  test(`${wire}: what servers send beside the documented events passes as it is`, async () => {
    const own = WIRES[wire].stream(
      { text: ['The tool_use of choices and candidates.'] },
      { n: 1, body: {} },
    )
    const beside = [
      ': OPENROUTER PROCESSING\n\n',
      data({ type: 'ping' }),
      event({ type: 'ping' }),
      event({ type: 'keepalive' }),
      data({ id: '', prompt_filter_results: [{ prompt_index: 0 }] }),
      data({ usage: { prompt_tokens: 1 } }),
      data({ x_groq: { id: 'req_1' } }),
      data({ obfuscation: 'aaaa' }),
      event({ type: 'newer.event', part: { text: 'x' } }),
    ]
    for (const frame of beside) {
      for (const sent of [
        [frame, ...own],
        [own[0], frame, ...own.slice(1)],
        [...own, frame],
      ]) {
        const { text, report } = await through(wire, sent.join(''))
        assert.deepEqual([text, report.error], [sent.join(''), undefined], frame)
      }
    }
    const failed = 'event: error\ndata: {"message":"Overloaded"}\n\n'
    assert.equal((await through(wire, failed)).text, failed)
  })

  test(`${wire}: a response that says that the request failed is not judged`, async () => {
    const entry = { calls: [{ ...call, args: { n: 1 } }] }
    for (const answer of [
      WIRES[wire].stream(entry, { n: 1, body: {} }).join(''),
      JSON.stringify(WIRES[wire].whole(entry)),
    ]) {
      for (const mode of ['observe', 'repair', 'bound']) {
        const { text, report } = await through(wire, answer, { mode, status: 400 })
        assert.equal(text, answer)
        assert.deepEqual([report.blocked, report.calls, report.status], [[], [], 400])
      }
    }
  })
}
