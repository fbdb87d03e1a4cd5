// Time per streamed text event: ours beside the floor, eventsource-parser + JSON.parse, and beside
// packages of others, in Node, workerd and Chromium. Interleaved, medians of the rounds; read the
// ratios. npm run bench -- streams
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { launch } from '../tests/browser.mjs'
import { serveRepository } from '../tests/runtimes.mjs'
import { bundleWorker } from '../tests/server/bundle.mjs'
import { median } from './measure.mjs'
import { play, SUBJECTS } from './stream/play.mjs'
import { EVENTS, FLOOR } from './stream/subjects.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const entry = fileURLToPath(new URL('stream/play.mjs', import.meta.url))

/** Name → how one plays there. Times are taken outside: the clock of workerd stands still. */
const RUNTIMES = {
  Node: () => ({ play, close() {} }),
  async workerd() {
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      compatibilityFlags: ['nodejs_compat'],
      modules: await bundleWorker(entry),
    })
    const play = async (name, size, times) => {
      const body = JSON.stringify({ name, size, times })
      const response = await worker.dispatchFetch('http://x/', { method: 'POST', body })
      if (!response.ok) throw new Error(await response.text())
    }
    return { play, close: () => worker.dispose() }
  },
  async Chromium() {
    const [{ text }] = (
      await build({
        entryPoints: [entry],
        bundle: true,
        write: false,
        format: 'iife',
        platform: 'browser',
        target: 'es2022',
      })
    ).outputFiles
    const site = await serveRepository()
    const browser = await launch()
    const page = await browser.newPage()
    await page.goto(`${site.url}/tests/page.html`)
    await page.addScriptTag({ content: text })
    return {
      play: (...args) => page.evaluate((args) => globalThis.play(...args), args),
      async close() {
        await browser.close()
        await site.close()
      },
    }
  },
}
/** Responses of a round: enough that the way to the runtime does not count. */
const TIMES = 5
const names = Object.keys(SUBJECTS)

/** The times of each subject, µs an event, and their ratios to the floor's of the same round. */
async function measured(play, size) {
  const rounds = []
  for (let round = -1; round < ROUNDS; round++) {
    const times = {}
    for (let at = 0; at < names.length; at++) {
      // Another one begins each round: none always runs behind the one that leaves the most garbage.
      const name = names[(at + round + 1) % names.length]
      const began = performance.now()
      await play(name, size, TIMES)
      times[name] = ((performance.now() - began) * 1000) / (EVENTS * TIMES)
    }
    // The first one compiles.
    if (round >= 0) rounds.push(times)
  }
  return (name) => [
    median(rounds.map((times) => times[name])).toFixed(2),
    median(rounds.map((times) => times[name] / times[FLOOR])).toFixed(2),
  ]
}

for (const [runtime, start] of Object.entries(RUNTIMES)) {
  const { play, close } = await start()
  const one = await measured(play, 1)
  const many = await measured(play, 16)
  await close()
  console.log(
    `| ${runtime} | 1 event a chunk, µs/event | × floor | 16 events a chunk, µs/event | × floor |`,
  )
  console.log('|---|---|---|---|---|')
  for (const name of names) console.log(`| ${[name, ...one(name), ...many(name)].join(' | ')} |`)
  console.log()
}
