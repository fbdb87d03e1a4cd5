// The page as its README starts it, with all that it shows.
import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import { until } from '../patience.mjs'
import { open } from './page.mjs'
import { example } from './start.mjs'

const { start } = example(import.meta, { inPlace: true })
let url
before(async () => (url = await start({ env: { PORT: '0' } }).url()))

/** A new page, and what one does in it. */
async function visit() {
  const { page, calm } = await open(`${url}/rust-leptos/`)
  const asked = []
  page.on('request', (request) => {
    const [, session] = /\/model\/s\/([^/]+)\//.exec(request.url()) ?? []
    if (session) asked.push({ session, ...request.postDataJSON() })
  })
  await page.waitForSelector('form')
  return {
    page,
    calm,
    asked,
    send: async (behaviour, text = 'go') => {
      await page.selectOption('select', behaviour)
      await page.fill('input', text)
      await page.press('input', 'Enter')
    },
    lines: (kind) => page.locator(`.log .${kind}`).allTextContents(),
    idle: () => page.waitForSelector('button:text-is("Send"):enabled'),
  }
}

test('a call, its result, and the answer', async () => {
  const { page, send, lines, idle, calm } = await visit()
  await send('one-call')
  await page.waitForSelector('.text:has-text("That answers it")')
  await idle()
  const kinds = await page.locator('.log p').evaluateAll((all) => all.map((one) => one.className))
  assert.deepEqual(kinds, ['user', 'text', 'call', 'result', 'text'])
  const top = async (kind) => (await page.locator(`.log .${kind}`).first().boundingBox()).y
  assert.ok((await top('user')) < (await top('result')))
  assert.deepEqual(await lines('call'), ['list_files {"path":".","recursive":true}'])
  assert.deepEqual(await lines('result'), ['list_files: ["notes.txt","readme.md"]'])
  assert.equal(await page.inputValue('input'), '')
  calm()
})

test('text is shown as it streams; Stop ends the turn and closes the connection', async () => {
  const { page, send, lines, idle, asked, calm } = await visit()
  await send('stall')
  await page.waitForSelector('.text:has-text("This is the beginning of")')
  assert.ok(await page.isDisabled('button:text-is("Send")'))
  await page.click('button:text-is("Stop")')
  await idle()
  assert.deepEqual(await lines('error'), ['stopped by the user'])
  const requests = `${url}/model/s/${asked[0].session}/requests`
  await until(async () => (await (await fetch(requests)).json())[0].closedEarly)
  await send('one-call')
  await page.waitForSelector('.text:has-text("That answers it")')
  calm()
})

test('a failure has its code, and the page goes on', async () => {
  const { page, send, lines, idle, calm } = await visit()
  await send('server-error')
  await page.waitForSelector('.error')
  assert.match((await lines('error')).join(), /^model\.status: /)
  await idle()
  await send('one-call')
  await page.waitForSelector('.text:has-text("That answers it")')
  calm()
})

test('calls, results and answers are the history of the next message', async () => {
  const { send, idle, asked } = await visit()
  await send('one-call', 'first')
  await idle()
  const before = asked.length
  await send('one-call', 'second')
  await idle()
  const said = asked[before].messages.filter(({ role }) => role !== 'system')
  assert.deepEqual(
    said.map(({ role, content }) => (role === 'user' ? content : role)),
    ['first', 'assistant', 'tool', 'assistant', 'second'],
  )
  assert.equal(said[1].tool_calls[0].function.name, 'list_files')
})

test('a model that loops runs the tool once, is refused, and answers', async () => {
  const { page, send, lines, idle } = await visit()
  await send('loop')
  await page.waitForSelector('.text:has-text("That answers it")')
  await idle()
  const [first, ...repeated] = await lines('result')
  assert.match(first, /^list_files: /)
  for (const one of repeated) assert.match(one, /^list_files \(not run again\): /)
  assert.match((await lines('refused')).join(), /^list_files .* \(\w+\)/)
})

test('a call that the user approves runs', async () => {
  const { page, send, lines, idle, calm } = await visit()
  await send('list-then-read')
  assert.equal(await page.textContent('.ask code'), 'read_file {"path":"notes.txt"}')
  assert.ok(await page.isDisabled('button:text-is("Send")'))
  await page.click('text=Run it')
  await page.waitForSelector('.text:has-text("That answers it")')
  await idle()
  assert.match((await lines('result')).at(-1), /^read_file: "Buy milk\./)
  assert.equal(await page.locator('.ask').count(), 0)
  calm()
})

test('a call that the user does not approve is refused, and the turn answers', async () => {
  const { page, send, lines, idle, calm } = await visit()
  await send('list-then-read')
  await page.click('.ask button:text-is("No")')
  await page.waitForSelector('.text:has-text("That answers it")')
  await idle()
  assert.match((await lines('refused')).join(), /^read_file .* \(not_approved\)/)
  assert.equal((await lines('result')).length, 1)
  calm()
})
