// assistant-ui, unmodified, in Chromium, before a handler that speaks AG-UI and the scripted provider.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import test, { after, before } from 'node:test'
import { defineTool, memoryStore, openaiChat } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { scriptOf, serve } from './page-site.mjs'

function pageScript() {
  const own = createRequire(createRequire(import.meta.url).resolve('@assistant-ui/react-ag-ui'))
  const client = dirname(own.resolve('@ag-ui/client/package.json'))
  return scriptOf('assistant-ui.page.mjs', { '@ag-ui/client': client })
}

let [provider, browser, script] = []
/** Ends the sites of tests that failed, too: a server keeps the process. */
const closing = []
before(async () => {
  script = await pageScript()
  provider = await createProvider()
  browser = await launchEngine()
})
after(async () => {
  for (const close of closing) await close()
  await browser?.close()
  await provider?.close()
})

/** A site with the page, and a handler whose model has this behaviour. */
async function site(behaviour, handler) {
  const runs = []
  const tool = defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: (args) => {
      runs.push(args)
      return ['notes.txt']
    },
  })
  const session = crypto.randomUUID()
  const baseURL = `${provider.url}/s/${session}/${behaviour}/v1`
  const listener = toNodeListener(
    createHandler({
      model: () => openaiChat({ baseURL, model: 'scripted', apiKey: 'secret', maxRetries: 0 }),
      tools: { list_files: tool, read_file: tool },
      store: memoryStore(),
      authorize: () => ({ tenant: 't' }),
      format: 'ag-ui',
      ...handler,
    }),
  )
  const served = await serve(script, listener)
  const context = await browser.newContext()
  closing.push(async () => {
    await context.close()
    served.close()
  })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  await page.goto(served.url)
  await page.waitForFunction(() => window.runtime)
  return { page, runs, sent: () => provider.requests(session) }
}

/** Sends a message, and waits until the run behind it has ended. */
async function send(page, text) {
  const before = await page.locator('.message').count()
  await page.evaluate((said) => window.runtime.thread.append(said), text)
  await page.waitForFunction((before) => {
    const { isRunning, messages } = window.runtime.thread.getState()
    return !isRunning && messages.length >= before + 2
  }, before)
  assert.deepEqual(await page.evaluate(() => window.errors), [])
}
const texts = (page, of) => page.locator(`.message ${of}`).allTextContents()

test('reasoning, calls with their results, and the answer; then a second turn', async () => {
  const { page, runs, sent } = await site('thinks', { twoStage: { maxTools: 2 } })
  await send(page, 'look')
  assert.equal((await texts(page, '.reasoning')).join(''), 'Both may be of use. ')
  const tools = (await texts(page, '.tool')).map((text) => JSON.parse(text))
  assert.deepEqual(
    tools.map(({ toolName }) => toolName),
    ['list_files', 'read_file'],
  )
  for (const { result } of tools) assert.match(JSON.stringify(result), /notes\.txt/)
  assert.match((await texts(page, '.text')).at(-1), /That answers it\.$/)
  assert.equal(runs.length, 2)
  const before = sent().length
  await send(page, 'again')
  assert.match((await texts(page, '.text')).at(-1), /That answers it\.$/)
  // The client sends the history along, which begins with the first turn.
  assert.match(JSON.stringify(sent()[before].messages), /look[^]*again/)
})

test('a model that loops is stopped, and answers', async () => {
  const { page, runs } = await site('loop', {})
  await send(page, 'list')
  assert.match((await texts(page, '.text')).at(-1), /\w/)
  assert.equal(runs.length, 1)
})
