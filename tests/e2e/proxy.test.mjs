// A looping client behind `createProxy`, in the page.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#proxy')
let page
beforeEach(async () => {
  page = visit.page
  await over()
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const over = () =>
  until(async () => {
    const verdicts = await page.locator('#proxy .verdict').allTextContents()
    return verdicts.every((text) => text !== 'running')
  })
const text = (id) => page.textContent(`#proxy-${id}`)
const numbers = async (side) => {
  const all = ['models', 'runs', 'verdict'].map((what) => text(`${side}-${what}`))
  const [models, runs, verdict] = await Promise.all(all)
  return [Number(models), Number(runs), verdict]
}
const reports = async () =>
  (await page.locator('#proxy-reports tr').allTextContents()).map((row) => row.slice(1))

test('a client that loops for ever gets an answer, by another address alone', async () => {
  const requests = []
  page.on('request', (request) => request.method() === 'POST' && requests.push(request.url()))
  assert.deepEqual(await numbers('direct'), [25, 25, '✕ No answer'])
  // Two runs with the same result; the third call is refused, and the answer asked for.
  assert.deepEqual(await numbers('behind'), [4, 2, '✓ Answered'])
  assert.match(await text('behind-answer'), /notes\.txt/)
  const [first, , third, ...more] = await reports()
  assert.match(first, /nothing200$/)
  assert.match(third, /list_files refused: 2 same results before; answer forced: duplicate200$/)
  assert.deepEqual(more, [])
  for (const vice of ['loop', 'loop-reordered', 'loop-silent']) {
    await page.click(`#proxy-vices [value=${vice}]`)
    await until(async () => (await page.evaluate(() => location.hash)).includes(`model=${vice}&`))
    await over()
    assert.deepEqual(await numbers('behind'), [4, 2, '✓ Answered'], vice)
  }
  assert.deepEqual(requests, [], 'nothing leaves the page')
})

test('an observer changes nothing, and says what it would have done', async () => {
  await page.click('#proxy-modes [value=observe]')
  await until(async () => (await text('behind-models')) === '25')
  assert.deepEqual(await numbers('behind'), await numbers('direct'))
  assert.match((await reports())[2], /list_files would be refused: 2 same results before200$/)
  assert.match(await text('code'), /mode: 'observe',\n {2}authorize/)
})

test('the handles decide, and the address has them', async () => {
  await page.fill('#proxy-repeats', '5')
  await until(async () => (await text('behind-runs')) === '5')
  await page.fill('#proxy-budget', '1')
  await until(async () => (await text('behind-runs')) === '1')
  assert.match((await reports())[1], /forced: budget/)
  assert.match(await text('code'), /policy: \{ maxRepeats: 5, maxTools: 1 \}/)
  await page.reload()
  await over()
  assert.equal(await text('behind-runs'), '1')
  await page.locator('#proxy-behind .glyph').last().click()
  assert.match(await text('step-json'), /"kind": "answer"/)
})
