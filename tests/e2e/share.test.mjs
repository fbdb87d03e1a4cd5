// Share: a link opens a view as it was, in another browser, and holds no key.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

// The race is not looked at: without motion it is over at once.
const visit = visiting('', { reducedMotion: 'reduce' })
let page
beforeEach(async () => {
  page = visit.page
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const go = (view) => page.click(`#views a[href="#${view}"]`)
/** The link of the view that is shown. */
async function shared() {
  // What an earlier click has said.
  await page.evaluate(() => document.getElementById('shared').replaceChildren())
  await page.click('#share')
  await page.locator('#shared').filter({ hasText: 'Link copied' }).waitFor({ state: 'attached' })
  return page.evaluate(() => navigator.clipboard.readText())
}
const opened = (link) => {
  assert.ok(link.startsWith(visit.site.url), link)
  return visit.open(undefined, link.slice(visit.site.url.length))
}

/** View → fields that somebody has changed, and what shows that they count. */
const CHANGED = {
  turn: { prompt: 'Grüße, “Ada” 🦊', toolMs: '250', 'policy-maxTools': '3', wire: 'anthropic' },
  doctor: { history: '[{"role":"user","content":"mine <b>x</b>"}]', dialect: 'gemini' },
  bundle: { replicates: '["a","a","b"]', epsilon: '0.4', 'bundle-rule': 'majority_lock' },
  planner: { ask: '{"tool_requests":[]}', 'ask-limit': '4' },
  chain: { 'chain-query': 'Compare A and B', 'chain-parallel': '2', 'chain-plan': '{"steps":[]}' },
}

test('each view is opened as it was', async () => {
  for (const [view, fields] of Object.entries(CHANGED)) {
    await go(view)
    for (const [id, value] of Object.entries(fields)) {
      const field = page.locator(`#${id}`)
      if (await field.evaluate(({ options }) => Boolean(options))) await field.selectOption(value)
      else await field.fill(value)
    }
    const other = await opened(await shared())
    for (const [id, value] of Object.entries(fields)) {
      await until(async () => (await other.inputValue(`#${id}`)) === value)
    }
    assert.equal(await other.locator(`#${view}`).isVisible(), true)
    await other.context().close()
  }
})

test('tools go with a link, but not in the place of those that the visitor has', async () => {
  const describe = async (tab, name) => {
    await tab.locator('#own-tools').evaluate((field) => (field.closest('details').open = true))
    await tab.fill('#own-tools', JSON.stringify([{ name }]))
  }
  await go('turn')
  await describe(page, 'shared')
  const link = await shared()
  const other = await opened(link)
  await until(async () => (await other.textContent('#own-tools-said')) === 'Turns have: shared.')
  await describe(other, 'mine')
  const at = link.slice(visit.site.url.length)
  const again = await visit.open(other.context(), at)
  await until(async () => (await again.inputValue('#prompt')) === 'What is in my files?')
  assert.equal(await again.inputValue('#own-tools'), '[{"name":"mine"}]')
  await other.context().close()
})

test('the race is its address', async () => {
  await page.click('#race-vices [value=parallel]')
  await page.fill('#race-budget', '3')
  const other = await opened(await shared())
  await until(async () => (await other.textContent('#race-budget-value')) === '3')
  assert.equal(await other.getAttribute('#race-vices [value=parallel]', 'aria-pressed'), 'true')
  await other.context().close()
})

test('no key goes into a link: neither the typed one nor one that was pasted', async () => {
  const read = (link) => {
    const [, packed] = link.split(/\?[st]=/)
    return inflateRawSync(Buffer.from(packed, 'base64url')).toString()
  }
  await go('turn')
  await page.selectOption('#provider', 'real')
  await page.fill('#apiKey', 'a-key-of-no-known-form')
  await page.fill('#baseURL', 'https://me:secret@models.example/v1')
  await page.fill('#prompt', 'my key is a-key-of-no-known-form')
  const turn = read(await shared())
  assert.match(turn, /my key is \[key\]/)
  assert.doesNotMatch(turn, /no-known-form|secret|models\.example/)
  await go('doctor')
  const command = `curl https://api.example/v1?key=geheim1 -H 'Authorization: Bearer geheim2' -H "x-api-key: geheim3" -d '{"messages":[{"role":"user","content":"sk-proj-0123456789abcdef"}],"headers":"{\\"api-key\\":\\"geheim4\\"}"}'`
  await page.fill('#history', command)
  const traces = [read(await shared())]
  await page.click('#trace-share')
  await page.locator('#trace-shared').filter({ hasText: 'Copied' }).waitFor()
  traces.push(read(await page.evaluate(() => navigator.clipboard.readText())))
  for (const text of traces) {
    assert.match(text, /Bearer \[key\]/)
    assert.doesNotMatch(text, /geheim|sk-proj/)
  }
})

test('a link that is broken, too deep or hostile changes nothing but fields', async () => {
  for (const [hash, said] of [
    ['#chain?s=%%%', 'The link is broken'],
    ['#chain?s=AAAA', 'The link is broken'],
  ]) {
    const other = await visit.open(undefined, hash)
    await until(async () => (await other.textContent('#shared')) === said)
    assert.ok(await other.inputValue('#chain-query'))
    await other.context().close()
  }
  const packed = await page.evaluate(async () => {
    const { packed } = await import('./src/share.js')
    return packed(
      JSON.stringify({
        history: '<img src=x onerror="globalThis.hit = 1">',
        dialect: 'nobody',
        apiKey: 'x',
        ...{ strategy: { toString: 1 }, __proto__: { x: 1 }, baseURL: 'https://evil.example' },
      }),
    )
  })
  const other = await visit.open(undefined, `#doctor?s=${packed}`)
  await until(async () => /onerror/.test(await other.inputValue('#history')))
  assert.equal(await other.inputValue('#dialect'), 'openai-chat')
  assert.deepEqual(
    [await other.inputValue('#apiKey'), await other.inputValue('#baseURL')],
    ['', ''],
  )
  assert.equal(await other.evaluate(() => globalThis.hit), undefined)
  await other.context().close()
})
