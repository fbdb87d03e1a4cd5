// Stores that never answer: a turn ends when its time is over. Sources: rwlove/home-ops#11747 (2026-05-19)
// and NousResearch/hermes-agent#72500 (2026-07-27): a store or a call that hangs holds an agent for ever.
// Read on 2026-11-29.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, memoryStore, runTurn } from 'turnlock'

const never = () => new Promise(() => {})

for (const answered of [0, 1, 3]) {
  test(`turnMs: a store that hangs after ${answered} commits does not hold the turn`, async () => {
    const kept = memoryStore()
    let commits = 0
    const commit = (...own) => (commits++ < answered ? kept.commit(...own) : never())
    const store = { ...kept, commit }
    const model = customModel(async function* (_, { signal }) {
      yield { type: 'text', text: 'one ' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const messages = [{ role: 'user', content: 'go' }]
    const turn = runTurn({ model, messages, store, policy: { turnMs: 300 }, keep: { gatherMs: 0 } })
    const events = []
    for await (const event of turn) events.push(event)
    const { status, error } = await turn.result
    assert.equal(status, 'failed')
    // Not that of the store, which would come 20 s later.
    assert.match(error.code, /^(turn|model)\.timeout$/)
    assert.equal(events.at(-1).code, error.code)
  })
}
