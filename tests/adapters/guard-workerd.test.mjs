// Guards in workerd: claims in a Durable Object that is evicted and in D1, and a guarded client.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { bundleWorker } from '../server/bundle.mjs'

let provider, workerd
before(async () => {
  provider = await createProvider()
  workerd = new Miniflare({
    compatibilityDate: '2025-05-01',
    compatibilityFlags: ['nodejs_compat'],
    modules: await bundleWorker(fileURLToPath(new URL('./guard-worker.mjs', import.meta.url))),
    bindings: { PROVIDER: `${provider.url}/s/guarded/loop-then-answer` },
    d1Databases: ['DB'],
    durableObjects: { TURNS: { className: 'Turns', useSQLite: true } },
  })
})
after(async () => {
  await workerd?.dispose()
  await provider?.close()
})

async function ask(path, body = {}) {
  const init = { method: 'POST', body: JSON.stringify(body) }
  const response = await workerd.dispatchFetch(`http://x/${path}`, init)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text)
}

for (const path of ['object', 'd1']) {
  test(`${path}: a call of many requests runs once`, async () => {
    const outputs = await Promise.all(
      Array.from({ length: 6 }, () => ask(path, { conversationId: 'many' })),
    )
    assert.deepEqual([...new Set(outputs)], ['sent to Ada: 1'])
    assert.equal(await ask(path, { conversationId: 'many' }), 'sent to Ada: 1')
    assert.equal(await ask(path, { conversationId: 'other' }), 'sent to Ada: 2')
  })
}

test('object: a call that was running when the object was evicted is unknown', async () => {
  const options = { conversationId: 'evicted', leaseMs: 100 }
  const before = await ask('runs')
  const running = ask('object', { ...options, hangs: true }).catch(() => {})
  await until(async () => (await ask('runs')) === before + 1)
  await assert.rejects(ask('end'))
  await running
  const notice = /it was started before, and whether it finished is not known/
  assert.match(await ask('object', options), notice)
  assert.equal(await ask('runs'), before + 1)
})

test('a guarded client answers a repeated call', async () => {
  const call = { name: 'list_files', arguments: '{"path":".","recursive":true}' }
  const looped = ['a', 'b'].flatMap((id) => [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content: '["notes.txt"]' },
  ])
  const tools = [{ type: 'function', function: { name: 'list_files', parameters: {} } }]
  const messages = [{ role: 'user', content: 'look' }, ...looped]
  const { message, reports } = await ask('model', { model: 'm', messages, tools })
  assert.match(message.content, /^From the tool results/)
  assert.equal(reports[0].forced, 'duplicate')
})
