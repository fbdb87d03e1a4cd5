// A provider whose responses are beyond every limit.
import { once } from 'node:events'
import { createServer } from 'node:http'

const MiB = 2 ** 20
/** Bytes of text that one response may have: `RESPONSE_BYTES`. */
export const LONGEST = 4 * MiB
const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const call = (index, text) =>
  chunk({
    tool_calls: [{ index, id: `c${index}`, function: { name: 'look', arguments: text } }],
  })
const END = `${chunk({}, 'stop')}data: [DONE]\n\n`
const CALLED = `${chunk({}, 'tool_calls')}data: [DONE]\n\n`
const bomb = '['.repeat(200_000) + ']'.repeat(200_000)

const STREAMS = {
  *answer() {
    yield chunk({ content: 'so' }) + END
  },
  *'one-event'() {
    const piece = 'x'.repeat(MiB)
    yield 'data: {"choices":[{"delta":{"content":"'
    for (let n = 0; n < 1024; n++) yield piece
    yield '"}}]}\n\n'
  },
  *gigabyte() {
    const piece = chunk({ content: 'x'.repeat(MiB) })
    for (let n = 0; n < 1024; n++) yield piece
  },
  *'longest-prose'() {
    for (let n = 0; n < LONGEST; n += 64) yield chunk({ content: `${'x'.repeat(63)}\n` })
    yield END
  },
  // Each character is two in JSON.
  *'longest-quotes'() {
    for (let n = 0; n < LONGEST; n += 4096) yield chunk({ content: '"'.repeat(4096) })
    yield END
  },
  *tiny() {
    const one = chunk({ content: 'x' })
    for (let n = 0; n < 1000; n++) yield one.repeat(100)
    yield END
  },
  *comments() {
    for (let n = 0; n < 1000; n++) yield ': ping\n\ndata:\n\nevent: x\n\n\n\n'.repeat(100)
    yield chunk({ content: 'so' }) + END
  },
  *'nested-event'() {
    yield `data: {"choices":[{"delta":{"content":${bomb}}}]}\n\n`
    yield chunk({ content: 'so' }) + END
  },
  *'nested-arguments'() {
    yield call(0, `{"a":${bomb}}`) + CALLED
  },
  *calls() {
    for (let n = 0; n < 100_000; n++) yield call(n, `{"n":${n}}`)
    yield CALLED
  },
}

/** Serves each stream below its name; `sent` has the bytes of each. */
export async function serveStreams() {
  const sent = {}
  const server = createServer(async (request, response) => {
    request.resume()
    const name = request.url.split('/')[1]
    sent[name] = 0
    let go
    for (const event of ['drain', 'close', 'error']) response.on(event, () => go?.())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of STREAMS[name]()) {
      if (response.destroyed) return
      sent[name] += piece.length
      if (!response.write(piece)) await new Promise((resolve) => (go = resolve))
    }
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, sent, close }
}
