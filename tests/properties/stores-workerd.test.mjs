// The property of stores, for those of workerd: each call is a request to a worker.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { bundleWorker } from '../server/bundle.mjs'
import { clockOf, holdsInStore, remoteStore } from './stores.mjs'

const METHODS = ['read', 'commit', 'events', 'recall', 'list', 'idle']
let workerd
before(async () => {
  const entry = fileURLToPath(new URL('./stores-worker.mjs', import.meta.url))
  workerd = new Miniflare({
    compatibilityDate: '2025-05-01',
    modules: await bundleWorker(entry),
    d1Databases: ['DB'],
    durableObjects: { TURNS: { className: 'Turns', useSQLite: true } },
  })
})
after(() => workerd?.dispose())

async function ask(path, what) {
  const init = { method: 'POST', body: JSON.stringify(what) }
  const response = await workerd.dispatchFetch(`http://x/${path}`, init)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const { value, error } = JSON.parse(text, (_, one) => (one === 'it is Infinity' ? Infinity : one))
  if (error) throw Object.assign(new Error(error.message), error)
  return value
}

test('Durable Object, which is evicted', () => {
  const clock = clockOf()
  const make = () => {
    clock.begin()
    const store = remoteStore(METHODS, (method, args) =>
      ask('object', { now: clock.now, method, args }),
    )
    const restart = () => assert.rejects(ask('end', {}))
    return { store, wait: clock.wait, restart }
  }
  return holdsInStore('Durable Object', make, 30)
})

test('D1', () => {
  const store = remoteStore(METHODS, (method, args) => ask('d1', { method, args }))
  return holdsInStore('D1', () => ({ store }), 15)
})
