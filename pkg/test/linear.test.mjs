// What a stranger sends in great number is read in linear time. Nothing measures time here: in the square
// of it each of these would take longer than a test may.
import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import test from 'node:test'
import { citedDisagreements, distance } from 'turnlock/evidence'
import { recognizeFormat } from 'turnlock/inspect'
import { inventoryTools } from 'turnlock/planning'

test('an inventory of 300 000 tools', () => {
  const tools = Array.from({ length: 300_000 }, (_, n) => ({ name: `t${n}`, readOnly: true }))
  assert.equal(inventoryTools(tools).allow.length, tools.length)
})

test('a text that cites 60 000 disagreements of 60 000, and names 60 000 others', () => {
  const fields = Array.from({ length: 60_000 }, (_, n) => `/f${n}`)
  const disagreements = fields.map((field) => ({ field }))
  const others = fields.map((field) => `/other${field}`)
  const text = [...fields, ...others].join(' ')
  const found = citedDisagreements(text, { summary: { disagreements } })
  assert.deepEqual(found, { cited: fields, uncited: [], unknown: others })
})

test('a field that begins with a thousand others', () => {
  const fields = Array.from({ length: 1000 }, (_, n) => `/${'a'.repeat(n + 1)}`)
  const disagreements = fields.map((field) => ({ field }))
  const text = Array.from({ length: 50_000 }, (_, n) => `/${'a'.repeat(n % 1000)}b`).join(' ')
  const found = citedDisagreements(text, { summary: { disagreements } })
  assert.deepEqual([found.cited, found.unknown.length], [[], 1000])
})

test('the memory grows in large steps: engines collect garbage when it grows', async () => {
  let collected = 0
  const observer = new PerformanceObserver((list) => {
    collected += list
      .getEntries()
      .filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR).length
  })
  observer.observe({ entryTypes: ['gc'] })
  const list = (size) => Array.from({ length: size }, (_, n) => ({ a: n, b: 'x' }))
  assert.ok(distance(list(160_000), list(160_003)) > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
  observer.disconnect()
  // It was 359 with steps of a page.
  assert.ok(collected < 100, `${collected} times`)
})

test('a session of 200 000 lines of one message, and of one response', () => {
  const count = 200_000
  for (const type of ['user', 'assistant']) {
    const lines = Array.from({ length: count }, (_, n) =>
      JSON.stringify({
        type,
        message: { role: type, id: 'r', content: [{ type: 'text', text: `line ${n}` }] },
        uuid: `u${n}`,
        parentUuid: n ? `u${n - 1}` : null,
        sessionId: 's',
      }),
    )
    const { history } = recognizeFormat(lines.join('\n'))
    assert.deepEqual([history.length, history[0].content.length], [1, count])
  }
})
