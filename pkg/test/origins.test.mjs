// Which pages may call a handler: by their own origin also behind proxies, as browsers report it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { memoryStore } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { scriptedModel } from 'turnlock/testing'

const base = { model: scriptedModel([]), store: memoryStore(), authorize: () => null }

/** 401 is behind the check of origins. */
async function asked(server, headers, own) {
  const init = { method: 'POST', headers }
  const request = new Request(`${server}/api/chat/messages`, init)
  const response = await createHandler({ ...base, ...own })(request)
  return [response.status, (await response.json()).error]
}
const status = async (...given) => (await asked(...given))[0]

const same = { 'sec-fetch-site': 'same-origin' }

test('a page of the same origin may call, also behind a proxy', async () => {
  const own = 'http://app.example'
  assert.equal(await status(own, { origin: 'http://app.example' }), 401)
  // TLS ends before the handler.
  assert.equal(await status(own, { origin: 'https://app.example', ...same }), 401)
  // A development server passes requests on, and changes `Host`.
  const local = 'http://localhost:8080'
  assert.equal(await status(local, { origin: 'http://localhost:5173', ...same }), 401)
  assert.equal(await status('http://127.0.0.1:8080', { origin: 'http://pc:5173', ...same }), 401)
  // Another name, which the host lists.
  const named = { hosts: ['internal.example'] }
  const inner = 'http://internal.example'
  assert.equal(await status(inner, { origin: 'https://app.example', ...same }, named), 401)
})

test('a page of another origin may not', async () => {
  const own = 'http://app.example'
  const refused = [
    [own, { origin: 'https://app.example' }],
    [own, { origin: 'https://app.example', 'sec-fetch-site': 'same-site' }],
    [own, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    // Not listed and not the handler's own name.
    [own, { origin: 'https://other.example', ...same }],
    ['http://localhost:8080', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['http://127.evil.example', { origin: 'https://evil.example', ...same }],
  ]
  for (const one of refused) assert.equal(await status(...one), 403, JSON.stringify(one))
  // A page that made its name lead here calls by that name.
  const rebound = ['http://evil.example', { origin: 'https://evil.example', ...same }]
  assert.equal(await status(...rebound, { hosts: ['app.example'] }), 403)
  const [, error] = await asked(...refused[2])
  assert.equal(error.code, 'origin.denied')
  assert.match(error.message, /https:\/\/evil\.example.*`cors\.origins` of `createHandler`/)
})

test('what a proxy forwards counts where the host says so', async (t) => {
  const urls = []
  const hear = (request) => {
    urls.push(request.url)
    return new Response('ok')
  }
  for (const options of [{}, { forwarded: true }]) {
    const server = createServer(toNodeListener(hear, options)).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${server.address().port}/x`
    const headers = { 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'app.example' }
    await (await fetch(url, { headers })).text()
    const forged = { 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'a/b?' }
    const { status } = await fetch(url, { headers: forged })
    assert.equal(status, options.forwarded ? 400 : 200)
  }
  assert.equal(urls.at(-1), 'https://app.example/x')
  assert.match(urls[0], /^http:\/\/127\.0\.0\.1:\d+\/x$/)
})

test('an import needs nothing that jsdom lacks', () => {
  const script = `
    for (const name of ['TextEncoder', 'TextDecoder', 'CompressionStream']) delete globalThis[name]
    for (const entry of ['turnlock', 'turnlock/server', 'turnlock/testing']) await import(entry)
    process.stdout.write('there')`
  const args = ['--input-type=module', '--eval', script]
  const cwd = new URL('.', import.meta.url)
  assert.equal(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }), 'there')
})

test('half a DOM is no page', () => {
  const script = `
    globalThis.document = { createElement: () => ({}) }
    globalThis.window = globalThis
    const { customModel, normalizeHistory, runTurn } = await import('turnlock')
    const messages = [{ role: 'user', content: 'hi' }]
    const { repairs } = normalizeHistory(messages, { dialect: 'anthropic' })
    const model = customModel(async function* () { yield { type: 'text', text: 'Hello.' } })
    const { status, text } = await runTurn({ model, messages }).result
    console.log(repairs.length, status, text)`
  const args = ['--input-type=module', '--eval', script]
  const cwd = new URL('.', import.meta.url)
  const said = execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
  assert.equal(said.trim(), '0 complete Hello.')
})
