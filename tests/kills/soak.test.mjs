// What a turn took it gives back: handles of the core, and pages of its memory, which never shrink.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Redis } from 'ioredis'
import { customModel, memoryStore, runTurn } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { soak } from '../../benches/stores/soak.mjs'
import { startRedis } from '../stores/redis-server.mjs'

let server, client
before(async () => {
  server = await startRedis('--appendonly', 'no')
  client = new Redis({ port: server.port })
})
after(async () => {
  client.disconnect()
  await server.stop()
})

for (const [name, turns, open] of [
  ['no store', 3000, () => undefined],
  ['memory', 3000, () => memoryStore({ maxTurns: 200 })],
  ['Redis', 1500, () => redisStore(client)],
]) {
  test(`${turns} turns, ${name}: no handle and no page of wasm is left behind`, async () => {
    const store = open()
    const kept = store && { store, keep: { ttlMs: 600_000, leaseMs: 600_000 } }
    // More at once than later, so that pages are there for however many then happen to be at their
    // largest; a leak takes many.
    await soak({ turns: 300, samples: 1, lanes: 30, ...kept })
    const seen = await soak({ turns, samples: 3, lanes: 20, ...kept })
    // Turns with a store run on another part of the core than those before them.
    const parts = store ? 2 : 1
    for (const { handles, instances } of seen) assert.deepEqual([handles, instances], [0, parts])
    const [early, ...later] = seen.map(({ pages }) => pages)
    for (const pages of later) assert.ok(pages <= early + 1, `${early} pages, then ${pages}`)
  })
}

test('the measure notices: turns that are not over are handles, and many take pages', async () => {
  const model = customModel(async function* (_, { signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const messages = [{ role: 'user', content: 'x'.repeat(100_000) }]
  const [before] = await soak({ turns: 1, samples: 1 })
  const open = Array.from({ length: 50 }, () => runTurn({ model, messages }))
  const [during] = await soak({ turns: 1, samples: 1 })
  assert.equal(during.handles, 50)
  assert.ok(during.pages > before.pages)
  for (const turn of open) turn.cancel()
  await Promise.all(open.map((turn) => turn.result))
  const [after] = await soak({ turns: 1, samples: 1 })
  assert.equal(after.handles, 0)
})
