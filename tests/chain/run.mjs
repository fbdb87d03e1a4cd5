// Plays the chain tables and the end-to-end searches through the built package, in the runtimes
// named on the command line: node, workerd, chromium. The model is the scripted provider over HTTP.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { createProvider } from '../provider/server.mjs'
import { playBoth } from './both.mjs'

const here = dirname(fileURLToPath(import.meta.url))

export function tables() {
  const files = readdirSync(here).filter((file) => file.endsWith('.json'))
  const scenarios = files.flatMap((file) => JSON.parse(readFileSync(join(here, file), 'utf8')))
  const names = new Set(scenarios.map(({ name }) => name))
  if (names.size !== scenarios.length) throw new Error('a name stands twice')
  return scenarios
}

/** The texts that are searched. */
export function library() {
  const folder = join(here, 'library')
  const read = (file) => ({ id: file, text: readFileSync(join(folder, file), 'utf8') })
  return readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .map(read)
}

const bundle = (options) =>
  build({ bundle: true, write: false, format: 'esm', target: 'es2022', ...options })

const runtimes = {
  async node(job) {
    const turnlock = await import('turnlock')
    return playBoth(turnlock, job)
  },

  async workerd(job) {
    const { Miniflare } = await import('miniflare')
    const { outputFiles } = await bundle({
      ...{ entryPoints: [join(here, 'worker.mjs')], outdir: '/', assetNames: '[name]' },
      ...{ conditions: ['workerd', 'worker', 'browser'], loader: { '.wasm': 'copy' } },
    })
    const named = (end) => outputFiles.find((file) => file.path.endsWith(end))
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      modules: [
        { type: 'ESModule', path: 'worker.mjs', contents: named('.js').text },
        { type: 'CompiledWasm', path: 'turnlock.wasm', contents: named('.wasm').contents },
      ],
    })
    try {
      const body = JSON.stringify(job)
      return await (await worker.dispatchFetch('http://worker/', { method: 'POST', body })).json()
    } finally {
      await worker.dispose()
    }
  },

  async chromium(job) {
    const { launch } = await import('../browser.mjs')
    const { outputFiles } = await bundle({ entryPoints: [join(here, 'page.mjs')] })
    const browser = await launch()
    try {
      const page = await browser.newPage()
      page.on('pageerror', (error) => console.error(`chromium: ${error}`))
      // From the provider's own address, so that a page may ask it.
      await page.route('**/page.html', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Chains</title>' }),
      )
      await page.goto(`${job.url}/page.html`)
      await page.addScriptTag({ type: 'module', content: outputFiles[0].text })
      await page.waitForFunction(() => globalThis.playBoth)
      return await page.evaluate((given) => globalThis.playBoth(given), job)
    } finally {
      await browser.close()
    }
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2)
  const provider = await createProvider()
  let [passed, failed] = [0, 0]
  for (const runtime of names.length ? names : Object.keys(runtimes)) {
    const job = { url: provider.url, scenarios: tables(), documents: library(), runtime }
    const played = await runtimes[runtime](job)
    for (const failure of played.failures) console.log(`\n${failure}`)
    console.log(`chains in ${runtime}: ${played.passed} passed, ${played.failed} failed`)
    passed += played.passed
    failed += played.failed
  }
  await provider.close()
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(failed ? 1 : 0)
}
