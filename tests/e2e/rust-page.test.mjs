// The example page in Rust, as a user meets it: served like `npm run start:rust` serves it.
import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('rust-page/')
let page
let session
beforeEach(() => {
  page = visit.page
  visit.complaints.length = 0
  session = undefined
  page.on('request', (request) => {
    const [, found] = /\/model\/s\/([^/]+)\//.exec(request.url()) ?? []
    session = found ?? session
  })
})

const send = async (behaviour) => {
  await page.selectOption('#behaviour', behaviour)
  await page.fill('#prompt', 'go')
  await page.press('#prompt', 'Enter')
}
const ended = () => page.waitForSelector('#facts li')
const rows = (kind) => page.locator(`#timeline ${kind}`).allTextContents()
const answer = () => page.locator('.message.assistant').last().textContent()
const fact = async (name) => {
  const all = await page.locator('#facts li').allTextContents()
  return all.find((text) => text.startsWith(name))?.split(': ')[1]
}
const requests = async () => (await fetch(`${visit.site.url}model/s/${session}/requests`)).json()

test('a turn with a tool: phases, one call, its result, the answer', async () => {
  await send('one-call')
  await ended()
  assert.deepEqual(await rows('.phase'), ['Tool phase', 'Action phase: the answer'])
  assert.deepEqual(await rows('.call'), ['Call list_files {"path":".","recursive":true}'])
  const result = 'list_files: ok {"files":["notes.txt","readme.md","log/today.txt"]}'
  assert.deepEqual(await rows('.ok'), [result])
  assert.deepEqual(await rows('.end'), ['Complete'])
  assert.match(await answer(), /^Let me look .* I can say: .*notes\.txt.*That answers it\.\s*$/)
  assert.equal(await fact('Runs counted'), '1')
  assert.equal(await page.textContent('#status'), 'The turn is complete.')
  assert.deepEqual(visit.complaints, [])
})

test('text is shown while the model still speaks', async () => {
  await send('stall')
  await page.waitForSelector('.message.assistant:has-text("This is the beginning of")')
  assert.equal(await page.locator('#facts li').count(), 0)
  assert.equal(await page.getAttribute('.message.assistant', 'aria-busy'), 'true')
  await page.click('#stop')
  await ended()
  assert.equal(await page.getAttribute('.message.assistant', 'aria-busy'), 'false')
})

test('a tool of Rust, then one of JavaScript', async () => {
  await page.fill('#max-tools', '2')
  await send('list-then-read')
  await ended()
  assert.equal((await rows('.ok'))[1], 'read_file: ok "Buy milk. Call Ada about the engine."')
  assert.match(await answer(), /Buy milk/)
})

test('a model that loops is refused, and answers', async () => {
  await send('loop')
  await ended()
  assert.equal(await fact('Runs counted'), '1')
  assert.match(
    (await rows('.refused')).join(),
    /^Refused \(tools_disabled\): list_files .* did not run/,
  )
  assert.match(await answer(), /notes\.txt.*That answers it/)
})

test('the same model in unified mode: its repeats do not run', async () => {
  await page.check('#unified')
  await send('loop')
  await ended()
  assert.deepEqual(await rows('.phase'), ['Unified loop'])
  assert.equal(await fact('Runs counted'), '1')
  assert.equal(await fact('Repeats not run'), '4')
})

test('Stop ends the turn, and closes the connection to the model', async () => {
  await send('stall')
  await page.waitForSelector('.message.assistant:has-text("This is the beginning")')
  await page.click('#stop')
  await ended()
  assert.deepEqual(await rows('.bad'), ['Cancelled: stopped by the user'])
  assert.equal(await page.textContent('#status'), 'The turn was stopped.')
  await until(async () => (await requests())[0].closedEarly)
  await send('answer')
  await page.waitForSelector('.message.assistant:has-text("Hello!")')
})

test('by keyboard: the focus is on Stop while a turn runs, and comes back', async () => {
  await page.selectOption('#behaviour', 'stall')
  await page.focus('#send')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#stop:focus')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#prompt:focus')
  assert.equal(await page.locator('.message.user').count(), 1)
})

test('what was said is the history of the next turn', async () => {
  await send('answer')
  await ended()
  await send('one-call')
  await page.waitForSelector('.message.assistant:has-text("That answers it")')
  const said = (await requests())[0].body.messages.filter(({ role }) => role !== 'system')
  assert.deepEqual(
    said.map(({ role, content }) => [role, content.trim()]),
    [
      ['user', 'go'],
      ['assistant', 'Hello! I can answer this without any tool.'],
      ['user', 'go'],
    ],
  )
  await page.click('#clear:enabled')
  assert.equal(await page.locator('.message').count(), 0)
  await send('answer')
  await ended()
  assert.equal((await requests())[0].body.messages.filter(({ role }) => role === 'user').length, 1)
})

test('a provider that fails is an error with its code', async () => {
  await send('server-error')
  await ended()
  assert.match((await rows('.bad')).join(), /^Error model\.status: /)
  assert.match(await page.textContent('.message.failed'), /^model\.status: /)
  await send('answer')
  await page.waitForSelector('.message.assistant:has-text("Hello!")')
})

test('a tool that panics is an error of its call; turn and page go on', async () => {
  await send('divide-by-zero')
  await ended()
  assert.deepEqual(await rows('.bad'), ['divide: error tool.threw: it panicked'])
  assert.deepEqual(await rows('.end'), ['Complete'])
  assert.match(await answer(), /it panicked/)
  // In its own words, on the console.
  assert.match(visit.complaints.join(), /attempt to divide by zero/)
  visit.complaints.length = 0
  await send('one-call')
  await page.waitForSelector('.message.assistant:has-text("notes.txt")')
  await ended()
  assert.equal(await fact('Runs counted'), '1')
  assert.deepEqual(visit.complaints, [])
})

test('what the page got wrong is said, and nothing is asked', async () => {
  await page.fill('#prompt', ' ')
  await page.press('#prompt', 'Enter')
  await page.waitForSelector('#status:has-text("Write a message first")')
  await page.selectOption('#provider', 'real')
  await page.fill('#prompt', 'go')
  await page.press('#prompt', 'Enter')
  await page.waitForSelector('#status:has-text("options.invalid")')
  assert.equal(await page.inputValue('#prompt'), 'go')
  assert.equal(await page.locator('.message').count(), 0)
})

test('a real endpoint gets the key and the model name', async () => {
  const provider = await createProvider()
  await page.selectOption('#provider', 'real')
  await page.fill('#base-url', `${provider.url}/s/real/answer/v1`)
  await page.fill('#model', 'mine')
  await page.fill('#key', 'sk-x')
  const asked = page.waitForRequest(/chat\/completions/)
  await page.fill('#prompt', 'go')
  await page.press('#prompt', 'Enter')
  const headers = await (await asked).allHeaders()
  assert.equal(headers.authorization, 'Bearer sk-x')
  await page.waitForSelector('.message.assistant:has-text("Hello!")')
  assert.equal(provider.requests('real')[0].body.model, 'mine')
  await provider.close()
})

test('on a phone nothing is wider than the screen', async () => {
  await page.setViewportSize({ width: 390, height: 800 })
  await send('loop')
  await ended()
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390)
})
