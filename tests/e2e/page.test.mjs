// The page, as a user meets it: served like `npm start` serves it, in Chromium.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { createProvider } from '../provider/server.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})
/** Nothing complained: no console error, no blocked script. */
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

/** Chooses a model, with all the patience that a slow machine needs. */
const choose = async (behaviour) => {
  await page.selectOption('#behaviour', behaviour)
  await page.fill('#policy-modelIdleMs', '86400000')
}
const send = async (behaviour, set = async () => {}) => {
  await choose(behaviour)
  await set()
  await page.click('#composer [type=submit]')
}
/** Waits until the turn is over and all of it is shown: its numbers come behind its last event. */
const ended = async () => {
  await page.waitForSelector('#timeline .end, #timeline .bad >> nth=0')
  await page.waitForSelector('#send:enabled')
}
const completed = async () => {
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  await page.waitForSelector('#send:enabled')
}
const fact = async (name) => {
  const all = await page.locator('#facts li').allTextContents()
  return all.find((text) => text.startsWith(name))?.split(': ')[1]
}

test('a turn with the looping model: one execution, a text, what was blocked', async () => {
  await send('loop')
  await ended()
  assert.equal(await fact('Tools executed'), '1')
  assert.equal(await fact('Calls blocked (each once)'), '1')
  assert.match(await page.textContent('.message.assistant'), /notes\.txt/)
  const phases = await page.locator('#timeline .phase').allTextContents()
  assert.equal(phases.length, 2)
  assert.match(phases[0], /^Tool phaseat most 1 call/)
  assert.match(phases[1], /^Action phaseno tools/)
  const refused = await page.locator('#timeline .refused').allTextContents()
  assert.match(refused[0], /tools_disabled.*list_files \{"path":"\."[^]*did not run/)
  assert.match(refused[1], /^Blocked in this turn:list_files .* signature [0-9a-f]{12}…$/)
  assert.equal(await fact('Budget used'), '1 of 1')
  assert.equal(await fact('Model calls'), '3')
  assert.match(await page.textContent('#status'), /complete: 3 model calls, 1 tool executed/)
})

test('a model that never says a word: the answer is composed, and said to be', async () => {
  await send('loop-silent')
  await ended()
  assert.equal(await fact('Tools executed'), '1')
  assert.match(await page.textContent('.message.assistant'), /notes\.txt/)
  const all = await page.textContent('#timeline')
  assert.match(all, /composed from the results/)
})

test('the first visit needs nothing but Enter', async () => {
  await page.focus('#prompt')
  await page.keyboard.press('Enter')
  await ended()
  assert.equal(await fact('Status'), 'complete')
})

test('list, then read, with two calls', async () => {
  await send('list-then-read', () => page.fill('#policy-maxTools', '2'))
  await ended()
  assert.equal(await fact('Tools executed'), '2')
  const calls = await page.locator('#timeline .call').allTextContents()
  assert.match(calls[1], /read_file \{"path":"notes\.txt"\}/)
  assert.match(await page.textContent('.message.assistant'), /Buy milk/)
})

test('the same model in both modes, side by side', async () => {
  await page.selectOption('#behaviour', 'loop')
  await page.click('#compare')
  await page.waitForSelector('#comparison tbody tr')
  const rows = await page.locator('#comparison tbody tr').allTextContents()
  assert.deepEqual(rows.slice(0, 3), ['Model calls35', 'Tools executed11', 'Repeats not run14'])
  assert.equal(rows.at(-2), 'Answeransweredcomposed')
  assert.match(
    rows.at(-1),
    /That answers it\.The model gave no answer\. These are the tool results:\s+list_files/,
  )
  assert.equal(await page.locator('#staged .phase').count(), 2)
  assert.equal(await page.locator('#unified .call').count(), 5)
})

test('a comparison can be stopped', async () => {
  await choose('stall')
  await page.click('#compare')
  await page.waitForSelector('#staged .said')
  await page.waitForSelector('#unified .said')
  await page.click('#stop')
  await page.waitForSelector('#comparison tbody tr')
  assert.match(await page.textContent('#comparison tbody'), /Statuscancelledcancelled/)
  await page.waitForSelector('#compare:enabled')
})

test('settings that the core refuses are named, and leave the page usable', async () => {
  await page.fill('#policy-maxTools', '-1')
  for (const button of ['#compare', '#composer [type=submit]']) {
    await page.click(button)
    await page.waitForSelector('#status:has-text("maxTools")')
    await page.click('#clear')
  }
  await page.fill('#policy-maxTools', '')
  await send('loop')
  await ended()
  assert.equal(await fact('Budget used'), '1 of 1')
})

test('one turn at a time, and no empty message', async () => {
  await page.fill('#prompt', '  ')
  await page.press('#prompt', 'Enter')
  await page.waitForSelector('#status:has-text("Write a message first")')
  await page.fill('#prompt', 'go')
  await choose('stall')
  await page.press('#prompt', 'Enter')
  await page.waitForSelector('#timeline .said')
  await page.press('#prompt', 'Enter')
  assert.equal(await page.locator('.message.user').count(), 1)
  await page.click('#stop')
  await page.waitForSelector('#timeline .bad')
})

test('by keyboard: the focus goes to Stop while a turn runs, and comes back', async () => {
  await choose('stall')
  await page.focus('#composer [type=submit]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#stop:focus')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#timeline .bad')
  await page.waitForSelector('#composer [type=submit]:focus')
})

test('every case that the page proposes plays to its end', async () => {
  const cases = await page.locator('#presets button').allTextContents()
  assert.ok(cases.length >= 4)
  for (const name of cases) {
    await page.click(`#presets >> text="${name}"`)
    await page.waitForSelector('#decision .primary, #timeline .end:has-text("Complete")')
    const decision = page.locator('#decision .primary')
    if (await decision.isVisible()) await decision.click()
    await completed()
    assert.equal(await fact('Status'), 'complete', name)
    assert.notEqual(await page.textContent('.message.assistant'), '', name)
  }
})

test('a note is sent once, by the one tool that the action phase has', async () => {
  await send('read-then-note', () => page.fill('#policy-actionTools', 'send_note'))
  await page.click('#decision >> text="Approve"')
  await completed()
  assert.equal(await fact('Budget used'), '2 of 2')
  await page.click('summary')
  assert.deepEqual(await page.locator('#notes li').allTextContents(), [
    'To Ada: The engine is next.',
  ])
})

test('unified mode on the other wire', async () => {
  await send('one-call', async () => {
    await page.check('input[value=unified]')
    await page.selectOption('#wire', 'anthropic')
  })
  await ended()
  assert.equal(await fact('Status'), 'complete')
  const phases = await page.locator('#timeline .phase').allTextContents()
  assert.deepEqual(phases.length, 1)
  assert.match(phases[0], /^Unified loop/)
})

test('a turn on every wire', async () => {
  const wires = await page.locator('#wire option').evaluateAll((all) => all.map((one) => one.value))
  assert.equal(wires.length, 7)
  for (const wire of wires) {
    await send('one-call', () => page.selectOption('#wire', wire))
    await completed()
    assert.equal(await fact('Status'), 'complete', wire)
    assert.equal(await fact('Budget used'), '1 of 1', wire)
  }
  await page.selectOption('#wire', 'openai-chat')
})

test('stop', async () => {
  await send('stall')
  await page.waitForSelector('#timeline .said')
  await page.click('#stop')
  await page.waitForSelector('#timeline .bad')
  await page.waitForSelector('#composer [type=submit]:enabled')
  assert.equal(await fact('Status'), 'cancelled')
})

test('a failure is told in words, and the next turn works', async () => {
  await send('error-event')
  await page.waitForSelector('.message.failed')
  assert.match(await page.textContent('.message.failed'), /model\.stream/)
  await send('answer')
  await completed()
  assert.equal(await fact('Status'), 'complete')
})

test('a real endpoint, by base URL, key and model name', async () => {
  // Another origin, as a provider is; only the words it says are scripted.
  const provider = await createProvider()
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', `${provider.url}/s/real/one-call/v1`)
  await page.fill('#model', 'some-model')
  await page.fill('#apiKey', 'sk-typed')
  await page.click('#composer [type=submit]')
  await ended()
  assert.equal(await fact('Status'), 'complete')
  const requests = await (await fetch(`${provider.url}/s/real/requests`)).json()
  assert.deepEqual(
    requests.map(({ body }) => body.model),
    ['some-model', 'some-model'],
  )
  await provider.close()
})

test('every control has a name, and a phone sees no sideways scroll', async () => {
  const nameless = await page.$$eval('input, select, textarea, button', (all) =>
    all
      .filter((one) => !(one.labels?.length || one.textContent.trim()))
      .map((one) => one.outerHTML),
  )
  assert.deepEqual(nameless, [])
  await page.setViewportSize({ width: 390, height: 800 })
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(sideways, false)
})
