// Runs Rust tests that are compiled to wasm in Chromium. Cargo starts it for each test binary:
// `in-chromium.mjs <file.wasm> [part of a test's name …]`.
//
// The runner of wasm-bindgen's command line compiles two hundred crates and needs a web driver; all that
// this has to do is to open a page. What the page calls is the interface between that runner and
// `wasm-bindgen-test`, both of the version that Cargo.lock holds. Players of
// tables open their page by `show`, too (tests/runtimes.mjs).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, extname, join, relative, resolve } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { unlessFresh } from '../../scripts/build/fresh.mjs'
import { bindgen, glue } from '../../scripts/build/tools.mjs'
import { CHROMIUM, ENGINE, first, root } from '../../scripts/setup.mjs'
import { main } from '../../scripts/tasks.mjs'

const runner = fileURLToPath(import.meta.url)

/** The arguments by which cargo runs wasm tests here: an array, since a path may have spaces. */
export const inChromium = [
  '--config',
  `target.wasm32-unknown-unknown.runner=${JSON.stringify([process.execPath, runner])}`,
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

/**
 * The script of a page that tells what `work` gives, or what it throws as `{ error }`; `work` is the text
 * of a function's body in braces, and may use `wrong`.
 */
export const telling = (work) => `<script type="module">
  // It stays open as long as the page.
  fetch('/open').catch(() => {})
  const tell = (told) => fetch('/result', { method: 'POST', body: JSON.stringify(told) })
  const wrong = (error) => ({ error: String(error?.stack ?? error) })
  const work = async () => ${work}
  work().catch(wrong).then(tell)
</script>`

/** The page: the tests write what they have done into the element `output`. */
export const page = (from, words) => `<!doctype html><meta charset="utf-8"><pre id="output"></pre>
<script>${runTests}</script>
${telling(`{
    const told = await runTests(${JSON.stringify(from)}, ${JSON.stringify(words)}).then(
      (passed) => ({ passed }),
      (error) => ({ passed: false, ...wrong(error) }),
    )
    return { output: document.getElementById('output').textContent, ...told }
  }`)}`

const TYPES = {
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
}
/** A page that shares no memory with others has precise clocks. */
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/** Serves the page and its files: the server, and what the page tells. */
async function serve(html, fileOf, patience) {
  let server
  const result = new Promise((resolve, reject) => {
    server = createServer(async (request, response) => {
      const path = request.url.slice(1)
      if (path === 'result') return resolve(await json(request))
      if (path === 'open') return request.on('close', () => reject(new Error('the page crashed')))
      const type = path ? TYPES[extname(path)] : 'text/html'
      const file = path && fileOf(path)
      if (!type || (file && !existsSync(file))) return response.writeHead(404).end()
      const body = file ? readFileSync(file) : html
      response.writeHead(200, { 'content-type': type, ...ISOLATED }).end(body)
    })
    const late = () => reject(new Error(`not done after ${patience / 60_000} minutes`))
    setTimeout(late, patience).unref()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, result }
}

const within = (folder) => (path) => join(folder, basename(path))

/**
 * Ends Chromium with all of its processes. Debian's command is a script that waits for them: a signal to
 * it alone would leave them running.
 */
async function end(browser) {
  const ended = browser.exitCode === null && !browser.signalCode && once(browser, 'exit')
  try {
    process.kill(-browser.pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
  await ended
}

/**
 * Opens a page: what it tells. Throws where it crashes, leaves, or tells nothing for so many
 * milliseconds.
 * @param {string} folder of its profile, and of its files where `fileOf` does not say where they are
 * @param {string} html with the script of `telling`
 * @param {object} options `programs`: where Chromium may be, the engine without windows first
 */
export async function show(
  folder,
  html,
  { patience = PATIENCE_MS, fileOf = within(folder), programs = [ENGINE, ...CHROMIUM] } = {},
) {
  // Set-up may just have installed what it imports.
  const { FLAGS } = await import('../browser.mjs')
  const { server, result } = await serve(html, fileOf, patience)
  let browser
  try {
    // Not by a driver, which is told of each request: a fifth of all time. The pipe is there only to be
    // closed, also when this process is killed: then Chromium ends.
    const args = [
      ...FLAGS,
      '--remote-debugging-pipe',
      `--user-data-dir=${join(folder, 'profile')}`,
      `http://127.0.0.1:${server.address().port}/`,
    ]
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']
    browser = spawn(first(programs), args, { stdio, detached: true })
    const browserEnd = new Promise((_, reject) => {
      browser.on('error', reject)
      browser.on('exit', (code) => reject(new Error(`Chromium ended with ${code}`)))
    })
    return await Promise.race([result, browserEnd])
  } finally {
    if (browser?.pid) await end(browser)
    server.closeAllConnections()
    server.close()
  }
}

/** Gives the folder with the glue of a test binary. It takes seconds to write: kept for the same bytes. */
async function glued(file) {
  const name = basename(file, '.wasm')
  // Without cargo's hash, so that the glue of a new binary takes the place of the old one's.
  const stem = name.replace(/-[\da-f]{16}$/, '')
  const folder = join('.cache', 'glue', stem)
  const from = [resolve(file), await bindgen()].map((path) => relative(root, path))
  const out = join(root, folder)
  await unlessFresh(`glue-${stem}`, from, [join(folder, `${name}.js`)], async () => {
    rmSync(out, { recursive: true, force: true })
    await glue('tests', file, out, '--keep-names')
  })
  return out
}

async function run(file, words) {
  const flag = words.find((word) => word.startsWith('-'))
  if (flag) throw new Error(`only parts of names can follow, not ${flag}`)
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-tests-'))
  try {
    const fileOf = within(await glued(file))
    const html = page(`/${basename(file, '.wasm')}.js`, words)
    const { passed, output, error } = await show(folder, html, { fileOf })
    console.log(passed === undefined && !error ? 'no tests to run!' : output)
    if (error) throw new Error(error)
    return passed !== false
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

if (process.argv[1] === runner) {
  const [file, ...words] = process.argv.slice(2)
  await main(async () => process.exit((await run(file, words)) ? 0 : 1))
}
