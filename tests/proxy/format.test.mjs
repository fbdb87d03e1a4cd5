// In `bound`, no client finds a call in bytes that the proxy does not read, however it reads them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { createProxy } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

const NAMES = Object.keys(WIRES)
const UTF8 = 'text/event-stream'

async function through(wire, bytes, { body = {}, type = UTF8, mode = 'bound', policy } = {}) {
  const requests = []
  let report
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode,
    policy: policy ?? { maxTools: 0 },
    onReport: (own) => (report = own),
    fetch: async (_, { body: sent }) => {
      const headers = { 'content-type': type }
      return new Response(requests.push(Buffer.from(sent).toString()) === 1 ? bytes : '', {
        headers,
      })
    },
  })
  const sent = JSON.stringify({ ...WIRES[wire].body([]), ...body })
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body: sent }))
  const got = Buffer.from(await response.arrayBuffer())
  return { got, text: got.toString(), report, response }
}

// A client that is as lenient as any.

const swapped = (bytes) => Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16()
const utf32 = (text, isLittle) => {
  const bytes = Buffer.alloc([...text].length * 4)
  const write = isLittle ? 'writeUInt32LE' : 'writeUInt32BE'
  for (const [at, character] of [...text].entries()) bytes[write](character.codePointAt(0), at * 4)
  return bytes
}
const fromUtf32 = (bytes, isLittle) => {
  const read = isLittle ? 'readUInt32LE' : 'readUInt32BE'
  const codes = Array.from({ length: bytes.length >> 2 }, (_, at) => bytes[read](at * 4))
  return codes.map((code) => (code <= 0x10ffff ? String.fromCodePoint(code) : '?')).join('')
}
const ENCODINGS = {
  'UTF-8': [(text) => Buffer.from(text), (bytes) => bytes.toString()],
  'UTF-16LE': [(text) => Buffer.from(text, 'utf16le'), (bytes) => bytes.toString('utf16le')],
  'UTF-16BE': [
    (text) => swapped(Buffer.from(text, 'utf16le')),
    (bytes) => swapped(bytes).toString('utf16le'),
  ],
  'UTF-32LE': [(text) => utf32(text, true), (bytes) => fromUtf32(bytes, true)],
  'UTF-32BE': [(text) => utf32(text, false), (bytes) => fromUtf32(bytes, false)],
}
const CODES = { 'UTF-7': (text) => text.replaceAll('{', '+AHs-').replaceAll('"', '+ACI-') }

/** Whether a value has a call, in whatever place. */
const hasCall = (value) =>
  typeof value === 'object' &&
  value !== null &&
  (/^(tool_use|.*_call)$/.test(value.type) ||
    [value.tool_calls, value.function_call].some((own) => Object.keys(own ?? {}).length > 0) ||
    Object.values(value).some(hasCall))

/** Whether any client reads a call: in any encoding, of any line. */
function readsCall(bytes) {
  const texts = Object.values(ENCODINGS).map(([, decode]) => decode(bytes))
  texts.push(bytes.toString('latin1'))
  const lines = texts.flatMap((text) => [
    text,
    ...text.split(/[\n\r\f\v\x1c-\x1e\x85\u2028\u2029]/),
  ])
  return lines.some((line) => {
    const data = line.replace(/^[^{[]*/, '')
    try {
      return hasCall(JSON.parse(data))
    } catch {
      return false
    }
  })
}

const CALL = { id: 'call_1', name: 'pay', args: { n: 1 } }
const streamOf = (wire, entry) => WIRES[wire].stream(entry, { n: 1, body: {} })
const SEPARATORS = ['\f', '\v', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029']
const shown = (text) =>
  JSON.stringify(text).replace(/[\x7f-\uffff]/g, (own) => `U+${own.charCodeAt(0).toString(16)}`)

/** How the lines of a stream are spoiled. */
const SPOILED = {
  'a space before data': (line) => ` ${line}`,
  'a tab before data': (line) => `\t${line}`,
  'a no-break space before data': (line) => `\u00a0${line}`,
  'a mark before data': (line) => `\ufeff${line}`,
  'DATA in capitals': (line) => line.replace('data:', 'DATA:'),
  'Data with a capital': (line) => line.replace('data:', 'Data:'),
  'a space behind data': (line) => line.replace('data:', 'data :'),
  'no data': (line) => line.replace('data: ', ''),
  'a field that nobody knows': (line) => line.replace('data:', 'payload:'),
  'a comment': (line) => line.replace('data:', ':'),
  'an id': (line) => line.replace('data:', 'id:'),
  'a zero byte': (line) => line.replace('data:', 'data\0:'),
  ...Object.fromEntries(
    SEPARATORS.flatMap((separator) => [
      [`a comment and ${shown(separator)}`, (line) => `: x${separator}${line}`],
      [`an id and ${shown(separator)}`, (line) => `id: 1${separator}${line}`],
      [`an event and ${shown(separator)}`, (line) => `event: x${separator}${line}`],
      [`other data and ${shown(separator)}`, (line) => `data: {}${separator}${line}`],
      [
        `${shown(separator)} at both ends`,
        (line) => `: x${separator}${separator}${line}${separator}`,
      ],
    ]),
  ),
}

for (const wire of NAMES) {
  const frames = streamOf(wire, { calls: [CALL] })
  const whole = JSON.stringify(WIRES[wire].whole({ calls: [CALL] }))

  test(`${wire}: no client reads a call in a stream whose lines are spoiled`, async () => {
    for (const [name, spoil] of Object.entries(SPOILED)) {
      const spoiled = frames.map((frame) => frame.replace(/^data: .*/m, spoil))
      for (const sent of [spoiled, ['x\n', ...spoiled], [': x\n\n', ...spoiled]]) {
        const bytes = Buffer.from(sent.join(''))
        const { got, report } = await through(wire, bytes)
        assert.ok(!readsCall(got), `${name}: ${got}`)
        assert.match(report.error, /^proxy\.(call_form|response_format)$/, name)
      }
    }
  })

  test(`${wire}: a response in another encoding is refused`, async () => {
    for (const body of [frames.join(''), whole]) {
      for (const [name, [encode]] of Object.entries(ENCODINGS).slice(1)) {
        for (const mark of ['', '\ufeff']) {
          const { got, report } = await through(wire, encode(mark + body))
          assert.ok(!readsCall(got), name)
          assert.deepEqual(
            [report.error, report.outcome],
            ['proxy.response_format', 'failed'],
            name,
          )
        }
      }
      for (const charset of ['utf-16', 'UTF-16LE', '"utf-32"', 'utf-7', 'cp037', 'x-own']) {
        const type = `text/event-stream; charset=${charset}`
        const { response, text, report } = await through(wire, CODES['UTF-7'](body), { type })
        assert.deepEqual([response.status, report.status], [502, 502], charset)
        assert.equal(JSON.parse(text).error.code, 'proxy.response_format')
      }
      for (const charset of ['utf-8', 'UTF8', '"us-ascii"', 'iso-8859-1']) {
        const type = `text/event-stream; charset=${charset}`
        const policy = {}
        const { text, report } = await through(wire, body, { type, policy })
        assert.deepEqual([text, report.error], [body, undefined])
      }
    }
  })

  test(`${wire}: bytes that are not UTF-8 are refused, wherever they stand`, async () => {
    const [first, ...rest] = streamOf(wire, { text: ['Well.'] }).map((frame) => Buffer.from(frame))
    for (const odd of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x80]]) {
      const comment = Buffer.concat([Buffer.from(': '), Buffer.from(odd), Buffer.from('\n\n')])
      const sent = Buffer.concat([first, comment, ...rest])
      const { text, report } = await through(wire, sent)
      assert.deepEqual([report.error, report.outcome], ['proxy.response_format', 'failed'])
      assert.match(text, /proxy\.response_format/)
      for (const mode of ['observe', 'repair']) {
        const passed = await through(wire, sent, { mode })
        assert.ok(passed.got.equals(sent))
        assert.equal(passed.report.error, undefined)
      }
    }
  })

  test(`${wire}: lines of JSON are refused behind a line that is none`, async () => {
    const lines = frames.flatMap((frame) => /^data: (\{.*)$/m.exec(frame)?.[1] ?? [])
    for (const before of [
      'hello',
      '[]',
      '',
      ': x',
      'data: {}\n',
      '{"a":1}',
      '<html>',
      '"x"',
      '7',
    ]) {
      for (const all of [lines, [whole]]) {
        const { got, report } = await through(wire, [before, ...all, ''].join('\n'))
        assert.ok(!readsCall(got), `${before}: ${got}`)
        // White space before JSON is JSON.
        if (before === '' && all.length === 1) assert.equal(report.error, undefined)
        else assert.match(report.error, /^proxy\.(call_form|response_format)$/, before)
      }
    }
  })

  test(`${wire}: data in several lines, of which one is a call, is written in one`, async () => {
    const call = frames.flatMap(
      (frame) => /^data: (\{.*(tool_use|_call).*)$/m.exec(frame)?.[1] ?? [],
    )
    for (const json of call) {
      for (const member of ['input', 'metadata', 'x', 'content']) {
        const sent = `data: {"type":"x","${member}":[\ndata: ${json}\ndata: ]}\n\n`
        const { text } = await through(wire, sent)
        assert.ok(!text.split('\n').some((line) => line === `data: ${json}`), text)
      }
    }
  })

  test(`${wire}: a refusal has the form of the API's errors`, async () => {
    for (const [stream, body] of [
      [true, `x\n${frames.join('')}`],
      [true, `[${whole}]`],
      [false, `x\n${frames.join('')}`],
      [false, `[${whole}]`],
      [false, '<html>Bad gateway</html>'],
    ]) {
      const { text, report, response } = await through(wire, body, { body: { stream } })
      assert.deepEqual([response.status, report.error], [200, 'proxy.response_format'])
      const last = stream ? text.split('\n').findLast((line) => line.startsWith('data: {')) : text
      const json = JSON.parse(last.replace('data: ', ''))
      const error = json.error ?? json.response?.error ?? json
      assert.equal(error.code, 'proxy.response_format')
      assert.match(error.message, /not in the format of this API in UTF-8/)
      if (wire === 'messages') assert.equal(json.type, 'error')
    }
  })

  test(`${wire}: a marker of a call within a text is none`, async () => {
    const texts = [
      'The field "tool_calls" is a list; {"type":"tool_use","name":"pay"} is a block.',
      'function_call, custom_tool_call, mcp_approval_request, partial_json',
      'data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}\n\ndata: [DONE]\n\n',
      `a\u2028data: {"type":"tool_use"}\u0085: tool_use\f\v`,
      '\ufeff{"tool_calls":[1]}',
    ]
    for (const text of texts) {
      const sent = streamOf(wire, { text: [text, text] }).join('')
      const { text: got, report } = await through(wire, sent)
      assert.deepEqual([got, report.error, report.blocked], [sent, undefined, []])
      const json = JSON.stringify(WIRES[wire].whole({ text }))
      // A member that is written twice, which no client takes for a call.
      for (const body of [json, json.replace('{', '{"x":1,"x":2,')]) {
        const passed = await through(wire, body, { body: { stream: false } })
        assert.deepEqual([passed.text, passed.report.error], [body, undefined])
      }
    }
  })
}

test('an answer that was requested without calls, and is not in the format, gets a notice', async () => {
  for (const wire of NAMES) {
    const [first, ...rest] = streamOf(wire, { text: ['Well.'], calls: [CALL] })
    for (const answer of ['<html>Bad gateway</html>', `${first} x\n\n${rest.join('')}`]) {
      let requests = 0
      let report
      const proxy = createProxy({
        upstream: 'https://provider.example',
        authorize: () => ({ tenant: 'me' }),
        mode: 'bound',
        onReport: (own) => (report = own),
        fetch: async () =>
          new Response(requests++ ? answer : streamOf(wire, { calls: [LOOP] }).join('')),
      })
      const body = JSON.stringify(WIRES[wire].body(looped(2)))
      const url = `https://edge.example${WIRES[wire].path}`
      const response = await proxy(new Request(url, { method: 'POST', body }))
      const text = await response.text()
      assert.match(text, /The call to ls did not run/)
      assert.doesNotMatch(text, /call_1|call_again|Bad gateway/)
      assert.equal(report.outcome, 'complete')
    }
  }
})

test('what a provider may write in a stream passes byte for byte', async () => {
  for (const sent of [
    '\ufeffdata: {"choices":[]}\n\n',
    ': OPENROUTER PROCESSING\n\ndata: {"choices":[]}\n\n',
    '\n\n\n',
    '   \n\ndata: [DONE]\n\n',
    'retry: 3000\nid: 7\nevent: message\ndata:{"choices":[]}\n\ndata\n\n',
    'x-own: 1\ndata: {"choices":[]}\r\n\r\nevent:\rdata: é\u2028\r\r',
  ]) {
    const { got, report } = await through('chat', Buffer.from(sent))
    assert.deepEqual([got.toString(), report.error], [sent, undefined])
  }
})

test('official clients reject a response that is not in the format of its API', async () => {
  const bytes = ENCODINGS['UTF-16LE'][0](streamOf('chat', { calls: [CALL] }).join(''))
  const fetch = async (url, init) => {
    const wire = NAMES.find((name) => new URL(url).pathname === WIRES[name].path)
    const { got } = await through(wire, bytes, { body: JSON.parse(init.body) })
    return new Response(got, { headers: { 'content-type': UTF8 } })
  }
  const options = { apiKey: 'k', fetch, maxRetries: 0 }
  const openai = new OpenAI({ ...options, baseURL: 'https://edge.example/v1' })
  const anthropic = new Anthropic({ ...options, baseURL: 'https://edge.example' })
  const { stream: _, ...body } = WIRES.messages.body([])
  await assert.rejects(
    openai.chat.completions.stream(WIRES.chat.body([])).finalChatCompletion(),
    /format of this API/,
  )
  await assert.rejects(anthropic.messages.stream(body).finalMessage(), /format of this API/)
})

test('the type of an event writes no line but its own', async () => {
  const types = ['\n', '\r', '\r\n', '\u2028', '\n\n', ' '].flatMap((line) => [
    `x${line}data: {"type":"evil"}${line}${line}`,
    `${line}event: evil${line}data: {}`,
    `${line}${line}data: {"type":"evil","choices":[]}${line}${line}`,
  ])
  for (const wire of ['messages', 'responses']) {
    const repeated = streamOf(wire, { text: ['Well.'], calls: [LOOP] })
    for (const type of [...types, 7, null, {}, '', 'message_start\n', 'ping ']) {
      const odd = `data: ${JSON.stringify({ type, own: true })}\n\n`
      // Behind the call, the stream is written anew.
      const sent = [...repeated.slice(0, -1), odd, ...repeated.slice(-1)].join('')
      const body = WIRES[wire].body(looped(2))
      const { text } = await through(wire, sent, { body, policy: { maxRepeats: 2, maxTools: 99 } })
      assert.ok(!text.includes(LOOP.id))
      for (const line of text.split(/[\n\r]/)) {
        assert.match(line, /^(|event: [A-Za-z0-9_.]+|data: (\{[^]*\}|\[DONE\]))$/)
        assert.notEqual(line, 'event: evil')
        const json = line.startsWith('data: {') ? JSON.parse(line.slice(6)) : {}
        assert.notEqual(json.type, 'evil')
      }
    }
  }
})
