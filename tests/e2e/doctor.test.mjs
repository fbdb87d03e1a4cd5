// What a provider would refuse in a trace and how it is repaired, as a user of the page meets it.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#doctor', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})
/** Nothing complained: no console error, no blocked script. */
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

/** The history of the issue: a tool message that no call leads to. */
const ORPHAN = [
  { role: 'user', content: 'What is 6 times 7?' },
  { role: 'tool', tool_call_id: 'call_lost', content: '42' },
  { role: 'assistant', content: 'It is 42.' },
  { role: 'user', content: 'Are you sure?' },
]

const said = (outcome) => page.locator('#outcome').filter({ hasText: outcome }).waitFor()
/** Pastes, and waits until the page says of it what fits `outcome`. */
async function paste(history, outcome) {
  // Nothing first: what was said of another history might fit as well.
  await page.fill('#history', '')
  await said(/^Paste a history/)
  await page.fill('#history', typeof history === 'string' ? history : JSON.stringify(history))
  await said(outcome)
}
const texts = (selector) => page.locator(selector).allTextContents()
const output = async (part = 'messages') => JSON.parse(await page.textContent(`#output-${part}`))

test('a pasted history: what is wrong, what was done, what remains', async () => {
  await paste(ORPHAN, /1 violation, 1 repair: 3 messages for OpenAI Chat/)
  assert.equal(await page.inputValue('#example'), '')
  const [violation, ...more] = await texts('#violations li')
  assert.deepEqual(more, [])
  assert.match(violation, /^Element 1TOOL_RESULT_ORPHAN call call_lost./)
  const [repair, ...others] = await texts('#repairs li')
  assert.deepEqual(others, [])
  assert.match(repair, /^Element 1dropped: TOOL_RESULT_ORPHAN call call_lost./)
  assert.deepEqual(await output(), [ORPHAN[0], ORPHAN[2], ORPHAN[3]])
  assert.match(await page.textContent('#output'), /^Checked again: no violation\./)
})

test('the elements stand in the order of the list, with their marks beside them', async () => {
  await paste(ORPHAN, /1 repair/)
  const heads = await texts('#elements .row')
  assert.deepEqual(heads, [
    '0 user',
    '1 toolTOOL_RESULT_ORPHANdropped: TOOL_RESULT_ORPHAN',
    '2 assistant',
    '3 user',
  ])
  const shown = await texts('#elements pre')
  assert.deepEqual(
    shown.map((text) => JSON.parse(text)),
    ORPHAN,
  )
})

test('another dialect, another shape, and what stands beside the messages', async () => {
  await paste([{ role: 'system', content: 'Be brief.' }, ...ORPHAN], /OpenAI Chat/)
  await page.selectOption('#dialect', 'gemini')
  await page
    .locator('#outcome')
    .filter({ hasText: /for Gemini/ })
    .waitFor()
  assert.deepEqual((await output())[0], { role: 'user', parts: [{ text: ORPHAN[0].content }] })
  await page.selectOption('#dialect', 'anthropic')
  await page
    .locator('#outcome')
    .filter({ hasText: /for Anthropic/ })
    .waitFor()
  assert.match(JSON.stringify(await output('system')), /Be brief\./)
})

test('by keyboard from a repair to its element, and back by its mark', async () => {
  await paste(ORPHAN, /1 repair/)
  await page.focus('#repairs .place')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#element-1:focus.pointed')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#repairs li:focus.pointed')
  assert.equal(await page.locator('.pointed').count(), 1)
})

test('a click anywhere on a row brings its element into sight', async () => {
  const long = Array.from({ length: 60 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: `line ${n}`,
  }))
  await paste([...long, ORPHAN[1], { role: 'user', content: 'And?' }], /repair/)
  await page.click('#repairs li strong')
  await page.waitForSelector('#element-60.pointed')
  // The page scrolls there smoothly.
  await page.waitForFunction(() => {
    const one = document.querySelector('#element-60')
    const [own, list] = [one, one.parentElement].map((each) => each.getBoundingClientRect())
    return own.top >= list.top - 1 && own.bottom <= list.bottom + 1 && own.top < innerHeight
  })
})

test('broken JSON is named with its place, and leaves the page usable', async () => {
  await paste(
    '[{"role":"user","content":"grün"},\n {"role":,}\n]',
    /^json\.syntax: not JSON at line 2, column 10: "," cannot stand there$/,
  )
  assert.equal(await page.getAttribute('#history', 'aria-invalid'), 'true')
  assert.deepEqual(await texts('#repairs li'), ['Not known.'])
  await page.click('#violations .place')
  const picked = await page.$eval('#history', (field) =>
    field.value.slice(field.selectionStart, field.selectionEnd),
  )
  assert.equal(picked, ',')
  await paste('[', /^json\.syntax: .*: the text ends too early$/)
  await paste(ORPHAN, /1 repair/)
  assert.equal(await page.getAttribute('#history', 'aria-invalid'), 'false')
})

test('an element of no known shape is named and marked', async () => {
  await paste([ORPHAN[0], { weather: 'fine' }], /^message\.unknown_shape: /)
  assert.match((await texts('#violations li'))[0], /^Element 1Error: message\.unknown_shape/)
  assert.equal((await texts('#elements .row'))[1], '1 objectmessage.unknown_shape')
  await page.click('#violations .place')
  await page.waitForSelector('#element-1:focus')
  for (const odd of [null, 7, 'text', [], {}, { lc: 1, id: { at: 1 } }]) {
    await paste([ORPHAN[0], odd], /^message\.unknown_shape: /)
  }
})

test('an empty list has findings that lead to no element', async () => {
  await paste([], /1 violation, 1 repair: 1 message for/)
  assert.match((await texts('#repairs li'))[0], /^Element 0synthesized: MSG_LIST_EMPTY/)
  assert.equal(await page.locator('#repairs button').count(), 0)
  assert.deepEqual(await texts('#elements li'), ['Nothing to list.'])
})

test('what is no list is refused with the reason; an empty field is no error', async () => {
  await paste(
    { model: 'm', settings: { temperature: 1 } },
    /^options\.invalid: there is no history/,
  )
  await paste('42', /^options\.invalid: there is no history in it/)
  await page.fill('#history', ' \n')
  await said(/^Paste a history/)
})

test('every example, for every dialect: repaired, and clean when checked again', async () => {
  const values = (selector) =>
    page.$$eval(`${selector} option`, (all) => all.map(({ value }) => value).filter(Boolean))
  const examples = await values('#example')
  assert.ok(examples.length >= 6)
  for (const example of examples) {
    await page.selectOption('#example', example)
    for (const dialect of await values('#dialect')) {
      await page.selectOption('#dialect', dialect)
      const [outcome, check] = [
        await page.textContent('#outcome'),
        await page.textContent('#output > p'),
      ]
      const about = `${example}, ${dialect}: ${outcome}`
      assert.match(outcome, /repair/, about)
      assert.equal(check, 'Checked again: no violation.', about)
    }
  }
})

test('what was typed is there again after a look at an example', async () => {
  await paste(ORPHAN, /1 repair/)
  await page.selectOption('#example', { index: 2 })
  assert.notDeepEqual(JSON.parse(await page.inputValue('#history')), ORPHAN)
  await page.selectOption('#example', '')
  assert.deepEqual(JSON.parse(await page.inputValue('#history')), ORPHAN)
})

test('nothing to repair is said plainly', async () => {
  await page.selectOption('#example', 'OpenAI Chat, nothing wrong')
  const outcome = await page.textContent('#outcome')
  assert.equal(outcome, 'Nothing to repair: OpenAI Chat takes this history as it is.')
  assert.deepEqual(await texts('#violations li'), ['None.'])
  assert.deepEqual(await texts('#repairs li'), ['Nothing to repair.'])
  assert.deepEqual(await output(), JSON.parse(await page.inputValue('#history')))
  await page.selectOption('#dialect', 'anthropic')
  assert.match(
    await page.textContent('#outcome'),
    /^Nothing to repair, only to say in other words: /,
  )
  assert.deepEqual(await texts('#repairs li'), ['Nothing to repair.'])
})

test('the strategies: text only, and a thread with its id', async () => {
  await page.selectOption('#example', 'Parallel calls, results reversed, a user in between')
  await page.selectOption('#strategy', 'text_only')
  assert.doesNotMatch(JSON.stringify(await output()), /tool_call/)
  assert.equal(await page.isVisible('#conversation'), false)
  await page.selectOption('#strategy', 'thread')
  const first = await output('threadId')
  await page.fill('#conversation', '')
  await said(/^options\.invalid: .*conversationId/)
  await page.fill('#conversation', 'another')
  await said(/OpenAI Chat/)
  assert.notEqual(await output('threadId'), first)
  await paste(ORPHAN.slice(0, 3), /: 0 messages for OpenAI Chat/)
  assert.match(await page.textContent('#output'), /^Nothing to send/)
})

test('the copy is the whole list, also where the view is cut', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const long = 'x'.repeat(5_000)
  await paste([{ role: 'user', content: long }], /Nothing to repair/)
  assert.match(await page.textContent('#output-messages'), /x… \(5000 characters\)/)
  await page.click('#output button')
  await page.locator('#copied').filter({ hasText: 'copied' }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.deepEqual(JSON.parse(copied), [{ role: 'user', content: long }])
})

test('where the clipboard is closed, the whole text is selected instead', async () => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('closed'))
  })
  const history = [{ role: 'user', content: 'y'.repeat(5_000) }]
  await paste(history, /Nothing to repair/)
  await page.click('#output button')
  await page.locator('#copied').filter({ hasText: 'selected' }).waitFor()
  const selected = await page.evaluate(() => getSelection().toString())
  assert.deepEqual(JSON.parse(selected), history)
})

test('what was pasted stays text', async () => {
  const tag = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
  const odd = { role: 'tool', tool_call_id: tag, content: tag }
  await paste([{ role: 'user', content: tag }, odd, { role: 'user', content: tag }], /1 repair/)
  const user = { role: 'user', content: tag }
  await paste([user, user, { [tag]: tag, role: tag }], /unknown_shape/)
  await paste([{ [tag]: tag, role: tag }], /unknown_format/)
  assert.equal(await page.locator('#doctor :is(img, script)').count(), 0)
  assert.equal(await page.title(), 'Your trace · Turnlock')
})

test('the address leads to the view, and Back leaves it', async () => {
  assert.equal(await page.isVisible('#turn'), false)
  await page.click('#views a[href="#turn"]')
  await page.waitForSelector('#prompt')
  assert.equal(await page.isVisible('#history'), false)
  await page.goBack()
  await page.waitForSelector('#history')
  assert.equal(await page.textContent('#views [aria-current]'), 'Your trace')
})

test('every control has a name, and a phone sees no sideways scroll', async () => {
  await page.selectOption('#strategy', 'thread')
  const nameless = await page.$$eval('#doctor :is(input, select, textarea, button)', (all) =>
    all
      .filter((one) => !(one.labels?.length || one.textContent.trim()))
      .map((one) => one.outerHTML),
  )
  assert.deepEqual(nameless, [])
  await page.selectOption('#strategy', 'reconstruct')
  await page.setViewportSize({ width: 390, height: 800 })
  await paste([{ ...ORPHAN[1], tool_call_id: 'a'.repeat(200) }, ORPHAN[0]], /1 repair/)
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(sideways, false)
})
