// The usage of an answer that `bound` forced: it costs two inferences, and the client sees their sum.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { createProxy } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

const FIRST = { input: 100, output: 20 }
const SECOND = { input: 130, output: 7 }
const SUM = { input: 230, output: 27 }

/** The usage as each API has it. */
const usageOf = {
  chat: ({ input, output }) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  }),
  messages: ({ input, output }) => ({ input_tokens: input, output_tokens: output }),
  responses: ({ input, output }) => ({
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  }),
}

/**
 * A proxy in `bound` and the `fetch` of its client. The provider repeats a call, and answers where it
 * may not call. `change` gets each whole response or text of events of the provider.
 */
function proxied(wire, stream, { change = (value) => value } = {}) {
  const reports = []
  const proxy = createProxy({
    upstream: 'https://provider.example/v1',
    mode: 'bound',
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => reports.push(report),
    fetch: async (_, init) => {
      const body = JSON.parse(Buffer.from(init.body).toString())
      const isAnswer = WIRES[wire].none(body)
      const usage = isAnswer ? SECOND : FIRST
      if (stream) {
        const entry = { ...(isAnswer ? { text: ['Fine.'] } : { calls: [LOOP] }), usage }
        const text = WIRES[wire].stream(entry, { n: isAnswer ? 2 : 1, body }).join('')
        return new Response(change(text, isAnswer), {
          headers: { 'content-type': 'text/event-stream' },
        })
      }
      const whole = WIRES[wire].whole(isAnswer ? { text: 'Fine.' } : { calls: [LOOP] })
      return Response.json(change({ ...whole, usage: usageOf[wire](usage) }, isAnswer))
    },
  })
  return { reports, fetch: (input, init) => proxy(new Request(input, init)) }
}

const body = (wire, stream) => ({
  ...WIRES[wire].body(looped(2), { stream }),
  ...(wire === 'chat' && stream && { stream_options: { include_usage: true } }),
})

const CLIENTS = {
  async chat(fetch, stream) {
    const client = new OpenAI({ baseURL: 'https://edge.example/v1', apiKey: 'k', fetch })
    return stream
      ? client.chat.completions.stream(body('chat', true)).finalChatCompletion()
      : client.chat.completions.create(body('chat', false))
  },
  async messages(fetch, stream) {
    const client = new Anthropic({ baseURL: 'https://edge.example', apiKey: 'k', fetch })
    const { stream: _, ...sent } = body('messages', stream)
    return stream ? client.messages.stream(sent).finalMessage() : client.messages.create(sent)
  },
  async responses(fetch, stream) {
    const client = new OpenAI({ baseURL: 'https://edge.example/v1', apiKey: 'k', fetch })
    return stream
      ? client.responses.stream(body('responses', true)).finalResponse()
      : client.responses.create(body('responses', false))
  },
}

/** The last usage of a response or an event. */
const usageIn = (json) => json.usage ?? json.response?.usage

/** The members of `usage` that are named in `expected`. */
const named = (usage, expected) =>
  Object.fromEntries(Object.keys(expected).map((name) => [name, usage[name]]))

for (const wire of Object.keys(WIRES)) {
  for (const stream of [true, false]) {
    const how = stream ? 'stream' : 'whole'
    test(`forced answer, ${wire}, ${how}: its client reads the usage of both inferences`, async () => {
      const { reports, fetch } = proxied(wire, stream)
      const { usage } = await CLIENTS[wire](fetch, stream)
      const expected = usageOf[wire](SUM)
      assert.deepEqual(named(usage, expected), expected)
      // The report has each as the provider said it.
      const said = [FIRST, SECOND].map(usageOf[wire])
      const [report] = reports
      assert.equal(report.forced, 'duplicate')
      assert.deepEqual(
        report.usage.map((one, at) => named(one, said[at])),
        said,
      )
    })

    test(`forced answer, ${wire}, ${how}: details are added, texts are those of the answer`, async () => {
      const more = (n) => ({ cost: n / 4, service_tier: `tier ${n}`, details: { cached: n } })
      const change = (value, isAnswer) => {
        const added = more(isAnswer ? 2 : 1)
        if (!stream) return { ...value, usage: { ...value.usage, ...added } }
        return value.replace(/^data: (\{.*)$/gm, (line, text) => {
          const json = JSON.parse(text)
          if (!usageIn(json)) return line
          Object.assign(usageIn(json), added)
          return `data: ${JSON.stringify(json)}`
        })
      }
      const { fetch } = proxied(wire, stream, { change })
      const response = await fetch(`https://edge.example${WIRES[wire].path}`, {
        method: 'POST',
        body: JSON.stringify(body(wire, stream)),
      })
      const text = await response.text()
      const lines = stream ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, line]) => line) : [text]
      const usage = lines.flatMap((line) => usageIn(JSON.parse(line)) ?? []).at(-1)
      const { cost, service_tier, details } = usage
      assert.deepEqual([cost, service_tier, details], [0.75, 'tier 2', { cached: 3 }])
    })
  }
}

test('a response that is not forced keeps its usage, byte for byte', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const stream of [true, false]) {
      let sent
      const change = (value) => {
        sent = stream ? value : JSON.stringify(value)
        return value
      }
      const { fetch } = proxied(wire, stream, { change })
      const free = { ...WIRES[wire].body(looped(1), { stream }) }
      const response = await fetch(`https://edge.example${WIRES[wire].path}`, {
        method: 'POST',
        body: JSON.stringify(free),
      })
      assert.equal(await response.text(), sent)
    }
  }
})

test('a usage over 4 KiB is not added', async () => {
  const change = (whole, isAnswer) =>
    isAnswer ? whole : { ...whole, usage: { ...whole.usage, note: 'x'.repeat(4096) } }
  const { fetch } = proxied('chat', false, { change })
  const { usage } = await CLIENTS.chat(fetch, false)
  assert.deepEqual(usage, usageOf.chat(SECOND))
})

test('without an answer, the usage is that of the one inference', async () => {
  for (const stream of [true, false]) {
    const change = (value, isAnswer) => (isAnswer ? (stream ? '' : {}) : value)
    const { fetch } = proxied('messages', stream, { change })
    const { usage, content } = await CLIENTS.messages(fetch, stream)
    assert.match(content[0].text, /already at hand/)
    const expected = usageOf.messages(FIRST)
    assert.deepEqual(named(usage, expected), expected)
  }
})
