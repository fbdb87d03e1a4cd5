// Cold start: from the import of a page's script to the first text of a turn, beside `streamText`
// of the npm package `ai`, both bundled by esbuild, the model's response at hand. In Node and
// Chromium a process or tab of its own each time; in workerd the first request of an isolate. In
// Chromium also the longest time for which the page's thread was not free, and the same with a
// CPU that is four times slower. Medians, interleaved. npm run bench -- cold
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { launch } from '../tests/browser.mjs'
import { median } from './measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const here = fileURLToPath(new URL('.', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'turnlock-cold-'))

const RESPONSE = `
const line = (delta, finish_reason = null) =>
  'data: ' + JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm',
    choices: [{ index: 0, delta, finish_reason }] }) + '\\n\\n'
const fetch = async () => new Response(
  line({ role: 'assistant', content: 'hello' }) + line({}, 'stop') + 'data: [DONE]\\n\\n',
  { headers: { 'content-type': 'text/event-stream' } })
const baseURL = 'http://model/v1'
`
const SUBJECTS = {
  turnlock: `import { openaiChat, runTurn } from 'turnlock'
    ${RESPONSE}
    export async function first() {
      const messages = [{ role: 'user', content: 'go' }]
      const turn = runTurn({ model: openaiChat({ baseURL, model: 'm', fetch }), messages })
      for await (const event of turn) if (event.type === 'text') return event.chunk
    }`,
  ai: `import { streamText } from 'ai'
    import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
    ${RESPONSE}
    export async function first() {
      const model = createOpenAICompatible({ name: 'm', baseURL, fetch })('m')
      const { textStream } = streamText({ model, messages: [{ role: 'user', content: 'go' }] })
      for await (const text of textStream) return text
    }`,
}

const shown = (ms) => (ms === undefined ? '–' : ms.toFixed(1))

async function bundle(name, contents, conditions) {
  const outdir = join(home, name)
  const options = conditions
    ? { conditions, loader: { '.wasm': 'copy' }, assetNames: '[name]' }
    : { splitting: true }
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(here, '../tests') },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir,
    entryNames: 'page',
    write: false,
    logLevel: 'error',
    ...options,
  })
  return outputFiles
}

/** Node: a process each. */
function inNode(name) {
  const script = `
    const start = performance.now()
    const { first } = await import('${join(home, name, 'page.js')}')
    if ((await first()) !== 'hello') throw new Error('no text')
    console.log(performance.now() - start)`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script])
  const ms = Number(String(stdout))
  if (!(ms > 0)) throw new Error(String(stderr))
  return ms
}

/** Chromium: a profile each; the time, and the longest gap between two turns of the event loop. */
async function inChromium(browser, origin, name, slower) {
  const context = await browser.newContext()
  const tab = await context.newPage()
  await tab.goto(origin)
  const session = await context.newCDPSession(tab)
  await session.send('Emulation.setCPUThrottlingRate', { rate: slower })
  const seen = await tab.evaluate(async (path) => {
    let [longest, last, over] = [0, performance.now(), false]
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      const now = performance.now()
      ;[longest, last] = [Math.max(longest, now - last), now]
      if (!over) port2.postMessage(0)
    }
    port2.postMessage(0)
    await new Promise((resolve) => setTimeout(resolve, 50))
    ;[longest, last] = [0, performance.now()]
    const start = performance.now()
    const { first } = await import(path)
    if ((await first()) !== 'hello') throw new Error('no text')
    const ms = performance.now() - start
    over = true
    return { ms, longest }
  }, `/${name}/page.js`)
  await context.close()
  return seen
}

/** workerd: the first request of an isolate, less the second. */
async function inWorkerd(name) {
  const script = readFileSync(join(home, `${name}.workerd.mjs`), 'utf8')
  const wasm = name === 'turnlock' && readFileSync(join(home, 'turnlock.wasm'))
  const worker = new Miniflare({
    compatibilityDate: '2025-05-01',
    compatibilityFlags: ['nodejs_compat'],
    modules: [
      { type: 'ESModule', path: 'worker.mjs', contents: script },
      ...(wasm ? [{ type: 'CompiledWasm', path: 'turnlock.wasm', contents: wasm }] : []),
    ],
  })
  await worker.ready
  const ask = async () => {
    const start = performance.now()
    const text = await (await worker.dispatchFetch('http://w/')).text()
    if (text !== 'hello') throw new Error(text)
    return performance.now() - start
  }
  const first = await ask()
  const second = await ask()
  await worker.dispose()
  return first - second
}

for (const [name, contents] of Object.entries(SUBJECTS)) {
  mkdirSync(join(home, name))
  for (const { path, contents: bytes } of await bundle(name, contents)) writeFileSync(path, bytes)
  const handler = `${contents}
    export default { fetch: async () => new Response(await first()) }`
  for (const { path, contents: bytes } of await bundle(name, handler, ['workerd', 'browser'])) {
    const file = path.endsWith('.wasm') ? 'turnlock.wasm' : `${name}.workerd.mjs`
    writeFileSync(join(home, file), bytes)
  }
}
const server = createServer(({ url }, response) => {
  const isScript = url.endsWith('.js')
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? readFileSync(join(home, url)) : '<!doctype html><title>cold</title>')
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${server.address().port}`
const browser = await launch()

const times = {}
const note = (row, name, ms) => ((times[row] ??= {})[name] ??= []).push(ms)
for (let round = 0; round < ROUNDS; round++) {
  for (const name of Object.keys(SUBJECTS)) {
    note('Node', name, inNode(name))
    for (const slower of [1, 4]) {
      const { ms, longest } = await inChromium(browser, origin, name, slower)
      const where = slower === 1 ? 'Chromium' : 'Chromium, CPU 4 times slower'
      note(where, name, ms)
      note(`${where}: longest block`, name, longest)
    }
    note('workerd, first request less the second', name, await inWorkerd(name))
  }
}
console.log('| to the first text, ms | turnlock | `ai` | ratio |\n|---|---|---|---|')
for (const [row, { turnlock, ai }] of Object.entries(times)) {
  const [ours, theirs] = [median(turnlock), median(ai)]
  console.log(`| ${row} | ${shown(ours)} | ${shown(theirs)} | ${(ours / theirs).toFixed(2)} |`)
}
await browser.close()
server.close()
rmSync(home, { recursive: true, force: true })
