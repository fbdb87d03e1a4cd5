// Another step begins where processors are idle, and only there.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { idleness } from '../../scripts/idle.mjs'

test('the share since the last call, of all processors', () => {
  const times = [
    { user: 100, sys: 50, idle: 1000 },
    { user: 900, sys: 0, idle: 20 },
  ]
  const idle = idleness(() => times.map((one) => ({ times: { ...one } })))
  assert.equal(idle(), 0, 'no time has passed')
  times[0].idle += 600
  times[1].user += 300
  times[1].sys += 300
  assert.equal(idle(), 0.5)
  times[0].idle += 100
  times[1].idle += 100
  assert.equal(idle(), 1)
})

test('of this machine it is a share, also where its counters stand still', async () => {
  const idle = idleness()
  await sleep(100)
  for (const share of [idle(), idle()]) assert.ok(share >= 0 && share <= 1, `${share}`)
})
