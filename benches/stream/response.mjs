// A streamed response of text; for the benchmarks, the page and `turnlock bench`.
export const EVENTS = 4_000
const encoder = new TextEncoder()
const WORDS = 'The quick brown fox jumps over the lazy dog, naïve as ever. '.match(/\S+ /g)

/** A response as OpenAI streams it, `size` events a chunk. */
export function response(size) {
  const head = {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    object: 'chat.completion.chunk',
    created: 1741569952,
    model: 'gpt-4.1-2025-04-14',
    system_fingerprint: 'fp_44709d6fcb',
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
