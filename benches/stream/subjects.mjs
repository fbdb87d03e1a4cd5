// A streamed response, and those who read it; for `benches/stream.mjs` and the page.
import { createParser } from 'eventsource-parser'
import { decodeStream, openaiChat, runTurn } from 'turnlock'

export const EVENTS = 4_000
const encoder = new TextEncoder()
const WORDS = 'The quick brown fox jumps over the lazy dog, naïve as ever. '.match(/\S+ /g)

/** A response as OpenAI streams it, `size` events a chunk. */
export function response(size) {
  const head = {
    ...{ id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT', object: 'chat.completion.chunk' },
    ...{ created: 1741569952, model: 'gpt-4.1-2025-04-14', system_fingerprint: 'fp_44709d6fcb' },
  }
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })}\n\n`
  const events = [chunk({ role: 'assistant', content: '' })]
  for (let i = 0; i < EVENTS; i++) events.push(chunk({ content: WORDS[i % WORDS.length] }))
  events.push(chunk({}, 'stop'), 'data: [DONE]\n\n')
  const chunks = []
  for (let at = 0; at < events.length; at += size) {
    chunks.push(encoder.encode(events.slice(at, at + size).join('')))
  }
  return chunks
}

/** The characters of its text. */
export const LENGTH = Array.from({ length: EVENTS }, (_, i) => WORDS[i % WORDS.length]).join(
  '',
).length

/** A fetch that answers with the chunks, as fast as they are read. */
export const fetchOf = (chunks) => async () => {
  let at = 0
  const body = new ReadableStream({
    pull(controller) {
      if (at < chunks.length) controller.enqueue(chunks[at++])
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

export const messages = [{ role: 'user', content: 'go' }]

/** The floor: what any reader does at least. */
export const FLOOR = 'eventsource-parser + JSON.parse'

/** Each gives the length of the text it saw, so that none can skip its work. */
export const SUBJECTS = {
  [FLOOR]: async (chunks) => {
    let length = 0
    const decoder = new TextDecoder()
    const parser = createParser({
      onEvent({ data }) {
        if (data !== '[DONE]') length += JSON.parse(data).choices[0].delta.content?.length ?? 0
      },
    })
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
    return length
  },
  'turnlock decodeStream': async (chunks) => {
    let length = 0
    const decoder = decodeStream('openai-chat')
    const take = (delta) => {
      if (delta.type === 'text') length += delta.text.length
    }
    for (const chunk of chunks) decoder.feed(chunk).forEach(take)
    decoder.end().forEach(take)
    return length
  },
  'turnlock runTurn (events read)': async (chunks) => {
    let length = 0
    const model = openaiChat({ baseURL: 'http://x/v1', model: 'm', fetch: fetchOf(chunks) })
    for await (const event of runTurn({ model, messages })) {
      if (event.type === 'text') length += event.chunk.length
    }
    return length
  },
}
