// The page while it works: ten thousand streamed tokens, and a list of twenty thousand events that is
// scrolled from its beginning to its end. Says which tasks took more than 50 ms of its thread, in
// Chromium. npm run bench -- page
import { createServer } from 'node:http'
import { serve } from '../www/tools/serve.mjs'
import { launch } from '../tests/browser.mjs'

const TOKENS = 10_000
const EVENTS = 20_000

/** A model that sends twenty tokens each 10 ms. */
const model = createServer((request, response) => {
  response.setHeader('access-control-allow-origin', '*')
  response.setHeader('access-control-allow-headers', '*')
  if (request.method === 'OPTIONS') return response.end()
  response.setHeader('content-type', 'text/event-stream')
  const say = (delta, finish_reason = null) =>
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
  let at = 0
  const timer = setInterval(() => {
    for (let i = 0; i < 20 && at < TOKENS; i++) say({ content: `word${at++} ` })
    if (at < TOKENS) return
    clearInterval(timer)
    say({}, 'stop')
    response.end('data: [DONE]\n\n')
  }, 10)
})
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve))
const site = await serve()
const browser = await launch()

async function visit() {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${site.url}#turn`)
  await page.waitForSelector('[data-ready]')
  await page.evaluate(() => {
    globalThis.tasks = []
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.tasks.push(Math.round(duration))
    })
    observer.observe({ type: 'longtask' })
  })
  return page
}
const told = async (what, page) => {
  const tasks = await page.evaluate(() => globalThis.tasks.splice(0))
  console.log(`${what}: ${tasks.length} tasks over 50 ms${tasks.length ? `: ${tasks} ms` : ''}`)
}

for (const dock of ['closed', 'open']) {
  const page = await visit()
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', `http://127.0.0.1:${model.address().port}/v1`)
  await page.fill('#model', 'm')
  if (dock === 'open') await page.click('#dock-toggle')
  await page.evaluate(() => globalThis.tasks.splice(0))
  const began = performance.now()
  await page.click('#send')
  await page.waitForSelector('#timeline .end')
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  await told(`${TOKENS} tokens in ${seconds} s, dock ${dock}`, page)
  await page.context().close()
}

const page = await visit()
await page.click('#dock-toggle')
await page.click('#views a[href="#doctor"]')
const said = (at) => ({ role: at % 2 ? 'assistant' : 'user', content: `word ${at}` })
await page.fill('#history', JSON.stringify(Array.from({ length: EVENTS }, (_, at) => said(at))))
await page
  .locator('#dock-counts')
  .filter({ hasText: `${EVENTS} events` })
  .waitFor()
await told(`${EVENTS} events shown`, page)
const frames = await page.evaluate(async () => {
  const list = document.getElementById('dock-list')
  const gaps = []
  let last = performance.now()
  for (let step = 0; step <= 300; step++) {
    list.scrollTop = (list.scrollHeight * step) / 300
    await new Promise((resolve) => requestAnimationFrame(resolve))
    const now = performance.now()
    gaps.push(now - last)
    last = now
  }
  return gaps.toSorted((a, b) => a - b)
})
const [middle, worst] = [frames[frames.length >> 1], frames.at(-1)]
console.log(
  `scrolled in 300 steps: a frame each ${middle.toFixed(1)} ms, ${worst.toFixed(1)} at most`,
)
await told('scrolled', page)

await browser.close()
await site.close()
model.closeAllConnections()
model.close()
