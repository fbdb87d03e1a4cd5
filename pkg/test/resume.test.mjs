// Turns whose owner is gone, in one process: the store's clock says so.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore, resumeTurn, runTurn } from 'turnlock'

const messages = [{ role: 'user', content: 'go' }]
const model = customModel(async function* ({ tools }) {
  if (!tools?.length) return yield { type: 'text', text: 'Done.' }
  yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'act' }
  yield { type: 'tool_call_arguments', index: 0, text: '{}' }
})

for (const [kind, again] of [
  ['plain', false],
  ['readOnly', true],
  ['idempotent', true],
]) {
  test(`a claimed call without an outcome, ${kind}: ${again ? 'runs again' : 'unknown'}`, async () => {
    let now = 0
    const store = memoryStore({ now: () => now })
    const keys = []
    let inside
    const started = new Promise((resolve) => (inside = resolve))
    const act = defineTool({
      ...{ description: 'Acts', inputSchema: { type: 'object' }, [kind]: true },
      async execute(_, { idempotencyKey, signal }) {
        if (keys.push(idempotencyKey) > 1) return 'acted'
        inside()
        // Hangs until it is told that it is no longer wanted.
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
      },
    })
    const parts = { model, tools: { act }, requestId: 'r', store }
    const first = runTurn({ ...parts, messages, keep: { leaseMs: 300 } })
    await started
    now = 20_000
    const { status, text, toolResults } = await resumeTurn(parts).result
    assert.deepEqual([status, text], ['complete', 'Done.'])
    assert.deepEqual(
      toolResults.map((result) => [result.status, result.result]),
      again ? [['ok', 'acted']] : [['unknown', undefined]],
    )
    assert.equal(keys.length, again ? 2 : 1)
    assert.equal(new Set(keys).size, 1)
    // Whoever had it learns that it is another's.
    assert.equal((await first.result).error.code, 'turn.conflict')
  })
}

test('a turn is kept no shorter than its lease: its owner would lose its claims', () => {
  const begin = (keep) => runTurn({ model, messages, store: memoryStore(), keep })
  const refused = { code: 'options.invalid', message: /keep\.ttlMs/ }
  assert.throws(() => begin({ ttlMs: 14_999 }), refused)
  assert.throws(() => begin({ ttlMs: 500, leaseMs: 501 }), refused)
  begin({ ttlMs: 500, leaseMs: 500 }).cancel()
})
