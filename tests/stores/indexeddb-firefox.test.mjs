// The store of a page in Firefox: in a window as usual, in a private one, and where storage is small or
// refused.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test, { before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { firefox } from '../consumers/firefox.mjs'

let script
before(async () => {
  const entry = fileURLToPath(new URL('firefox-page.mjs', import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  })
  script = outputFiles[0].contents
})

/** What the page finds with these preferences. */
async function found(preferences, query = '') {
  let tell
  const told = new Promise((resolve) => (tell = resolve))
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      let body = ''
      request.on('data', (part) => (body += part))
      return request.on('end', () => {
        response.end()
        tell(JSON.parse(body))
      })
    }
    if (request.url === '/page.mjs') {
      return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
    }
    const html =
      '<!doctype html><meta charset="utf-8"><script type="module" src="/page.mjs"></script>'
    response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const close = firefox(`http://127.0.0.1:${server.address().port}/${query}`, preferences)
  try {
    return await told
  } finally {
    await close()
    server.closeAllConnections()
    server.close()
  }
}

const TURN = ['paused', 'complete', 'It is there.', 1]

for (const [name, preferences] of Object.entries({
  'a window': {},
  'a private window': { 'browser.privatebrowsing.autostart': true },
})) {
  test(`Firefox, ${name}: the suite for stores, and a turn that goes on`, async () => {
    const { suite, turns, error } = await found(preferences)
    assert.equal(error, undefined)
    assert.deepEqual(suite.failed, [])
    assert.ok(suite.cases > 30)
    assert.deepEqual(turns, TURN)
  })
}

test('Firefox: a full storage fails a commit whole, with store.quota', async () => {
  // In KiB, for all sites together.
  const preferences = { 'dom.quotaManager.temporaryStorage.fixedLimit': 20_480 }
  const { fill, error } = await found(preferences, '?fill')
  assert.equal(error, undefined)
  assert.deepEqual(fill, { code: 'store.quota', isWhole: true, isSome: true })
})

test('Firefox: a page that may store nothing gets store.denied, and its turns fail with it', async () => {
  // What blocks cookies blocks storage.
  const { suite, turns, error } = await found({ 'network.cookie.cookieBehavior': 2 })
  assert.equal(error, undefined)
  assert.ok(suite.failed.length > 30)
  for (const one of suite.failed) assert.match(one, /: store\.denied /)
  assert.deepEqual(turns, ['failed', 'store.denied'])
})
