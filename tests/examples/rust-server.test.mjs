// What the server does else is tested in tests/server/rust-server.test.mjs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import test, { before } from 'node:test'
import { cargoEnv, root } from '../../scripts/setup.mjs'
import { readEvents } from '../server/client.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta, { inPlace: true })
const ask = async (server) => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Which files?' }] })
  const headers = { 'content-type': 'application/json' }
  const url = `${await server.url()}/chat`
  return (await readEvents(await fetch(url, { method: 'POST', headers, body }))).events.at(-1)
}
const serve = (env) => start({ env: { ...cargoEnv, LISTEN: '127.0.0.1:0', BASE_URL: '', ...env } })
// It may take longer than a test waits for a server.
before(() => {
  const options = { cwd: join(root, 'examples/rust-server'), env: cargoEnv, stdio: 'inherit' }
  assert.equal(spawnSync('cargo', ['build', '--locked'], options).status, 0)
})

test('it runs the tool and answers', async () => {
  const last = await ask(serve())
  assert.equal(last.type, 'complete')
  assert.match(last.fullContent, /notes\.txt.*That answers it\./)
})

test('a failure is the last event, and on the error output', async () => {
  const { BASE_URL } = await failing()
  const server = serve({ BASE_URL })
  assert.equal((await ask(server)).code, 'model.status')
  await server.hears(/model\.status: .*401/)
})
