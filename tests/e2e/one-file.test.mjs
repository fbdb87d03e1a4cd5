// `turnlock/browser`: one file, copied to any server, imported by a page without a bundler.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import test from 'node:test'
import { launchEngine } from '../browser.mjs'

const folder = join(import.meta.dirname, '../../pkg')
const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const file = readFileSync(join(folder, exports['./browser'].default))

const PAGE = `<!doctype html><title>One file</title><script type="module" src="/own.js"></script>`
// No model is asked: what it would say is in the page.
const OWN = `
import { customModel, defineTool, diagnoseHistory, normalizeHistory, runBundle, runChain, runTurn, signature } from '/lib/turnlock.js'
const model = customModel(async function* ({ tools, tool_choice: choice }) {
  if (!tools?.length || choice === 'none') return yield { type: 'text', text: 'Two files.' }
  yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'look' }
  yield { type: 'tool_call_arguments', index: 0, text: '{"path":"."}' }
  yield { type: 'tool_call_end', index: 0 }
})
const look = defineTool({ description: 'Looks.', inputSchema: { type: 'object' }, readOnly: true, execute: () => ['a', 'b'] })
const messages = [{ role: 'user', content: 'What is there?' }]
const { text, status, toolResults } = await runTurn({ model, messages, tools: { look } }).result
const orphan = [...messages, { role: 'tool', tool_call_id: 'x', content: '1' }]
const outcome = await runChain({ query: 'x', classify: () => 'simple', answer: () => 'direct', plan() {}, search() {}, synthesize() {} }).result
globalThis.found = {
  text, status, ran: toolResults.length,
  signed: signature({ tool: 'look', args: { path: '.' } }),
  wrong: diagnoseHistory(orphan, { dialect: 'openai-chat' }).length,
  mended: normalizeHistory(orphan, { dialect: 'openai-chat' }).messages.length,
  chain: outcome.text, bundle: typeof runBundle,
}
`

test('a page imports one file, under a strict policy, and has everything', async (t) => {
  const asked = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    const [type, body] = {
      '/': ['text/html', PAGE],
      '/own.js': ['text/javascript', OWN],
      '/lib/turnlock.js': ['text/javascript', file],
    }[request.url] ?? ['text/plain', '']
    response.writeHead(body ? 200 : 404, {
      'content-type': type,
      'content-security-policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'",
    })
    response.end(body)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const browser = await launchEngine()
  t.after(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
  })
  const page = await browser.newPage()
  const complaints = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(`http://127.0.0.1:${server.address().port}/`)
  await page.waitForFunction(() => globalThis.found)
  const found = await page.evaluate(() => globalThis.found)
  assert.deepEqual(
    complaints.filter((text) => !text.includes('favicon')),
    [],
  )
  assert.match(found.signed, /^[0-9a-f]{64}$/)
  assert.deepEqual(
    { ...found, signed: undefined },
    {
      text: 'Two files.',
      status: 'complete',
      ran: 1,
      signed: undefined,
      wrong: 1,
      mended: 1,
      chain: 'direct',
      bundle: 'function',
    },
  )
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/lib')),
    ['/lib/turnlock.js'],
  )
})
