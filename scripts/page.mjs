// The scripts of the page, bundled: as modules of their own they are 170 requests, and the page is
// there in twice the time.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** Relative to the root. */
export const PAGE = 'www/dist/page'

export async function bundlePage() {
  const { build } = await import('esbuild')
  rmSync(join(root, PAGE), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    // The package beside it is the page's own instance, for the console and `init()`.
    entryPoints: { main: 'www/src/main.js', turnlock: 'pkg/dist/index.js' },
    // The package as users get it; the scripted model is no package.
    alias: { 'scripted-model': './tests/provider/sessions.mjs' },
    ...{ outdir: PAGE, bundle: true, minify: true, splitting: true, sourcemap: true },
    ...{ format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'error' },
  })
}
