// Plays the scenario tables through the built package in the runtimes named on the command
// line: node, workerd, chromium. All of them talk to the scripted provider over HTTP.
import { createServer } from 'node:http'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { playAll as playBundles } from '../bundles/play.mjs'
import { createProvider, loadBundles, loadScenarios } from '../provider/server.mjs'
import { playAll } from './play.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')

const runtimes = {
  async node(url, scenarios, bundles) {
    const turnlock = await import('turnlock')
    const host = { turnlock, url, runtime: 'node' }
    return sum([await playAll(host, scenarios), await playBundles(host, bundles)])
  },

  async workerd(url, scenarios, bundles) {
    const { Miniflare } = await import('miniflare')
    const { build } = await import('esbuild')
    // As wrangler does: the `workerd` condition, and wasm as a module beside the script.
    const bundle = await build({
      ...{ entryPoints: [join(here, 'worker.mjs')], bundle: true, write: false, format: 'esm' },
      ...{ conditions: ['workerd', 'worker', 'browser'], target: 'es2022', outdir: '/' },
      ...{ loader: { '.wasm': 'copy' }, assetNames: '[name]' },
    })
    const script = bundle.outputFiles.find((file) => file.path.endsWith('.js')).text
    const wasm = bundle.outputFiles.find((file) => file.path.endsWith('.wasm')).contents
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      modules: [
        { type: 'ESModule', path: 'worker.mjs', contents: script },
        { type: 'CompiledWasm', path: 'turnlock.wasm', contents: wasm },
      ],
      bindings: { PROVIDER: url },
    })
    try {
      const play = async (batch) => {
        const body = JSON.stringify(batch)
        const response = await worker.dispatchFetch('http://worker/', { method: 'POST', body })
        return response.json()
      }
      const name = (list) => (one) => ({ lane: one.lane, [list]: one.batch })
      return sum([
        await playInBatches(scenarios, (one) => play(name('scenarios')(one))),
        await playInBatches(bundles, (one) => play(name('bundles')(one))),
      ])
    } finally {
      await worker.dispose()
    }
  },

  async chromium(url, scenarios, bundles) {
    const { launch } = await import('../browser.mjs')
    const site = await serve()
    const browser = await launch()
    try {
      const page = await browser.newPage()
      page.on('pageerror', (error) => console.error(`chromium: ${error}`))
      await page.goto(`${site.url}/tests/scenarios/page.html`)
      return await page
        .evaluate(
          async ([provider, tables, bundles]) => {
            const [turnlock, { playAll }, { playAll: playBundles }] = await Promise.all([
              import('turnlock'),
              import('/tests/scenarios/play.mjs'),
              import('/tests/bundles/play.mjs'),
            ])
            // Chromium opens six connections to one host.
            const host = { turnlock, url: provider, runtime: 'chromium', lanes: 5 }
            return [await playAll(host, tables), await playBundles({ ...host, lanes: 1 }, bundles)]
          },
          [url, scenarios, bundles],
        )
        .then(sum)
    } finally {
      await browser.close()
      await site.close()
    }
  },
}

function sum(parts) {
  return {
    passed: parts.reduce((all, { passed }) => all + passed, 0),
    failed: parts.reduce((all, { failed }) => all + failed, 0),
    failures: parts.flatMap(({ failures }) => failures),
  }
}

/** A request to a worker may open six connections at once; the tables go in small batches. */
async function playInBatches(scenarios, play) {
  const all = { passed: 0, failed: 0, failures: [] }
  const batches = Array.from({ length: 8 }, (_, lane) =>
    scenarios.filter((__, at) => at % 8 === lane),
  )
  for (const [lane, batch] of batches.entries()) {
    const { passed, failed, failures } = await play({ lane, batch })
    all.passed += passed
    all.failed += failed
    all.failures.push(...failures)
  }
  return all
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' }

/** The repository as a site, for a page that imports from it. */
async function serve() {
  const server = createServer((request, response) => {
    const path = join(root, new URL(request.url, 'http://x').pathname)
    if (!path.startsWith(root) || !existsSync(path)) return response.writeHead(404).end()
    const type = TYPES[extname(path)] ?? 'application/octet-stream'
    response.writeHead(200, { 'content-type': type }).end(readFileSync(path))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

const names = process.argv.slice(2)
const provider = await createProvider()
const scenarios = [...loadScenarios().values()]
let [passed, failed] = [0, 0]
for (const name of names.length ? names : Object.keys(runtimes)) {
  const played = await runtimes[name](provider.url, scenarios, loadBundles())
  for (const failure of played.failures) console.log(`\n${failure}`)
  console.log(`scenarios in ${name}: ${played.passed} passed, ${played.failed} failed`)
  passed += played.passed
  failed += played.failed
}
await provider.close()
console.log(`${passed} passed, ${failed} failed`)
// Hanging tools of the tables keep timers alive.
process.exit(failed ? 1 : 0)
