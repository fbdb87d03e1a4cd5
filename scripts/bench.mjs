// The workers of the page's benchmarks, with what they measure: bundled, because import maps do not
// hold in workers. A peer is in a chunk that is loaded when a visitor asks for it.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** Relative to the root. */
export const BENCH = 'www/dist/bench'

export async function bundleBench() {
  const { build } = await import('esbuild')
  rmSync(join(root, BENCH), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: ['worker', 'cold'].map((name) => `www/src/bench/${name}.js`),
    ...{ outdir: BENCH, bundle: true, minify: true, splitting: true },
    ...{ format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'error' },
  })
}
