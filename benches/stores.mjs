// What a store costs a turn: extra milliseconds and CPU against the same turn without one, in the
// same run, turns one after the other; commits and bytes per turn. npm run bench -- stores
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import { Miniflare } from 'miniflare'
import { memoryStore } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { launch } from '../tests/browser.mjs'
import { openSite } from '../tests/kills/site.mjs'
import { startRedis } from '../tests/stores/redis-server.mjs'
import { childrenNamed, cpuOf } from './stores/cpu.mjs'
import { countedTurns } from './stores/turns.mjs'
import { median } from './measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 7)
const folder = mkdtempSync(join(tmpdir(), 'turnlock-bench-'))

/** Each opens a place where turns run: `run(count, keeps)`, its processes, and how many turns. */
const PLACES = {
  async 'memory, Node'() {
    const memory = memoryStore({ maxTurns: 500 })
    const run = (count, keeps) => countedTurns(count, keeps && memory)
    return { run, pids: [process.pid], turns: 400, close() {} }
  },

  async "Redis, Node (CPU with the server's)"() {
    const server = await startRedis('--appendonly', 'no')
    const client = new Redis({ port: server.port })
    const redis = redisStore(client)
    const run = (count, keeps) =>
      countedTurns(count, keeps && redis, { ttlMs: 5000, leaseMs: 5000 })
    const close = async () => {
      client.disconnect()
      await server.stop()
    }
    // The server is below this process.
    return { run, pids: [process.pid], turns: 200, close }
  },

  async 'Durable Object, workerd'() {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL('./stores/worker.mjs', import.meta.url))],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      outdir: '/',
      conditions: ['workerd', 'worker', 'browser'],
      assetNames: '[name]',
      loader: { '.wasm': 'copy' },
    })
    const part = (end) => outputFiles.find(({ path }) => path.endsWith(end))
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      modules: [
        { type: 'ESModule', path: 'worker.mjs', contents: part('.js').text },
        { type: 'CompiledWasm', path: 'turnlock.wasm', contents: part('.wasm').contents },
      ],
      durableObjects: { turns: { className: 'Turns', useSQLite: true } },
      durableObjectsPersist: folder,
    })
    await worker.ready
    const run = async (count, keeps) => {
      const init = { method: 'POST', body: JSON.stringify({ count, keeps }) }
      return (await worker.dispatchFetch('http://x/', init)).json()
    }
    return { run, pids: childrenNamed('workerd'), turns: 100, close: () => worker.dispose() }
  },

  async 'IndexedDB, Chromium'() {
    const site = await openSite()
    const before = childrenNamed('chrom')
    const browser = await launch()
    const pids = childrenNamed('chrom').filter((pid) => !before.includes(pid))
    const page = await browser.newPage()
    await page.goto(`${site.url}/benches/stores/page.html`)
    await page.waitForSelector('[data-ready]', { state: 'attached' })
    const run = (count, keeps) =>
      page.evaluate(([count, keeps]) => globalThis.turns(count, keeps), [count, keeps])
    const close = async () => {
      await browser.close()
      await site.close()
    }
    return { run, pids, turns: 40, close }
  },
}

const line = (cells) => console.log(`| ${cells.join(' | ')} |`)
const head = ['store', 'ms per turn without', 'with', 'extra', 'CPU ms without', 'with', 'extra']
line([...head, 'commits', 'bytes'])
line([...head, '', ''].map(() => '---'))
for (const [name, open] of Object.entries(PLACES)) {
  const { run, pids, turns, close } = await open()
  const cpu = () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  const took = { false: [], true: [] }
  const used = { false: [], true: [] }
  let per
  for (const keeps of [false, true]) await run(turns, keeps)
  for (let round = 0; round < ROUNDS; round++) {
    for (const keeps of [false, true]) {
      const [cpuBefore, started] = [cpu(), performance.now()]
      const written = await run(turns, keeps)
      took[keeps].push((performance.now() - started) / turns)
      used[keeps].push((cpu() - cpuBefore) / turns)
      if (keeps) per = [written.commits, written.bytes].map((n) => n / turns)
    }
  }
  await close()
  const cells = [took, used].flatMap((list) => {
    const [without, with_] = [median(list.false), median(list.true)]
    return [without, with_, with_ - without].map((ms) => ms.toFixed(2))
  })
  line([name, ...cells, per[0].toFixed(1), Math.round(per[1])])
}
rmSync(folder, { recursive: true, force: true })
console.log(`\nmedians of ${ROUNDS} rounds, Node ${process.versions.node}`)
process.exit()
