// Proxies over a provider that answers at once: what a byte of a stream costs. Runs in Node and in
// workerd.
import { createParser } from 'eventsource-parser'
import { createProxy } from 'turnlock/proxy'

const WORDS = 'The quick brown fox jumps over the lazy dog, naïve as ever. '.match(/\S+ /g)

/** A response as OpenAI streams it, `size` events a chunk. */
function response(events, size) {
  const encoder = new TextEncoder()
  const head = {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    object: 'chat.completion.chunk',
    created: 1741569952,
    model: 'gpt-4.1-2025-04-14',
    system_fingerprint: 'fp_44709d6fcb',
  }
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })}\n\n`
  const all = [chunk({ role: 'assistant', content: '' })]
  for (let at = 0; at < events; at++) all.push(chunk({ content: WORDS[at % WORDS.length] }))
  all.push(chunk({}, 'stop'), 'data: [DONE]\n\n')
  const chunks = []
  for (let at = 0; at < all.length; at += size) {
    chunks.push(encoder.encode(all.slice(at, at + size).join('')))
  }
  return chunks
}

const bodyOf = (chunks) => {
  let at = 0
  const pull = (controller) => {
    if (at < chunks.length) controller.enqueue(chunks[at++])
    else controller.close()
  }
  return new ReadableStream({ pull }, { highWaterMark: 0 })
}

const json = JSON.stringify({
  model: 'm',
  stream: true,
  messages: [{ role: 'user', content: 'go' }],
  tools: [{ type: 'function', function: { name: 'ls', parameters: { type: 'object' } } }],
})
const request = () =>
  new Request('https://edge.example/v1/chat/completions', { method: 'POST', body: json })

const ours = (mode) => (chunks) => {
  const proxy = createProxy({
    upstream: 'https://provider.example',
    mode,
    authorize: () => ({ tenant: 'me' }),
    fetch: async () =>
      new Response(bodyOf(chunks), { headers: { 'content-type': 'text/event-stream' } }),
  })
  return proxy(request())
}

/** A proxy that reads each event, as one would write it by hand. */
function reading(chunks) {
  const reader = bodyOf(chunks).getReader()
  const decoder = new TextDecoder()
  let calls = 0
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') return
      const { choices } = JSON.parse(data)
      if (choices[0]?.delta.tool_calls) calls++
    },
  })
  const pull = async (controller) => {
    const { done, value } = await reader.read()
    if (done) return controller.close()
    parser.feed(decoder.decode(value, { stream: true }))
    controller.enqueue(value)
  }
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))
}

const SUBJECTS = {
  'pass-through': (chunks) => new Response(bodyOf(chunks)),
  'eventsource-parser + JSON.parse': reading,
  'turnlock observe': ours('observe'),
  'turnlock bound': ours('bound'),
}

const prepared = new Map()

/** Plays `times` streams through a subject; returns the bytes that came. */
export async function play(subject, size, times) {
  if (!prepared.has(size)) prepared.set(size, response(2000, size))
  let bytes = 0
  for (let at = 0; at < times; at++) {
    const { body } = await SUBJECTS[subject](prepared.get(size))
    const reader = body.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.length
    }
  }
  return bytes
}

export const names = Object.keys(SUBJECTS)

export default {
  async fetch(request) {
    const { subject, size, times } = await request.json()
    return Response.json(await play(subject, size, times))
  },
}
