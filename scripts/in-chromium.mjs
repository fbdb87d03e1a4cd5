// Runs Rust tests that are compiled to wasm in Chromium. Cargo starts it for each test binary:
// `in-chromium.mjs <file.wasm> [part of a test's name …]`.
//
// The runner of wasm-bindgen's command line compiles two hundred crates and needs a web driver; all that
// this has to do is to open a page. What the page calls is the interface between that runner and
// `wasm-bindgen-test`, both of the version that Cargo.lock holds.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { glue } from './build.mjs'
import { CHROMIUM, ENGINE, first } from './setup.mjs'
import { main } from './tasks.mjs'

const own = fileURLToPath(import.meta.url)

/** The arguments by which cargo runs wasm tests here: an array, since a path may have spaces. */
export const inChromium = [
  '--config',
  `target.wasm32-unknown-unknown.runner=${JSON.stringify([process.execPath, own])}`,
]

/** How long all tests of a binary may take, in milliseconds. */
const PATIENCE_MS = 20 * 60_000

/**
 * In the page: runs the tests whose names hold one of these words, no word: all. `passed` is
 * `undefined` where the binary has none.
 */
async function runTests(from, words) {
  const glue = await import(from)
  const wasm = await glue.default()
  // Without a test, what runs tests is not linked.
  const all = Object.keys(wasm).filter((name) => name.startsWith('__wbgt_'))
  if (all.length === 0) return undefined
  for (const level of ['debug', 'log', 'info', 'warn', 'error']) {
    const write = console[level]
    console[level] = (...args) => {
      write(...args)
      // So the output of a test is shown where it fails.
      glue[`__wbgtest_console_${level}`](args)
    }
  }
  // So that a frame of JavaScript catches what a test throws.
  window.__wbg_test_invoke = (test) => test()
  const nameOf = (symbol) => symbol.slice(symbol.indexOf('::') + 2)
  const chosen = all.filter(
    (symbol) => words.length === 0 || words.some((word) => nameOf(symbol).includes(word)),
  )
  const context = new glue.WasmBindgenTestContext(false)
  context.filtered_count(all.length - chosen.length)
  return context.run(chosen.map((symbol) => wasm[symbol]))
}

/** The page: the tests write what they have done into the element `output`. */
const page = (from, words) => `<!doctype html><meta charset="utf-8"><pre id="output"></pre>
<script type="module">
  // It stays open as long as the page.
  fetch('/open').catch(() => {})
  const tell = (result) => {
    const output = document.getElementById('output').textContent
    fetch('/result', { method: 'POST', body: JSON.stringify({ output, ...result }) })
  }
  ${runTests}
  runTests(${JSON.stringify(from)}, ${JSON.stringify(words)}).then(
    (passed) => tell({ passed }),
    (error) => tell({ passed: false, error: String(error?.stack ?? error) }),
  )
</script>`

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' }
/** A page that shares no memory with others has precise clocks. */
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/** Serves the page and the files of a folder: the server, and what the page tells. */
async function serve(folder, html) {
  let server
  const result = new Promise((resolve, reject) => {
    server = createServer(async (request, response) => {
      const path = request.url.slice(1)
      if (path === 'result') return resolve(await json(request))
      if (path === 'open') return request.on('close', () => reject(new Error('the page crashed')))
      const type = path ? TYPES[extname(path)] : 'text/html'
      if (!type) return response.writeHead(404).end()
      const body = path ? readFileSync(join(folder, basename(path))) : html
      response.writeHead(200, { 'content-type': type, ...ISOLATED }).end(body)
    })
    const late = () => reject(new Error(`not done after ${PATIENCE_MS / 60_000} minutes`))
    setTimeout(late, PATIENCE_MS).unref()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, result }
}

/** Ends Chromium with its processes, which would go on writing into its profile. */
async function end(browser) {
  if (browser.exitCode !== null || browser.signalCode) return
  const ended = once(browser, 'exit')
  browser.kill()
  const timer = setTimeout(() => browser.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(timer)
}

async function run(file, words) {
  const flag = words.find((word) => word.startsWith('-'))
  if (flag) throw new Error(`only parts of names can follow, not ${flag}`)
  // Set-up may just have installed what it imports.
  const { FLAGS } = await import('../tests/browser.mjs')
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-tests-'))
  let server
  let browser
  try {
    await glue('tests', file, folder, '--keep-names')
    const site = await serve(folder, page(`/${basename(file, '.wasm')}.js`, words))
    server = site.server
    // Not by a driver, which is told of each request: a fifth of all time.
    const args = [
      ...[...FLAGS, '--remote-debugging-port=0', `--user-data-dir=${join(folder, 'profile')}`],
      `http://127.0.0.1:${server.address().port}/`,
    ]
    browser = spawn(first([ENGINE, ...CHROMIUM]), args, { stdio: 'ignore' })
    const gone = new Promise((_, reject) => {
      browser.on('error', reject)
      browser.on('exit', (code) => reject(new Error(`Chromium ended with ${code}`)))
    })
    const { passed, output, error } = await Promise.race([site.result, gone])
    console.log(passed === undefined && !error ? 'no tests to run!' : output)
    if (error) throw new Error(error)
    return passed !== false
  } finally {
    if (browser?.pid) await end(browser)
    server?.closeAllConnections()
    server?.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

if (process.argv[1] === own) {
  const [file, ...words] = process.argv.slice(2)
  await main(async () => process.exit((await run(file, words)) ? 0 : 1))
}
