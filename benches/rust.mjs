// Time per streamed text event of a whole turn: the Rust driver beside the TypeScript one, in one
// page of one Chromium, interleaved, medians of the rounds; read the ratio. npm run bench -- rust
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { launch } from '../tests/browser.mjs'
import { serveRepository } from '../tests/runtimes.mjs'
import { cargo, glue, optimize } from '../scripts/build/tools.mjs'
import { root, target } from '../scripts/setup.mjs'
import { median, medianRatio } from './measure.mjs'

const made = join(root, '.cache', 'bench-rust')
mkdirSync(made, { recursive: true })
await cargo('the Rust driver for this benchmark', [
  'build',
  '--locked',
  '--release',
  '--manifest-path',
  join(root, 'benches/rust/Cargo.toml'),
  '--target',
  'wasm32-unknown-unknown',
])
await glue('web', join(target, 'wasm32-unknown-unknown/release/turnlock_bench.wasm'), made)
const optimized = join(made, 'turnlock_bench_bg.wasm')
// As scripts/build makes the package's.
await optimize('-O3', optimized, join(made, 'small.wasm'))
copyFileSync(join(made, 'small.wasm'), optimized)

const site = await serveRepository()
const browser = await launch()
try {
  const page = await browser.newPage()
  await page.goto(`${site.url}/tests/page.html`)
  const rounds = Number(process.env.ROUNDS ?? 30)
  for (const size of [1, 16]) {
    const times = await page.evaluate(measure, { size, rounds, events: 4000 })
    console.log(
      `\n${size} event${size > 1 ? 's' : ''} a chunk, medians of ${rounds} (${browser.version()})`,
    )
    for (const [name, micros] of Object.entries(times)) {
      const ratio = medianRatio(micros, times.TypeScript).toFixed(2)
      console.log(
        `  ${name.padEnd(12)} ${median(micros).toFixed(2)} µs/event  ${ratio} × TypeScript`,
      )
    }
  }
} finally {
  await browser.close()
  await site.close()
}
const bytes = readFileSync(optimized)
console.log(
  `\nwasm of a page that only runs turns: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`,
)

/** Runs in the page. */
async function measure({ size, rounds, events }) {
  const [{ openaiChat, runTurn }, rust] = await Promise.all([
    import('turnlock'),
    import('/.cache/bench-rust/turnlock_bench.js'),
  ])
  globalThis.rust ??= rust.default().then(() => rust)
  const { read_turn } = await globalThis.rust
  const words = 'The quick brown fox jumps over the lazy dog, naïve as ever. '.match(/\S+ /g)
  const text = (i) => words[i % words.length]
  const head = {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    object: 'chat.completion.chunk',
    created: 1741569952,
    model: 'gpt-4.1-2025-04-14',
    system_fingerprint: 'fp_44709d6fcb',
  }
  const event = (delta, finish_reason = null) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
    return `data: ${JSON.stringify({ ...head, choices })}\n\n`
  }
  const all = [event({ role: 'assistant', content: '' })]
  for (let i = 0; i < events; i++) all.push(event({ content: text(i) }))
  all.push(event({}, 'stop'), 'data: [DONE]\n\n')
  const encoder = new TextEncoder()
  const chunks = []
  for (let at = 0; at < all.length; at += size) {
    chunks.push(encoder.encode(all.slice(at, at + size).join('')))
  }
  const wanted = Array.from({ length: events }, (_, i) => text(i)).join('').length
  const fetch = async () => {
    let at = 0
    const pull = (controller) =>
      at < chunks.length ? controller.enqueue(chunks[at++]) : controller.close()
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(new ReadableStream({ pull }), { headers })
  }
  const subjects = {
    // The floor of both: the body is read, and nothing is made of it.
    'reading alone': async () => {
      const reader = (await fetch()).body.getReader()
      while (!(await reader.read()).done);
      return wanted
    },
    async TypeScript() {
      let length = 0
      const model = openaiChat({ baseURL: 'http://x/v1', model: 'm', fetch })
      const messages = [{ role: 'user', content: 'go' }]
      for await (const one of runTurn({ model, messages })) {
        if (one.type === 'text') length += one.chunk.length
      }
      return length
    },
    Rust: () => read_turn(fetch),
  }
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of Object.entries(subjects)) {
      const started = performance.now()
      const length = await subject()
      const micros = ((performance.now() - started) * 1000) / events
      if (length !== wanted) throw new Error(`${name} saw ${length} of ${wanted} characters`)
      times[name].push(micros)
    }
  }
  return times
}
