// Readers of kept turns.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, followTurn, memoryStore, runTurn } from 'turnlock'

test('what was kept is read, and then it is looked at once whether its owner is gone', async () => {
  const store = memoryStore()
  const silent = customModel(async function* () {
    yield { type: 'text', text: 'This is the beginning of ' }
    await new Promise(() => {})
  })
  const turn = runTurn({ model: silent, messages: [{ role: 'user', content: 'go' }], store })
  const events = turn[Symbol.asyncIterator]()
  const shown = []
  while (shown.at(-1)?.type !== 'text') shown.push((await events.next()).value)

  const looks = []
  const abandoned = {
    ...store,
    watch: undefined,
    events(...range) {
      looks.push('events')
      return store.events(...range)
    },
    async read(name) {
      looks.push('read')
      return { ...(await store.read(name)), idleMs: Infinity }
    },
  }
  const read = []
  for await (const event of followTurn({ requestId: turn.requestId, store: abandoned })) {
    read.push(event)
  }
  const { code, seq } = read.pop()
  assert.deepEqual(read, shown)
  assert.deepEqual([code, seq], ['turn.interrupted', shown.at(-1).seq])
  // Not again and again for a while.
  assert.deepEqual(looks, ['events', 'events', 'read'])
  turn.cancel()
  assert.equal((await turn.result).status, 'cancelled')
})
