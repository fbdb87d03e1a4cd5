// Turns that outlive the page: pause, approve, reload, stop, and a second tab.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})
/** Nothing complained: no console error, no blocked script. */
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const NOTE = 'To Ada: The engine is next.'

/** Sends with all the patience for the model that a slow machine needs, unless `set` says less. */
const send = async (behaviour, set = async () => {}, on = page) => {
  await on.selectOption('#behaviour', behaviour)
  await on.fill('#policy-modelIdleMs', '86400000')
  await set()
  await on.click('#send')
}
const reload = async () => {
  await page.reload()
  await page.waitForSelector('[data-ready]')
}
const decision = (title, on = page) =>
  on.locator('#decision', { has: on.locator('h3', { hasText: title }) }).waitFor()
const choose = (label, on = page) =>
  on.locator('#decision').getByRole('button', { name: label, exact: true }).click()
const row = (text, on = page) => on.locator('#timeline li', { hasText: text }).first().waitFor()
/** Complete, and done with: what the tab remembers and shows of it comes behind its last event. */
const completed = async (on = page) => {
  await row(/^Complete:/, on)
  await on.waitForSelector('#send:enabled')
}
const texts = (selector, on = page) => on.locator(selector).allTextContents()
const ran = (text, on = page) => on.locator('#runs li', { hasText: text }).waitFor()
const runs = (on = page) => texts('#runs li', on)
const notes = (on = page) => texts('#notes li', on)
/** Other tabs are told of it, in their own time. */
const noted = (on = page) =>
  on.locator('#notes li', { hasText: NOTE }).waitFor({ state: 'attached' })
const answer = (on = page) => on.locator('.message.assistant').last().innerText()
const LISTED_ONCE = ['list_files: 1 started, 1 finished']

const pause = (on = page) => send('one-call', () => on.check('#policy-pauseAfterTools'), on)
const askForNote = () => send('read-then-note', () => page.fill('#policy-actionTools', 'send_note'))
/** Each call takes until it is let go, however long the test needs; gives what lets it go. */
const holdTools = async () => {
  const held = 86_400_000
  await page.evaluate((held) => {
    const set = globalThis.setTimeout
    const now = performance.now.bind(performance)
    globalThis.setTimeout = (work, ms, ...rest) => {
      if (ms !== held) return set(work, ms, ...rest)
      // For the core no time passes either: it would lose patience with the tool.
      const since = now()
      performance.now = () => since
      globalThis.letGo = () => {
        const lost = now() - since
        performance.now = () => now() - lost
        work()
      }
    }
  }, held)
  await page.fill('#toolMs', String(held))
  return () => page.evaluate(() => globalThis.letGo())
}
/** The model falls silent in the middle of its answer. */
const fallSilent = () => send('falls-silent')
const halfAnswered = async (on = page) => {
  await on.locator('.message.assistant', { hasText: 'From the tool results I can' }).waitFor()
}
/** The id of the turn, and what its model was asked. */
const remembered = () => page.evaluate(() => JSON.parse(localStorage['turnlock-page:turn']))
const requests = async ({ place }) => {
  const [session] = place.path.match(/s\/[^/]+/)
  return (await fetch(new URL(`model/${session}/requests`, visit.site.url))).json()
}

test('pause, reload, resume: the tool ran once', async () => {
  await pause()
  await decision('Paused behind the tools')
  assert.match(await page.textContent('#decision-items'), /^list_files\({"path".* ok: .*notes\.txt/)
  const before = await texts('#timeline li')
  await reload()
  await decision('Paused behind the tools')
  assert.deepEqual(await texts('#timeline li'), before, 'the events were read again, and only they')
  assert.match(await page.textContent('#decision-items'), /notes\.txt/)
  assert.equal(await page.isDisabled('#send'), true)
  await choose('Resume')
  await completed()
  assert.deepEqual(await runs(), LISTED_ONCE)
  assert.match(await answer(), /From the tool results I can say: .*notes\.txt/)
  assert.equal(await page.isVisible('#decision'), false)
  assert.equal(await page.isEnabled('#send'), true)
})

for (const [choice, words, shown] of [
  ['nothing of it', undefined, /left out by you/],
  ['what I write:', 'only holiday.txt', /changed by you "?only holiday\.txt/],
]) {
  test(`the model reads ${choice.replace(':', '')} of a result`, async () => {
    await pause()
    await decision('Paused behind the tools')
    const [before] = await texts('#decision-items li')
    assert.match(before, /notes\.txt.*The model reads/s)
    const turn = await remembered()
    assert.equal(await page.isVisible('#decision-items input'), false)
    await page.selectOption('#decision-items select', { label: choice })
    if (words) await page.fill('#decision-items input', words)
    assert.equal(await page.isVisible('#decision-items input'), words !== undefined)
    await choose('Resume')
    await completed()
    const told = await answer()
    assert.equal(/notes\.txt/.test(told), false, told)
    if (words) assert.ok(told.includes(words), told)
    assert.ok((await texts('#timeline li')).some((line) => shown.test(line)))
    assert.deepEqual(await runs(), LISTED_ONCE)
    const asked = (await requests(turn)).at(-1)
    assert.equal(JSON.stringify(asked).includes('notes.txt'), false)
    await reload()
    assert.equal(/notes\.txt/.test(await answer()), false)
  })
}

test('the button pauses a turn whose tool is under way', async () => {
  const letGo = await holdTools()
  await send('one-call')
  await ran('1 started, 0 finished')
  await page.click('#pause')
  await letGo()
  await decision('Paused behind the tools')
  await choose('Resume')
  await completed()
  assert.deepEqual(await runs(), LISTED_ONCE)
})

test('approval, reload, approve: the note is sent once', async () => {
  await askForNote()
  await decision('Run this call?')
  await row('Needs your approval: send_note {"to":"Ada"')
  const wanted = 'send_note({"to":"Ada","text":"The engine is next."})'
  assert.deepEqual(await texts('#decision-items li'), [wanted])
  await reload()
  await decision('Run this call?')
  assert.deepEqual(await texts('#decision-items li'), [wanted])
  assert.deepEqual(await notes(), ['None yet.'])
  await choose('Approve')
  await completed()
  await row('Action phase, resumed')
  assert.deepEqual(await notes(), [NOTE])
  assert.deepEqual(await runs(), [
    'read_file: 1 started, 1 finished',
    'send_note: 1 started, 1 finished',
  ])
  await reload()
  assert.deepEqual(await notes(), [NOTE])
  assert.match(await answer(), /engine/, 'the conversation is still there')
})

test('approval, refuse: the call does not run, and the turn answers', async () => {
  await askForNote()
  await decision('Run this call?')
  await choose('Refuse')
  await completed()
  await row(/^Refused \(not_approved\): send_note .*You refused it\./)
  assert.deepEqual(await notes(), ['None yet.'])
  assert.deepEqual(await runs(), ['read_file: 1 started, 1 finished'])
})

test('a reload in the middle of the answer: the turn goes on by itself', async () => {
  await fallSilent()
  await halfAnswered()
  await reload()
  await completed()
  await row(/^turn\.interrupted: .* Going on with it\.$/)
  await row('Action phase, resumed')
  assert.deepEqual(await texts('.message .void'), ['From the tool results I can '])
  assert.match(await answer(), /say: .*notes\.txt.*That answers it\./)
  assert.deepEqual(await runs(), LISTED_ONCE)
  await reload()
  assert.match(await answer(), /^From the tool results I can say: .*That answers it\.$/)
})

test('a reload in the middle of a read-only tool: it runs again', async () => {
  await holdTools()
  await send('one-call')
  await ran('1 started, 0 finished')
  await reload()
  await completed()
  assert.deepEqual(await runs(), ['list_files: 2 started, 1 finished'])
  assert.equal((await texts('#timeline .call')).length, 1)
})

test('a reload in the middle of a tool with an effect: unknown, and not run again', async () => {
  await askForNote()
  await decision('Run this call?')
  await holdTools()
  await choose('Approve')
  await ran('send_note: 1 started, 0 finished')
  await reload()
  await completed()
  await row(/^send_note: unknown the tool was started, and whether it finished is not known$/)
  await ran('send_note: 1 started, 0 finished')
  assert.deepEqual(await notes(), ['None yet.'])
})

test('stop: the stream ends, and no resume is possible', async () => {
  await fallSilent()
  await halfAnswered()
  const turn = await remembered()
  await page.click('#stop')
  await decision('Stopped')
  await row('Cancelled: stopped by the user')
  await until(async () => (await requests(turn)).at(-1).closedEarly)
  await choose('Try to resume')
  await decision('The resume was refused')
  await row('turn.cancelled: the turn was stopped, and cannot be resumed')
  assert.equal((await requests(turn)).length, 2)
  await reload()
  assert.equal(await page.isVisible('#decision'), false)
  assert.match(await answer(), /^From the tool results I can $/)
})

test('stop of a turn that is paused', async () => {
  await pause()
  await decision('Paused behind the tools')
  await choose('Stop')
  await decision('Stopped')
  await choose('Try to resume')
  await decision('The resume was refused')
  await send('answer')
  await completed()
  assert.equal(await page.isVisible('#decision'), false)
})

test('two tabs resume: one wins, the other is told and reads along', async () => {
  await pause()
  await decision('Paused behind the tools')
  const other = await page.context().newPage()
  // It hears nothing of the first tab, so its button stays.
  await other.addInitScript(() =>
    addEventListener('storage', (event) => event.stopImmediatePropagation()),
  )
  await other.goto(`${visit.site.url}#turn`)
  await decision('Paused behind the tools', other)
  await choose('Resume')
  await completed()
  await choose('Resume', other)
  await completed(other)
  await row('turn.conflict: another tab has gone on with this turn. Reading along.', other)
  assert.equal(await answer(other), await answer())
  assert.deepEqual(await runs(other), LISTED_ONCE)
})

test('two tabs approve at once: the note is sent once', async () => {
  await askForNote()
  await decision('Run this call?')
  const other = await visit.open(page.context())
  await decision('Run this call?', other)
  const approve = () => {
    const buttons = [...document.querySelectorAll('#decision button')]
    buttons.find(({ textContent }) => textContent === 'Approve')?.click()
  }
  await Promise.all([page.evaluate(approve), other.evaluate(approve)])
  for (const tab of [page, other]) {
    await completed(tab)
    await noted(tab)
    assert.deepEqual(await notes(tab), [NOTE])
    await ran('send_note: 1 started, 1 finished', tab)
  }
  await other.close()
  await reload()
  assert.equal((await texts('.message.user')).length, 1, 'one of them remembered what was said')
})

test('a second tab reads along from the start, and can stop the turn', async () => {
  const other = await visit.open(page.context())
  await fallSilent()
  await halfAnswered()
  await halfAnswered(other)
  assert.equal(await other.isDisabled('#pause'), true)
  await other.click('#stop')
  for (const tab of [page, other]) await row('Cancelled: stopped by the user', tab)
  await ran('list_files: 1 started, 1 finished', other)
  assert.deepEqual(await runs(other), LISTED_ONCE)
})

test('a tab is closed: the one that read along goes on', async () => {
  await fallSilent()
  await halfAnswered()
  const other = await visit.open(page.context())
  await halfAnswered(other)
  await page.close()
  await completed(other)
  await row('Going on with it', other)
  assert.deepEqual(await runs(other), LISTED_ONCE)
})

test('a model that failed is asked again, from what the tools found', async () => {
  // Of this silence, and not of one that a busy machine makes.
  await send('falls-silent', () => page.fill('#policy-modelIdleMs', '10000'))
  await decision('Not answered')
  await row('Error model.timeout')
  await reload()
  await decision('Not answered')
  await choose('Try again')
  await completed()
  assert.deepEqual(await runs(), LISTED_ONCE)
  assert.match(await answer(), /^From the tool results I can say: .*That answers it\.$/)
})

test('a turn of which nothing was kept: its message can be sent again', async () => {
  await pause()
  await decision('Paused behind the tools')
  await page.evaluate(() => {
    const turn = JSON.parse(localStorage['turnlock-page:turn'])
    const lost = { ...turn, id: 'no-such-turn', text: 'Say it again' }
    localStorage['turnlock-page:turn'] = JSON.stringify(lost)
  })
  await reload()
  await page.locator('#status', { hasText: 'nothing is kept' }).waitFor()
  assert.equal(await page.inputValue('#prompt'), 'Say it again')
  await send('answer')
  await completed()
})

test('where the browser keeps nothing, the turn says so, and the page stays usable', async () => {
  visit.spoilt = true
  await page.context().addInitScript(() => {
    const denied = () => {
      throw new DOMException('not here', 'SecurityError')
    }
    for (const name of ['indexedDB', 'localStorage']) {
      Object.defineProperty(window, name, { get: denied })
    }
  })
  await reload()
  await send('one-call')
  await decision('Not answered')
  await row('store.denied: this page may not use IndexedDB')
  await page.locator('#status', { hasText: /^store\.denied/ }).waitFor()
  await page.click('#compare')
  await page.waitForSelector('#comparison tbody tr')
})

test('clear stops what waits, in every tab', async () => {
  await pause()
  await decision('Paused behind the tools')
  const other = await visit.open(page.context())
  await decision('Paused behind the tools', other)
  await page.click('#clear')
  await page.locator('#decision').waitFor({ state: 'hidden' })
  await decision('Stopped', other)
  // Waiting for each other: a tab that is late finds no turn to read along with.
  await pause(other)
  for (const tab of [page, other]) await decision('Paused behind the tools', tab)
  await choose('Resume')
  for (const tab of [page, other]) await completed(tab)
  assert.deepEqual(await texts('.message.user'), ['What is in my files?'])
})

test('a tab that sees one half of what another remembered says nothing twice', async () => {
  const other = await visit.open(page.context())
  // What it knows of the turn is as old as when the turn began; of the history it knows all.
  await other.evaluate(() => {
    const { getItem } = Storage.prototype
    let old
    Storage.prototype.getItem = function (key) {
      const now = getItem.call(this, key)
      if (key !== 'turnlock-page:turn') return now
      return (old = now ?? old)
    }
  })
  await fallSilent()
  await halfAnswered(other)
  await page.click('#stop')
  for (const tab of [page, other]) await decision('Stopped', tab)
  await other.close()
  await reload()
  assert.equal((await texts('.message.user')).length, 1)
})

test('a tab that hears of a turn when it is over shows what was said', async () => {
  // It hears of everything later, as one whose process has no time.
  await page.addInitScript(() => {
    globalThis.late = []
    addEventListener('storage', (event) => {
      if (!globalThis.late) return
      globalThis.late.push(event.key)
      event.stopImmediatePropagation()
    })
  })
  await reload()
  const other = await visit.open(page.context())
  await send('answer', undefined, other)
  await completed(other)
  await page.waitForFunction(
    () => globalThis.late.includes('turnlock-page:history') && !localStorage['turnlock-page:turn'],
  )
  await page.evaluate(() => {
    const { late } = globalThis
    globalThis.late = undefined
    for (const key of late) dispatchEvent(new StorageEvent('storage', { key }))
  })
  await page.locator('.message.user', { hasText: 'What is in my files?' }).waitFor()
  for (const tab of [page, other]) {
    assert.deepEqual(await texts('.message.user', tab), ['What is in my files?'])
    assert.match(await answer(tab), /without any tool/)
  }
  assert.equal(await page.isVisible('#decision'), false)
})

test('by keyboard, and on a phone', async () => {
  await page.setViewportSize({ width: 390, height: 800 })
  await page.check('#policy-pauseAfterTools')
  await page.selectOption('#behaviour', 'one-call')
  await page.focus('#send')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#decision button:focus')
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(sideways, false)
  await page.getByRole('region', { name: 'Paused behind the tools' }).waitFor()
  await page.keyboard.press('Enter')
  await completed()
  await page.waitForSelector('#send:focus')
})
