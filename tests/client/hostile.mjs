// Model servers that send what is no response: `/hostile/<deed>/…` does the deed, and
// `/hostile/<deed>` says how often it was asked and how many bytes it wrote.

// A page of tests has another origin.
const CORS = 'access-control-allow-origin: *\r\n'
const OK = `HTTP/1.1 200 OK\r\n${CORS}`
const EVENTS = `${OK}content-type: text/event-stream\r\n\r\n`
const FLOOD = 200_000

const event = (delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
const call = (text) => ({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', ...text } }] })

function* endless(head, piece) {
  yield head
  for (;;) yield piece
}

function* flood() {
  yield EVENTS
  const some = event({ content: 'a' }).repeat(1000)
  for (let sent = 0; sent < FLOOD; sent += 1000) yield some
  yield `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
}

/** What is written, and then the connection ends. */
const DEEDS = {
  nothing: () => [],
  'no-http': () => ['hello\n'],
  'status-of-letters': () => ['HTTP/1.1 ABC\r\n\r\n'],
  'huge-header': () => [`${OK}x: ${'x'.repeat(2 ** 20)}\r\n\r\n`],
  'many-headers': () => [`${OK}${'x: y\r\n'.repeat(10_000)}\r\n`],
  'half-a-body': () => [`${OK}content-length: 1000\r\n\r\ndata: {`],
  'negative-length': () => [`${OK}content-length: -1\r\n\r\n`],
  'chunk-of-letters': () => [`${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`],
  'chunk-without-end': () => [`${OK}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx`],
  'gzip-that-is-none': () => [`${OK}content-encoding: gzip\r\n\r\nno gzip at all`],
  page: () => [`${OK}content-type: text/html\r\n\r\n<html>`],
  bytes: () => [EVENTS, Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 256))],
  'deep-json': () => [EVENTS, `data: ${'['.repeat(500_000)}\n\n`],
  'half-characters': () => [EVENTS, 'data: {"choices":[{"delta":{"content":"\\ud800"}}]}'],
  'wrong-types': () => [EVENTS, event({ content: 7, tool_calls: {} })],
  'numbers-without-end': () => {
    const index = '9'.repeat(400)
    const odd = `{"index":${index},"id":1e999}`
    return [EVENTS, `data: {"choices":[{"delta":{"tool_calls":[${odd}]}}]}\n\n`]
  },
  key: () => [EVENTS, 'data: {"error":{"message":"Incorrect: sk-secret of sk-secret"}}\n\n'],
  elsewhere: () => [EVENTS],
  'endless-failure': () =>
    endless(`HTTP/1.1 500 No\r\n${CORS}content-type: text/plain\r\n\r\n`, 'x'.repeat(65_536)),
  'endless-line': () => endless(`${EVENTS}data: `, 'x'.repeat(65_536)),
  'endless-arguments': () => endless(EVENTS, event(call({ arguments: 'x'.repeat(60_000) }))),
  flood,
}

const moved = (status, url) => [
  `HTTP/1.1 ${status} Moved\r\n${CORS}location: ${url}\r\ncontent-length: 0\r\n\r\n`,
]

/** Answers requests below `/hostile/`. `url`: the address of this server. */
export function createHostile(url) {
  const counts = new Map()
  return async (request, response) => {
    const [, , deed, ...rest] = request.url.split('/')
    const count = counts.get(deed) ?? { asked: 0, written: 0 }
    counts.set(deed, count)
    const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }
    if (request.method === 'OPTIONS') return response.writeHead(204, headers).end()
    if (rest.length === 0) return response.writeHead(200, headers).end(JSON.stringify(count))
    count.asked += 1
    const [, status] = /^moved-(\d+)$/.exec(deed) ?? []
    const pieces = status ? moved(status, `${url()}/hostile/elsewhere/v1`) : DEEDS[deed]()
    const { socket } = request
    request.resume()
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    for (const piece of pieces) {
      if (socket.destroyed) return
      count.written += piece.length
      if (socket.write(piece)) continue
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    }
    socket.end()
  }
}
