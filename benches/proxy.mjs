// What the proxy costs: time per byte beside a proxy that reads each event with eventsource-parser
// and `JSON.parse`, in Node and workerd; time to the first byte; many streams at once through one
// workerd isolate. Interleaved, medians of the rounds. npm run bench -- proxy
import { execFileSync } from 'node:child_process'
import { Agent, createServer, request as ask } from 'node:http'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { bundleWorker } from '../tests/server/bundle.mjs'
import { median, medianRatio } from './measure.mjs'
import { names, play } from './proxy/subjects.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const SECONDS = Number(process.env.SECONDS ?? 60)
const STREAMS = Number(process.env.STREAMS ?? 500)
const file = (path) => fileURLToPath(new URL(path, import.meta.url))
const started = { compatibilityDate: '2025-05-01', host: '127.0.0.1', port: 0 }
const flags = { compatibilityFlags: ['enable_request_signal'] }

async function perByte(title, run) {
  console.log(`${title}: ns/byte (of the reading proxy)`)
  for (const size of [1, 16]) {
    const times = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of names) {
        const begun = process.hrtime.bigint()
        const bytes = await run(name, size)
        times[name].push(Number(process.hrtime.bigint() - begun) / bytes)
      }
    }
    for (const name of names) {
      const ratio = medianRatio(times[name], times[names[1]]).toFixed(2)
      console.log(`  ${size} a chunk | ${name} | ${median(times[name]).toFixed(2)} | ${ratio}`)
    }
  }
}

await perByte('Node', (name, size) => play(name, size, 5))
const subjects = new Miniflare({
  ...started,
  modules: await bundleWorker(file('proxy/subjects.mjs')),
})
await perByte('workerd', async (subject, size) => {
  const body = JSON.stringify({ subject, size, times: 10 })
  return (await subjects.dispatchFetch('http://x/', { method: 'POST', body })).json()
})
await subjects.dispose()

const frame = (text) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`
/** Streams a frame at once, and one every 100 ms for as long as the request says. */
const upstream = createServer(async (request, response) => {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const { seconds = 0 } = JSON.parse(Buffer.concat(pieces).toString())
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(frame('0'))
  for (let at = 1; at <= seconds * 10; at++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    response.write(frame(`${at} ${'x'.repeat(200)}`))
  }
  response.end('data: [DONE]\n\n')
})
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve))
const direct = `http://127.0.0.1:${upstream.address().port}`
const before = workers()
const worker = new Miniflare({
  ...started,
  ...flags,
  bindings: { UPSTREAM: direct },
  modules: await bundleWorker(file('../tests/proxy/worker.mjs')),
})
const through = (await worker.ready).origin
const pid = workers().find((one) => !before.includes(one))

/** The processes that workerd runs as. */
function workers() {
  const lines = execFileSync('ps', ['-eo', 'pid=,comm=']).toString().split('\n')
  return lines.filter((line) => line.includes('workerd')).map((line) => Number.parseInt(line, 10))
}
const memory = () => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1000)
}

const key = (mode) => btoa(JSON.stringify({ tenant: 'me', upstream: '', mode }))
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
const tools = [{ type: 'function', function: { name: 'ls', parameters: { type: 'object' } } }]
const messages = [{ role: 'user', content: 'go' }]
/** Asks for a stream; resolves with its bytes, and the milliseconds until the first one. */
const stream = (url, mode, seconds) =>
  new Promise((resolve, reject) => {
    const begun = performance.now()
    const headers = { authorization: `Bearer ${key(mode)}`, 'content-type': 'application/json' }
    const sent = ask(
      `${url}/v1/chat/completions`,
      { method: 'POST', headers, agent },
      (response) => {
        let [bytes, first] = [0, 0]
        response.on('data', (piece) => {
          first ||= performance.now() - begun
          bytes += piece.length
        })
        response.on('end', () => resolve({ bytes, first }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ model: 'm', stream: true, messages, tools, seconds }))
  })

const firsts = { direct: [], observe: [], bound: [] }
for (let at = 0; at < 520; at++) {
  for (const name of Object.keys(firsts)) {
    const { first } = await stream(name === 'direct' ? direct : through, name, 0)
    if (at >= 20) firsts[name].push(first)
  }
}
console.log('time to the first byte, ms: p50, p99')
for (const [name, all] of Object.entries(firsts)) {
  all.sort((a, b) => a - b)
  console.log(
    `  ${name} | ${all[all.length >> 1].toFixed(2)} | ${all[Math.floor(all.length * 0.99)].toFixed(2)}`,
  )
}

const expected = (await stream(direct, '', 1)).bytes
const [idle, sizes] = [memory(), []]
const watch = setInterval(() => sizes.push(memory()), 1000)
let [count, lost] = [0, 0]
const until = Date.now() + SECONDS * 1000
await Promise.all(
  Array.from({ length: STREAMS }, async (_, at) => {
    while (Date.now() < until) {
      const { bytes } = await stream(through, at % 2 ? 'bound' : 'observe', 1)
      count += 1
      lost += expected - bytes
    }
  }),
)
clearInterval(watch)
const part = (from, to) => Math.max(...sizes.slice(sizes.length * from, sizes.length * to))
console.log(`${STREAMS} streams at once for ${SECONDS} s: ${count} streams, ${lost} bytes lost`)
console.log(
  `  memory of workerd, MB: ${idle} before, at most ${part(0, 0.5)} in the first half, ${part(0.5, 1)} in the second`,
)

await worker.dispose()
upstream.closeAllConnections()
process.exit(lost === 0 ? 0 : 1)
