// `runFaulty` in batches, in Node, workerd and Chromium, and what each runtime holds behind a batch.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { launch } from '../../tests/browser.mjs'
import { serveRepository } from '../../tests/runtimes.mjs'
import { bundleWorker } from '../../tests/server/bundle.mjs'
import { inspect } from '../../tests/inspector.mjs'

const root = join(import.meta.dirname, '../..')

/** Watches the memories of wasm that are made from here on. */
const WATCH = `
  globalThis.wasmMemories ??= []
  const { Instance } = WebAssembly
  WebAssembly.Instance = class extends Instance {
    constructor(...args) {
      super(...args)
      if (this.exports.memory) globalThis.wasmMemories.push(this.exports.memory)
    }
  }
`
const wasmBytes = () =>
  globalThis.wasmMemories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)

/** Name → a function that runs a batch of turns and returns `{ ends, held, memory }`. */
export const RUNTIMES = {
  async node() {
    ;(0, eval)(WATCH)
    const turnlock = await import('turnlock')
    const { partsOf } = await import('../../pkg/test/parts.mjs')
    const { runFaulty } = await import('./faults.mjs')
    const { live } = await partsOf('../dist')
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc')
    return {
      async run(count) {
        const { ends, held } = await runFaulty({ turnlock, count })
        collect()
        const { heapUsed, external, rss } = process.memoryUsage()
        const wasm = wasmBytes()
        const memory = { heap: heapUsed + external - wasm, rss, wasm }
        return { ends, held: { ...held, handles: live() }, memory }
      },
      close() {},
    }
  },

  async workerd() {
    const { Miniflare } = await import('miniflare')
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      inspectorPort: 0,
      modules: await bundleWorker(join(root, 'benches/soak/worker.mjs')),
    })
    await worker.ready
    const { stdout } = spawnSync('ps', ['--ppid', `${process.pid}`, '-o', 'pid=,comm='], {
      encoding: 'utf8',
    })
    const pid = /(\d+) workerd/.exec(stdout)?.[1]
    const play = async (count) => (await worker.dispatchFetch(`http://worker/${count}`)).json()
    const inspector = await inspect(worker, () => play(0))
    return {
      async run(count) {
        const { ends, held, wasm: bytes } = await play(count)
        const { used, embedder } = await inspector.collect()
        const status = pid ? readFileSync(`/proc/${pid}/status`, 'utf8') : ''
        const rss = 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN)
        return { ends, held, memory: { heap: used + embedder, rss, wasm: bytes } }
      },
      close() {
        inspector.close()
        return worker.dispose()
      },
    }
  },

  async chromium() {
    const site = await serveRepository()
    const browser = await launch()
    const page = await browser.newPage()
    await page.addInitScript(WATCH)
    await page.goto(`${site.url}/tests/page.html`)
    const client = await page.context().newCDPSession(page)
    return {
      async run(count) {
        const { ends, held, wasm } = await page.evaluate(async (count) => {
          const [turnlock, { runFaulty }] = await Promise.all([
            import('turnlock'),
            import('/benches/soak/faults.mjs'),
          ])
          const done = await runFaulty({ turnlock, count })
          const bytes = globalThis.wasmMemories.reduce((sum, one) => sum + one.buffer.byteLength, 0)
          return { ...done, wasm: bytes }
        }, count)
        await client.send('HeapProfiler.collectGarbage')
        const { usedSize } = await client.send('Runtime.getHeapUsage')
        const { nodes, jsEventListeners } = await client.send('Memory.getDOMCounters')
        return {
          ends,
          held: { ...held, nodes, domListeners: jsEventListeners },
          memory: { heap: usedSize, wasm },
        }
      },
      async close() {
        await browser.close()
        await site.close()
      },
    }
  },
}
