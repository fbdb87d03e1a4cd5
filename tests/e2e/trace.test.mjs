// "Your trace" in the page: where a text loops, who would refuse it, a replay, a link.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { afterEach, beforeEach } from 'node:test'
import { asked, body, LOOP, said, told } from './looping.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#doctor')
let page
beforeEach(() => {
  page = visit.page
})
/** Nothing complained: no console error, no blocked script. */
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const paste = async (value) => {
  await page.fill('#history', typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}
const shows = (selector, text) => page.locator(selector).filter({ hasText: text }).waitFor()

test('first sight: a trace that loops, found, and stopped by a budget', async () => {
  assert.match(
    await page.textContent('#recognised'),
    /^OpenAI request body · 28 elements · 13 calls/,
  )
  assert.match(await page.textContent('#loops-verdict'), /^read_file .* 12 times in one turn/)
  assert.match(await page.textContent('#loops-saved'), /^With maxTools: 2 .*10 model calls/)
  assert.equal(await page.locator('#loops-rows circle').count(), 13)
  assert.equal(await page.locator('#loops-rows circle.again').count(), 11)
  await page.locator('#loops-budget').fill('1')
  await shows('#loops-saved', /^With maxTools: 1 .*11 model calls/)
  await page.click('#loops-replay')
  await shows('#replay-said', /^complete: 1 call ran, then an answer\.$/)
  const events = await page.locator('#replay-events li').count()
  await page.locator('#replay-at').fill('0')
  assert.equal(JSON.parse(await page.textContent('#replay-json')).type, 'phase_start')
  assert.equal(await page.locator('#replay-events .later').count(), events - 1)
  await page.locator('#replay-events button').nth(2).click()
  assert.equal(await page.inputValue('#replay-at'), '2')
})

test('in a replay nothing runs twice', async () => {
  await paste(body)
  await shows('#recognised', /5 calls/)
  await page.locator('#loops-budget').fill('5')
  await page.click('#loops-replay')
  await shows(
    '#replay-said',
    /^complete: 2 calls ran, 3 asked again and got the same result without a run, then/,
  )
})

test('every provider at a glance; a click chooses it', async () => {
  await paste([said, told('lost')])
  await shows('#recognised', /2 elements/)
  await page.waitForFunction(() => !document.querySelector('#providers').textContent.includes('…'))
  const chips = await page.locator('#providers button').allTextContents()
  assert.equal(chips.length, await page.locator('#dialect option').count())
  assert.ok(chips.includes('OpenAI Chat✕ 1'), chips.join())
  await page.click('#providers [value="anthropic"]')
  assert.equal(await page.inputValue('#dialect'), 'anthropic')
  await page.waitForSelector('#providers [value="anthropic"][aria-pressed="true"]')
  await shows('#outcome', /for Anthropic/)
})

test("a provider's error leads to the message that it is about", async () => {
  const refusal =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
  await paste([said, told('lost'), said])
  await page.fill('#refusal', refusal)
  await shows('#refusal-about', /TOOL_RESULT_ORPHAN.*element 1/)
  await page.waitForSelector('#violations li.pointed')
  await page.fill('#refusal', 'insufficient quota')
  await shows('#refusal-about', /No rule/)
  await page.fill('#refusal', '')
  await paste({ error: { message: refusal, type: 'invalid_request_error' } })
  await shows('#recognised', /^error of a provider$/)
  await shows('#outcome', /^It names .*TOOL_RESULT_ORPHAN/)
})

test('a file that is dropped is read, and what is in it stays text', async () => {
  const tag = '<img src=x onerror="document.title=1">'
  const hostile = [said, asked('c', JSON.stringify({ [tag]: tag }), tag), told('c', tag), said]
  const text = JSON.stringify({ messages: hostile, [tag]: 1 })
  await page.evaluate((given) => {
    const held = new DataTransfer()
    held.items.add(new File([given], 'trace.json'))
    document
      .querySelector('#doctor h1')
      .dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true }))
  }, text)
  await shows('#recognised', /^OpenAI request body · 4 elements · 1 call; beside it: <img/)
  await page.click('#loops-replay')
  await shows('#replay-said', /^complete/)
  assert.equal(await page.locator('#doctor img').count(), 0)
  assert.equal(await page.title(), 'Your trace · Turnlock')
})

test('a link holds the trace, and nothing else does', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const text = JSON.stringify({ messages: [{ role: 'user', content: 'ünïcode 東京 🦊' }, ...LOOP] })
  await paste(text)
  await shows('#recognised', /6 calls|5 calls/)
  const requests = []
  page.on('request', (request) => requests.push(request.url()))
  await page.click('#trace-share')
  await shows('#trace-shared', /^Copied/)
  assert.deepEqual(requests, [])
  const link = await page.evaluate(() => navigator.clipboard.readText())
  const other = await visit.open(await page.context().browser().newContext())
  await other.goto(link)
  await other.locator('#recognised').filter({ hasText: '12 elements' }).waitFor()
  assert.equal(await other.inputValue('#history'), text)
  await other.goto(`${link.split('?')[0]}?t=AAAA`)
  await other.locator('#trace-shared').filter({ hasText: 'broken' }).waitFor()
  await other.context().close()
  // Random digits do not deflate.
  const noise = Array.from({ length: 9000 }, () => crypto.randomUUID()).join('')
  await paste([{ role: 'user', content: noise }])
  await page.click('#trace-share')
  await shows('#trace-shared', /^Too long/)
})

test('the theme is chosen, and kept', async () => {
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await ground()
  await page.click('#theme')
  assert.equal(await page.textContent('#theme'), 'Theme: light')
  assert.notEqual(await ground(), dark)
  await page.reload()
  await page.waitForSelector('[data-ready]')
  assert.equal(await page.textContent('#theme'), 'Theme: light')
  await page.click('#theme')
  await page.emulateMedia({ colorScheme: 'light' })
  assert.equal(await ground(), dark)
  await page.click('#theme')
  assert.equal(await page.textContent('#theme'), 'Theme: system')
})

test('the session of a coding agent: its calls, its provider; what is no known format', async () => {
  const read = (name) => {
    const at = new URL(`../../pkg/test/recordings/${name}.json`, import.meta.url)
    return JSON.parse(readFileSync(at, 'utf8'))
      .lines.map((line) => JSON.stringify(line))
      .join('\n')
  }
  await paste(read('codex-reads-again'))
  await shows('#recognised', /^Codex session · \d+ elements · \d+ calls/)
  await shows('#loops-verdict', /^exec_command .* 3 times in one turn/)
  await paste(read('unknown-pi-session'))
  await shows('#recognised', /^unknown format · 5 elements/)
  await shows('#outcome', /^message\.unknown_format: /)
  assert.equal(await page.locator('#providers .chip.bad').count(), 0)
})
