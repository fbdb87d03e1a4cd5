// node examples/rust-worker/build.mjs: `dist/worker.mjs` and the wasm beside it, as `wrangler`
// takes them. What `worker-build` does, without its downloads: glue, and one script of it all.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildExample } from '../build.mjs'
import { main } from '../../scripts/tasks.mjs'

const here = dirname(fileURLToPath(import.meta.url))

/** Builds what has changed. */
export const buildWorker = () =>
  buildExample('rust-worker', ['shim.mjs'], async (dist) => {
    // Not at the top: set-up may just have installed it.
    const { build } = await import('esbuild')
    await build({
      entryPoints: [join(here, 'shim.mjs')],
      outfile: join(dist, 'worker.mjs'),
      bundle: true,
      format: 'esm',
      target: 'es2022',
      logLevel: 'warning',
      // The runtime's own modules, and the wasm: a module in workerd, compiled already.
      external: ['cloudflare:*', './rust_worker_bg.wasm'],
    })
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(buildWorker)
