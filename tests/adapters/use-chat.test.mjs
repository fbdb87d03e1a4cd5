// `useChat` of AI SDK 6 and 7, unmodified, under React in Chromium, before a handler of ours and the
// scripted provider.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import test, { after, before } from 'node:test'
import { defineTool, memoryStore, openaiChat } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS, until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { scriptOf, serve } from './page-site.mjs'

const VERSIONS = { 'AI SDK 6': 'ai-react6', 'AI SDK 7': '@ai-sdk/react' }

/** The page, with one version of the packages. */
function pageWith(react) {
  // `ai` is the one that this `@ai-sdk/react` uses.
  const own = createRequire(createRequire(import.meta.url).resolve(react))
  const ai = dirname(own.resolve('ai/package.json'))
  return scriptOf('use-chat.page.mjs', { '@ai-sdk/react': react, ai })
}

let [provider, browser] = []
/** Ends the sites of tests that failed, too: a server keeps the process. */
const closing = new Set()
before(async () => {
  provider = await createProvider()
  browser = await launchEngine()
})
after(async () => {
  for (const close of closing) await close()
  await browser?.close()
  await provider?.close()
})

/** A site with the page and a handler. `held` lets the tool end. */
async function site(react, { behaviour, tools, ...own }) {
  const runs = []
  let release
  const held = new Promise((resolve) => (release = resolve))
  const tool = (more) =>
    defineTool({
      description: 'd',
      inputSchema: { type: 'object' },
      readOnly: true,
      ...more,
      execute: async (args, { signal }) => {
        runs.push(args)
        if (own.holds) await Promise.race([held, once(signal, 'abort')])
        return ['notes.txt']
      },
    })
  const ofPage = defineTool({ description: 'd', inputSchema: { type: 'object' } })
  const session = crypto.randomUUID()
  const requests = []
  const handler = createHandler({
    model: () => {
      const baseURL = `${provider.url}/s/${session}/${behaviour}/v1`
      return openaiChat({ baseURL, model: 'scripted', apiKey: 'secret', maxRetries: 0 })
    },
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, more]) => [name, more === 'page' ? ofPage : tool(more)]),
    ),
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
    format: 'ai-sdk',
    ...own.handler,
  })
  const script = await pageWith(react)
  const listener = toNodeListener((request) => {
    requests.push(`${request.method} ${new URL(request.url).pathname}`)
    return handler(request)
  })
  const served = await serve(script, listener)
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  const open = async (more = own.query ?? '') => {
    const page = await context.newPage()
    page.on('pageerror', (error) => console.error(error))
    await page.goto(`${served.url}/?chat=chat%201${more}`)
    await page.waitForFunction(() => window.chat)
    return page
  }
  const close = async () => {
    closing.delete(close)
    release()
    await context.close()
    served.close()
  }
  closing.add(close)
  return { page: await open(), open, close, runs, requests, release: () => release() }
}

const send = (page, text) =>
  page.evaluate((said) => void window.chat.sendMessage({ text: said }), text)
const ready = (page) => page.waitForFunction(() => ['ready', 'error'].includes(window.chat.status))
const messages = (page) => page.evaluate(() => window.chat.messages)
const partsOf = (message) => message.parts.filter(({ type }) => type !== 'step-start')
const textOf = (message) =>
  message.parts.map(({ text, type }) => (type === 'text' ? text : '')).join('')
/** Waits until the last message has a part of this state. */
const shows = (page, state) =>
  page.waitForFunction(
    (wanted) => window.chat.messages.at(-1)?.parts.some((part) => part.state === wanted),
    state,
  )

const THINKS = { behaviour: 'thinks', tools: { list_files: {}, read_file: {} } }
const ASKS = { behaviour: 'one-call', tools: { list_files: { needsApproval: true } } }
const OF_PAGE = { behaviour: 'one-call', tools: { list_files: 'page' } }
const HOLDS = { behaviour: 'one-call', tools: { list_files: {} }, holds: true }

for (const [version, react] of Object.entries(VERSIONS)) {
  test(`${version}: reasoning, text, calls and the answer; a second turn; regenerate`, async () => {
    const handler = { twoStage: { maxTools: 2 } }
    const { page, close, runs } = await site(react, { ...THINKS, handler })
    await send(page, 'look')
    await page.waitForFunction(() => window.chat.messages.length === 2)
    await ready(page)
    const [, answer] = await messages(page)
    const parts = partsOf(answer)
    assert.deepEqual(
      parts.map(({ type, state }) => `${type} ${state}`),
      [
        'reasoning done',
        'text done',
        'tool-list_files output-available',
        'tool-read_file output-available',
        'text done',
      ],
    )
    assert.equal(parts[0].text, 'Both may be of use. ')
    assert.deepEqual(parts[2].output, ['notes.txt'])
    assert.match(textOf(answer), /^Let me see\. From the tool results .* That answers it\.$/)
    const data = await page.evaluate(() => window.data)
    assert.ok(
      data.some(({ data: { type, usage } }) => type === 'complete' && usage.totalTokens > 0),
    )
    await send(page, 'again')
    await page.waitForFunction(() => window.chat.messages.length === 4)
    await ready(page)
    assert.equal(await page.evaluate(() => window.chat.error?.message), undefined)
    const before = await messages(page)
    await page.evaluate(() => void window.chat.regenerate())
    await page.waitForFunction((id) => window.chat.messages[3]?.id !== id, before[3].id)
    await page.waitForFunction(() => window.chat.messages.length === 4)
    await ready(page)
    const after = await messages(page)
    assert.deepEqual(after.slice(0, 3), before.slice(0, 3))
    assert.match(textOf(after[3]), /That answers it\.$/)
    assert.equal(runs.length, 2)
    await close()
  })

  for (const approved of [true, false]) {
    test(`${version}: a call is ${approved ? 'approved' : 'denied'}, also after a reload`, async () => {
      const { page: first, open, close, runs } = await site(react, ASKS)
      await send(first, 'list')
      await shows(first, 'approval-requested')
      await ready(first)
      assert.equal(runs.length, 0)
      const [, asked] = await messages(first)
      // The page is gone, and with it what it knew.
      await first.close()
      const page = await open('&resume')
      await shows(page, 'approval-requested')
      await ready(page)
      const again = (await messages(page)).at(-1)
      assert.deepEqual(partsOf(again), partsOf(asked))
      assert.equal(again.id, asked.id)
      const { approval } = partsOf(again).at(-1)
      await page.evaluate((answer) => void window.chat.addToolApprovalResponse(answer), {
        id: approval.id,
        approved,
      })
      await shows(page, approved ? 'output-available' : 'output-denied')
      await page.waitForFunction(() => window.chat.messages.at(-1)?.parts.at(-1)?.type === 'text')
      await ready(page)
      const all = await messages(page)
      assert.equal(await page.evaluate(() => window.chat.error?.message), undefined)
      assert.equal(all.length, 1, 'the same message goes on')
      assert.equal(all[0].id, asked.id)
      assert.equal(runs.length, approved ? 1 : 0)
      assert.match(textOf(all[0]), approved ? /notes\.txt.*That answers it\.$/ : /\.$/)
      await close()
    })
  }

  test(`${version}: the page runs its own tool, and the same message goes on`, async () => {
    const { page, close, requests } = await site(react, { ...OF_PAGE, query: '&runs' })
    await send(page, 'where?')
    await page.waitForFunction(() => window.chat.messages.at(-1)?.parts.at(-1)?.type === 'text')
    await page.waitForFunction(() =>
      /answers it\.$/.test(window.chat.messages.at(-1)?.parts.at(-1)?.text),
    )
    await ready(page)
    const all = await messages(page)
    assert.equal(await page.evaluate(() => window.chat.error?.message), undefined)
    assert.equal(all.length, 2)
    const call = partsOf(all[1]).find(({ type }) => type === 'tool-list_files')
    assert.deepEqual([call.state, call.output], ['output-available', { at: 'home' }])
    assert.match(textOf(all[1]), /From the tool results .*home.* That answers it\.$/)
    assert.deepEqual(await page.evaluate(() => window.ran), ['list_files'])
    const posts = requests.filter((one) => one.startsWith('POST'))
    assert.deepEqual(posts, ['POST /api/chat', 'POST /api/chat/claim', 'POST /api/chat'])
    // The next message is a new turn.
    await page.evaluate(() => (window.ran.length = 0))
    await send(page, 'again')
    await page.waitForFunction(() => window.chat.messages.length === 4)
    await ready(page)
    assert.equal(await page.evaluate(() => window.chat.error?.message), undefined)
    await close()
  })

  test(`${version}: a tool of the page that fails; what it says reaches the model`, async () => {
    const { page, close } = await site(react, { ...OF_PAGE, query: '&runs&fails' })
    await send(page, 'where?')
    await page.waitForFunction(() =>
      /answers it\.$/.test(window.chat.messages.at(-1)?.parts.at(-1)?.text),
    )
    await ready(page)
    const answer = (await messages(page)).at(-1)
    const call = partsOf(answer).find(({ type }) => type === 'tool-list_files')
    assert.deepEqual([call.state, call.errorText], ['output-error', 'no such place'])
    assert.match(textOf(answer), /no such place/)
    await close()
  })

  test(`${version}: two tabs see the call of a page: one runs it`, async () => {
    const { page: first, open, close } = await site(react, { ...OF_PAGE, query: '&runs' })
    await first.evaluate(() => {
      window.held = new Promise((resolve) => (window.letGo = resolve))
    })
    await send(first, 'where?')
    await first.waitForFunction(() => window.ran.length === 1)
    const second = await open('&resume&runs')
    await shows(second, 'input-available')
    await ready(second)
    await second.waitForFunction(() => window.data.some(({ data }) => data.calls))
    await first.evaluate(() => window.letGo())
    await first.waitForFunction(() =>
      /answers it\.$/.test(window.chat.messages.at(-1)?.parts.at(-1)?.text),
    )
    assert.deepEqual(await second.evaluate(() => window.ran), [])
    // The user of the other tab answers, too: the turn is over, and nothing runs again.
    await second.evaluate(() => window.answer({ at: 'work' }))
    await second.waitForFunction(() => window.chat.status === 'error')
    assert.match(await second.evaluate(() => window.chat.error.message), /turn\.conflict/)
    await close()
  })

  test(`${version}: the user answers the call of a page after a reload`, async () => {
    const { page: first, open, close } = await site(react, OF_PAGE)
    await send(first, 'where?')
    await shows(first, 'input-available')
    await ready(first)
    const [, asked] = await messages(first)
    await first.close()
    const page = await open('&resume')
    await shows(page, 'input-available')
    await ready(page)
    assert.equal((await messages(page)).at(-1).id, asked.id)
    await page.evaluate(() => window.answer({ at: 'sea' }))
    await page.waitForFunction(() =>
      /answers it\.$/.test(window.chat.messages.at(-1)?.parts.at(-1)?.text),
    )
    await ready(page)
    const all = await messages(page)
    assert.equal(all.length, 1)
    assert.match(textOf(all[0]), /From the tool results .*sea/)
    await close()
  })

  test(`${version}: a page that is reloaded sees the turn that runs, and nothing where none does`, async () => {
    const { page: first, open, close, runs, release, requests } = await site(react, HOLDS)
    await send(first, 'list')
    await shows(first, 'input-available')
    const [, started] = await messages(first)
    await first.close()
    const page = await open('&resume')
    await shows(page, 'input-available')
    release()
    await page.waitForFunction(() => window.chat.messages.at(-1)?.parts.at(-1)?.type === 'text')
    await ready(page)
    const [message, ...more] = await messages(page)
    assert.deepEqual([message.id, more.length, runs.length], [started.id, 0, 1])
    assert.match(textOf(message), /^Let me look at the files\. From .* That answers it\.$/)
    await page.close()
    const last = await open('&resume')
    await until(() => requests.filter((one) => one.startsWith('GET')).length >= 2)
    await ready(last)
    assert.deepEqual(await messages(last), [])
    await close()
  })

  test(`${version}: stop ends the turn where the handler says so`, async () => {
    let ended
    const handler = { clientGone: 'stop', onEnd: (result) => void (ended = result) }
    const { page, close } = await site(react, { ...HOLDS, handler })
    await send(page, 'list')
    await shows(page, 'input-available')
    await page.evaluate(() => window.chat.stop())
    await until(() => ended)
    assert.equal(ended.status, 'cancelled')
    await ready(page)
    await close()
  })

  test(`${version}: a failure is the error of the chat`, async () => {
    const broken = { ...THINKS, behaviour: 'no-such-behaviour' }
    const { page, close } = await site(react, broken)
    await send(page, 'look')
    await page.waitForFunction(() => window.chat.status === 'error')
    const said = await page.evaluate(() => window.chat.error.message)
    assert.match(said, /^model\.status: the model refused the request \(status 404\)$/)
    await close()
  })
}

test('bodies that are none of a chat are refused', async () => {
  const handler = createHandler({
    model: openaiChat({ baseURL: 'http://127.0.0.1:9/v1', model: 'm' }),
    format: 'ai-sdk',
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
  })
  const post = (body) =>
    handler(
      new Request('http://localhost/api/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  const part = { type: 'tool-pay', toolCallId: 'c1', state: 'approval-responded' }
  const answer = (approval) => ({ id: 'm1', role: 'assistant', parts: [{ ...part, approval }] })
  const wrong = [
    {},
    { messages: [] },
    { messages: [{ id: 'm1', role: 'assistant', parts: [{ type: 'text', text: 'hi' }] }] },
    { messages: [answer({ id: 'none', approved: true })] },
    { messages: [answer({ id: '0'.repeat(64), approved: 'yes' })] },
    { messages: [{ ...answer({ id: '0'.repeat(64), approved: true }), id: 7 }] },
    {
      messages: [
        { id: 'm1', role: 'assistant', parts: [{ ...part, state: 'output-available', output: 1 }] },
      ],
    },
  ]
  for (const body of wrong) {
    const response = await post(body)
    const { error } = await response.json()
    assert.deepEqual([response.status, error.code], [400, 'request.invalid'], JSON.stringify(body))
  }
  const gone = await post({ messages: [answer({ id: '0'.repeat(64), approved: true })] })
  assert.deepEqual([gone.status, (await gone.json()).error.code], [404, 'turn.not_found'])
  const none = await handler(new Request('http://localhost/api/chat/some%20chat/stream'))
  assert.equal(none.status, 204)
  assert.throws(() => createHandler({ format: 'ai', model: {}, store: {}, authorize() {} }), {
    code: 'options.invalid',
  })
})
