// Plays tables through the built package in Node, workerd and Chromium. A folder of tables has
// `play.mjs` with `playAll(host, jobs)`, which worker.mjs calls inside workerd and a page imports.
import { createServer } from 'node:http'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CHROMIUM } from '../scripts/setup.mjs'
import { createProvider } from './provider/server.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const RUNTIMES = {
  async node(folder, url, jobs) {
    const turnlock = await import('./turnlock.mjs')
    const { playAll } = await import(pathToFileURL(join(root, folder, 'play.mjs')))
    return playAll({ turnlock, url, runtime: 'node' }, jobs)
  },

  async workerd(folder, url, jobs) {
    const { Miniflare } = await import('miniflare')
    const { build } = await import('esbuild')
    // As wrangler does: the `workerd` condition, and wasm as a module beside the script.
    const bundle = await build({
      entryPoints: [join(root, 'tests/worker.mjs')],
      bundle: true,
      write: false,
      alias: { tables: join(root, folder, 'play.mjs') },
      conditions: ['workerd', 'worker', 'browser'],
      target: 'es2022',
      outdir: '/',
      loader: { '.wasm': 'copy' },
      assetNames: '[name]',
      format: 'esm',
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
      return await playInBatches(jobs, async (batch) => {
        const body = JSON.stringify(batch)
        const response = await worker.dispatchFetch('http://worker/', { method: 'POST', body })
        return response.json()
      })
    } finally {
      await worker.dispose()
    }
  },

  async chromium(folder, url, jobs) {
    const { show, telling } = await import('./client/in-chromium.mjs')
    // Chromium opens six connections to one host.
    const host = { url, runtime: 'chromium', lanes: 5 }
    const work = `{
      const said = []
      addEventListener('error', ({ message }) => said.push(message))
      addEventListener('unhandledrejection', ({ reason }) => said.push(String(reason)))
      const [turnlock, { playAll }] = await Promise.all([
        import('/tests/turnlock.mjs'),
        import('/${folder}/play.mjs'),
      ])
      return { ...(await playAll({ turnlock, ...${inScript(host)} }, ${inScript(jobs)})), said }
    }`
    const html = readFileSync(join(root, 'tests/page.html'), 'utf8') + telling(work)
    const profile = mkdtempSync(join(tmpdir(), 'turnlock-tables-'))
    try {
      const fileOf = (path) => join(root, new URL(path, 'http://x').pathname)
      const { error, said, ...played } = await show(profile, html, { fileOf, programs: CHROMIUM })
      if (error) throw new Error(error)
      for (const text of said) console.error(`chromium: ${text}`)
      return played
    } finally {
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
    }
  },
}

/** A value as a script of a page may hold it. */
const inScript = (value) => JSON.stringify(value).replaceAll('<', '\\u003c')

/** A request to a worker may open six connections at once; the tables go in small batches. */
async function playInBatches(jobs, play) {
  const all = { passed: 0, failed: 0, failures: [], observations: [] }
  const batches = Array.from({ length: 8 }, (_, lane) => jobs.filter((__, at) => at % 8 === lane))
  for (const [lane, batch] of batches.entries()) {
    const { passed, failed, failures, observations = [] } = await play({ lane, jobs: batch })
    all.observations.push(...observations)
    all.passed += passed
    all.failed += failed
    all.failures.push(...failures)
  }
  return all
}

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
}

/** A failure as scripts/failures.mjs finds it: whatever belongs to it is indented. */
export const notOk = (failure) => `not ok - ${failure.replaceAll('\n', '\n  ')}`

/** The repository as a site, for a page that imports from it. */
export async function serveRepository() {
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

/**
 * Plays `jobs` in the runtimes that are named, against the scripted provider over HTTP; ends the
 * process. With `judge(job, observation)`, which returns faults, the player only observes.
 */
export async function playEverywhere(folder, jobs, names, judge) {
  const provider = await createProvider()
  let [passed, failed] = [0, 0]
  for (const name of names.length ? names : Object.keys(RUNTIMES)) {
    const played = await RUNTIMES[name](folder, provider.url, jobs)
    if (judge) judgeAll(played, jobs, name, judge)
    for (const failure of played.failures) console.log(notOk(failure))
    console.log(`${folder} in ${name}: ${played.passed} passed, ${played.failed} failed`)
    passed += played.passed
    failed += played.failed
  }
  await provider.close()
  console.log(`${passed} passed, ${failed} failed`)
  // Hanging tools of the tables keep timers alive.
  process.exit(failed ? 1 : 0)
}

/** Counts the jobs whose observation has faults, and those that were not observed. */
function judgeAll(played, jobs, runtime, judge) {
  const observed = new Map(played.observations)
  for (const job of jobs) {
    const seen = observed.get(job.name)
    const faults = seen ? judge(job, seen) : ['was not played']
    if (faults.length) {
      played.failed++
      played.failures.push(`${job.name} [${runtime}]\n  ${faults.join('\n  ')}`)
    } else played.passed++
  }
}
