// The proxy over generated histories, streams, chunk boundaries and policies.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import { signature } from 'turnlock'
import { createProxy } from 'turnlock/proxy'
import * as anthropic from '../../pkg/dist/testing/provider/wire/anthropic.js'
import * as openaiChat from '../../pkg/dist/testing/provider/wire/openai-chat.js'
import * as openaiResponses from '../../pkg/dist/testing/provider/wire/openai-responses.js'
import { WIRES } from '../proxy/wires.mjs'
import { anyCharacter } from './any-character.mjs'
import { cutAt, cuts, holds } from './hold.mjs'

const VIOLATION = {
  chat: openaiChat.violation,
  messages: anthropic.violation,
  responses: openaiResponses.violation,
}
const NAMES = Object.keys(WIRES)
const encode = (text) => new TextEncoder().encode(text)
const wires = fc.constantFrom(...NAMES)

const streamOf = (pieces) =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) if (piece.length) controller.enqueue(new Uint8Array(piece))
      controller.close()
    },
  })

/** A proxy, what it was asked by its client and asked of its provider, and its reports. */
function proxied(options, answers) {
  const [asked, reports, errors] = [[], [], []]
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => reports.push(report),
    onError: (error) => errors.push(error),
    fetch: async (_, init) => {
      asked.push(Buffer.from(init.body).toString())
      const pieces = answers(JSON.parse(asked.at(-1)), asked.length)
      const type = 'text/event-stream'
      return new Response(streamOf(pieces), { headers: { 'content-type': type } })
    },
    ...options,
  })
  return { proxy, asked, reports, errors }
}

const post = (proxy, wire, body) =>
  proxy(new Request(`https://edge.example${WIRES[wire].path}`, { method: 'POST', body }))

// Streams.

const line = fc.oneof(
  ...[': ping', 'event: ping', 'data:', 'data: [DONE]', 'data: null', 'retry: 7', 'id: 1', 'x'].map(
    (text) => fc.constant(text),
  ),
  fc.string({ unit: anyCharacter, maxLength: 12 }).map((text) => `data: ${text}`),
  fc.json({ maxDepth: 3 }).map((json) => `data: ${json}`),
  fc
    .constantFrom('tool_calls', 'usage', 'finish_reason', 'content_block_start', 'response.created')
    .chain((word) => fc.json({ maxDepth: 2 }).map((json) => `data: {"${word}":${json}}`)),
)
const ends = fc.constantFrom('\n\n', '\r\n\r\n', '\n', '\r\n', '\r', '\r\r', '\n\r\n')
const anything = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.array(fc.tuple(line, ends), { maxLength: 20 }).map((all) => encode(all.flat().join(''))),
)

test('what is observed or repaired passes byte for byte, whatever it is and however it is cut', async () => {
  const property = fc.asyncProperty(
    wires,
    fc.constantFrom('observe', 'repair'),
    anything,
    cuts,
    fc.nat(3),
    async (wire, mode, bytes, where, maxTools) => {
      const policy = { maxRepeats: 1, maxTools }
      const { proxy, reports } = proxied({ mode, policy }, () => cutAt(bytes, where))
      const body = JSON.stringify(WIRES[wire].body([['ls', {}, 'same']]))
      const response = await post(proxy, wire, body)
      assert.equal(response.status, 200)
      const came = Buffer.from(await response.arrayBuffer())
      assert.ok(came.equals(bytes), 'the bytes differ')
      assert.deepEqual([reports.length, reports[0].outcome], [1, 'complete'])
      assert.equal(reports[0].bytes.response, bytes.length)
    },
  )
  await holds('observed bytes', property, 400)
})

const args = fc.constantFrom({}, { path: '.' }, { path: 'é😀', deep: true }, { n: 1 })
const pieces = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }), {
  maxLength: 3,
})
const called = fc.record({ name: fc.constantFrom('ls', 'cat'), args })
const entries = fc.record({
  reasoning: pieces,
  text: pieces,
  textAfter: pieces,
  calls: fc
    .array(called, { maxLength: 4 })
    .map((all) => all.map((call, at) => ({ id: `call_new_${at}`, ...call }))),
})
const past = fc.array(fc.tuple(fc.constantFrom('ls', 'cat'), args, fc.constantFrom('a', 'b')), {
  maxLength: 5,
})
const policies = fc.record({
  maxRepeats: fc.integer({ min: 1, max: 3 }),
  maxTools: fc.option(fc.nat(6), { nil: undefined }),
})

/** Which calls may run, by the words of the documentation. */
function allowed(calls, history, { maxRepeats, maxTools = Infinity }) {
  const last = new Map()
  for (const [name, own, result] of history) {
    const key = signature({ tool: name, args: own })
    const before = last.get(key)
    last.set(key, before?.result === result ? { result, n: before.n + 1 } : { result, n: 1 })
  }
  let left = maxTools - history.length
  return calls.filter(({ name, args: own }) => {
    if ((last.get(signature({ tool: name, args: own }))?.n ?? 0) >= maxRepeats) return false
    return left-- > 0
  })
}

/** What the official client of a wire makes of the proxy's answer. */
const READ = {
  async chat(fetch, body) {
    const client = new OpenAI({
      apiKey: 'k',
      baseURL: 'https://edge.example/v1',
      fetch,
      maxRetries: 0,
    })
    const made = await client.chat.completions.stream(body).finalChatCompletion()
    const [{ message, finish_reason: end }] = made.choices
    const calls = (message.tool_calls ?? []).map((call) => [
      call.id,
      call.function.name,
      JSON.parse(call.function.arguments),
    ])
    return { text: message.content ?? '', calls, end }
  },
  async messages(fetch, { stream: _, ...body }) {
    const client = new Anthropic({
      apiKey: 'k',
      baseURL: 'https://edge.example',
      fetch,
      maxRetries: 0,
    })
    const made = await client.messages.stream(body).finalMessage()
    return {
      text: made.content.flatMap((block) => block.text ?? []).join(''),
      calls: made.content.flatMap((block) =>
        block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [],
      ),
      end: made.stop_reason,
    }
  },
  async responses(fetch, body) {
    const client = new OpenAI({
      apiKey: 'k',
      baseURL: 'https://edge.example/v1',
      fetch,
      maxRetries: 0,
    })
    const made = await client.responses.stream(body).finalResponse()
    const calls = made.output.filter(({ type }) => type === 'function_call')
    return {
      text: WIRES.responses.said(made),
      calls: calls.map((item) => [item.call_id, item.name, JSON.parse(item.arguments)]),
      end: made.status,
    }
  },
}
const ENDS = { chat: 'stop', messages: 'end_turn', responses: 'completed' }
const CALLS_END = { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' }

test('what is bounded is a stream that the official clients read, with the calls that may run', async () => {
  const second = fc.constantFrom('answer', 'answer', 'calls', 'nothing')
  const property = fc.asyncProperty(
    wires,
    entries,
    past,
    policies,
    cuts,
    second,
    fc.boolean(),
    async (wire, entry, history, policy, where, then, interleaved) => {
      const { stream, none, body: bodyOf } = WIRES[wire]
      const frames = (own, body, n = 1) => {
        const made = stream(own, { n, body })
        return encode((interleaved ? INTERLEAVED[wire](made) : made).join(''))
      }
      const kept = allowed(entry.calls, history, policy)
      const isAsked = kept.length === 0 && entry.calls.length > 0
      const answer = (body, times) => {
        if (!none(body)) return cutAt(frames(entry, body), where)
        if (then === 'nothing') return []
        const calls = then === 'calls' ? [{ id: 'call_second', name: 'ls', args: {} }] : []
        return cutAt(frames({ text: ['The answer.'], calls }, body, times), where)
      }
      const { proxy, asked, reports, errors } = proxied({ mode: 'bound', policy }, answer)
      const isSpent = policy.maxTools !== undefined && history.length >= policy.maxTools
      // An answer that is empty is no answer of the provider either.
      fc.pre(!(isSpent && then === 'nothing'))
      let raw
      const through = async (url, init) => {
        const response = await proxy(new Request(url, { ...init, signal: null }))
        raw = await response.clone().text()
        return response
      }
      const { text, calls, end } = await READ[wire](through, bodyOf(history))
      assert.deepEqual(errors, [])
      assert.equal(reports.length, 1)
      const said = entry.text.concat(entry.textAfter).join('')
      if (isSpent) {
        assert.deepEqual([calls, asked.length, text], [[], 1, 'The answer.'])
        assert.equal(end, ENDS[wire])
      } else if (isAsked) {
        assert.deepEqual([calls, asked.length], [[], 2])
        assert.equal(end, ENDS[wire])
        if (then !== 'nothing') assert.equal(text, `${said}The answer.`)
        else assert.ok(text.startsWith(said) && text !== '', text)
      } else {
        const expected = kept.map(({ id, name, args: own }) => [id, name, own])
        assert.deepEqual([calls, asked.length, text], [expected, 1, said])
        assert.equal(end, kept.length ? CALLS_END[wire] : ENDS[wire])
        if (kept.length === entry.calls.length) {
          assert.equal(raw, Buffer.from(frames(entry, JSON.parse(asked[0]))).toString())
        }
      }
      // Chunk boundaries mean nothing.
      const whole = proxied({ mode: 'bound', policy }, (body, times) => [
        Buffer.concat(answer(body, times)),
      ])
      const at = await post(
        whole.proxy,
        wire,
        asked[0].replace(/,?"tool_choice":("none"|{[^}]*})/, ''),
      )
      if (!isSpent) assert.equal(await at.text(), raw)
      else await at.text()
    },
  )
  await holds('bounded streams', property, 400)
})

/** The frames of calls that are open at once, in turns; nothing says that they come one by one. */
const INTERLEAVED = {
  chat: (frames) => mixed(frames, (json) => json.choices?.[0]?.delta?.tool_calls?.[0]?.index),
  messages: (frames) => mixed(frames, callIndex('content_block_start', 'content_block', 'index')),
  responses: (frames) =>
    mixed(frames, callIndex('response.output_item.added', 'item', 'output_index')),
}

function callIndex(start, item, place) {
  const calls = new Set()
  return (json) => {
    if (json.type === start && /^(tool_use|function_call)$/.test(json[item].type))
      calls.add(json[place])
    return calls.has(json[place]) ? json[place] : undefined
  }
}

/** Frames of calls in turns, each call's in its own order, where its first one begins in order. */
function mixed(frames, callOf) {
  const lanes = new Map()
  const [before, after] = [[], []]
  for (const frame of frames) {
    const data = /^data: ({[^\n]*)/m.exec(frame)?.[1]
    const call = data === undefined ? undefined : callOf(JSON.parse(data))
    if (call !== undefined) lanes.set(call, [...(lanes.get(call) ?? []), frame])
    else (lanes.size ? after : before).push(frame)
  }
  const all = [...lanes.values()]
  const longest = Math.max(0, ...all.map((lane) => lane.length))
  const turns = Array.from({ length: longest }, (_, at) => all.flatMap((lane) => lane[at] ?? []))
  let number = 0
  return [...before, ...turns.flat(), ...after].map((frame) =>
    frame.replace(/"sequence_number":\d+/, () => `"sequence_number":${number++}`),
  )
}

// Histories.

const ids = fc.constantFrom('c1', 'c2', 'c3')
const steps = fc.oneof(
  fc.record({ kind: fc.constant('user'), text: fc.constantFrom('go', 'on', '') }),
  fc.record({ kind: fc.constant('said'), text: fc.constantFrom('Well.', '') }),
  fc.record({
    kind: fc.constant('calls'),
    ids: fc.array(ids, { minLength: 1, maxLength: 3 }),
    args,
  }),
  fc.record({ kind: fc.constant('result'), id: ids, text: fc.constantFrom('ok', '') }),
)
/** The elements of a step, as the wire writes them. */
const ELEMENTS = {
  chat: {
    user: ({ text }) => [{ role: 'user', content: text }],
    said: ({ text }) => [{ role: 'assistant', content: text }],
    calls: (step) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: step.ids.map((id) => ({
          id,
          type: 'function',
          function: { name: 'ls', arguments: JSON.stringify(step.args) },
        })),
      },
    ],
    result: ({ id, text }) => [{ role: 'tool', tool_call_id: id, content: text }],
  },
  messages: {
    user: ({ text }) => [{ role: 'user', content: text }],
    said: ({ text }) => [{ role: 'assistant', content: text }],
    calls: (step) => [
      {
        role: 'assistant',
        content: step.ids.map((id) => ({ type: 'tool_use', id, name: 'ls', input: step.args })),
      },
    ],
    result: ({ id, text }) => [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] },
    ],
  },
  responses: {
    user: ({ text }) => [{ role: 'user', content: text }],
    said: ({ text }) => [{ role: 'assistant', content: text }],
    calls: (step) =>
      step.ids.map((id) => ({
        type: 'function_call',
        call_id: id,
        name: 'ls',
        arguments: JSON.stringify(step.args),
      })),
    result: ({ id, text }) => [{ type: 'function_call_output', call_id: id, output: text }],
  },
}
// Texts differ, as those of people do: of two that are equal, one may be taken for the other.
const written = (wire, list) =>
  list.flatMap((step, at) =>
    ELEMENTS[wire][step.kind](step.text ? { ...step, text: `${step.text} ${at}` } : step),
  )
const member = (wire) => (wire === 'responses' ? 'input' : 'messages')
const bodyOf = (wire, elements) =>
  `{ "${member(wire)}":[ ${elements.map((one) => JSON.stringify(one)).join(' , ')} ],"model":"m" }`

async function repaired(wire, json) {
  const { proxy, asked, reports } = proxied({ mode: 'repair' }, () => [])
  await (await post(proxy, wire, json)).text()
  assert.equal(reports[0].error, undefined)
  return { json: asked[0], repairs: reports[0].repairs }
}

test('what was repaired is not repaired again, and is no worse', async () => {
  const property = fc.asyncProperty(
    wires,
    fc.array(steps, { minLength: 1, maxLength: 10 }),
    async (wire, all) => {
      const before = bodyOf(wire, written(wire, all))
      const once = await repaired(wire, before)
      if (!once.repairs.length) assert.equal(once.json, before)
      const twice = await repaired(wire, once.json)
      assert.equal(twice.json, once.json)
      if (!VIOLATION[wire](JSON.parse(before))) {
        assert.equal(VIOLATION[wire](JSON.parse(once.json)), undefined)
      }
    },
  )
  await holds('repairs, twice', property, 500)
})

test('a conversation that goes on is repaired as it was', async () => {
  const rest = fc.array(
    fc.tuple(fc.constantFrom('Well.', 'So.'), fc.constantFrom('e', 'f'), fc.boolean()),
    { minLength: 1, maxLength: 3 },
  )
  const property = fc.asyncProperty(
    wires,
    fc.array(steps, { minLength: 1, maxLength: 8 }),
    rest,
    async (wire, all, more) => {
      let own = [{ kind: 'user', text: 'go' }, ...all, { kind: 'user', text: 'and?' }]
      let before = await repaired(wire, bodyOf(wire, written(wire, own)))
      for (const [n, [said, asked, calls]] of more.entries()) {
        // Ids of its own: one that stood before would be another's.
        const call = [
          { kind: 'calls', ids: [`d${n}`], args: {} },
          { kind: 'result', id: `d${n}`, text: 'ok' },
        ]
        const now = calls
          ? call
          : [
              { kind: 'said', text: said },
              { kind: 'user', text: asked },
            ]
        own = [...own, ...now]
        const next = await repaired(wire, bodyOf(wire, written(wire, own)))
        const start = before.json.replace(/\s*\],"model":"m" \}$/, '')
        assert.ok(next.json.startsWith(start), `${start}\n${next.json}`)
        before = next
      }
    },
  )
  await holds('repairs of what grows', property, 300)
})
