// Callbacks of a chain that return more than a chain may keep: they are read to a bound.
import assert from 'node:assert/strict'
import test from 'node:test'
import { runChain } from 'turnlock/chain'

const PLAN = {
  pattern: 'sequential',
  steps: [
    { id: 1, type: 'search', query: 'x' },
    { id: 2, type: 'synthesize', query: 'w', depends_on: [1] },
    { id: 3, type: 'search', query: 'y' },
  ],
}
const host = (own) => ({
  query: 'Compare Ohio and Texas.',
  limits: { retryMs: 0 },
  classify: () => 'complex',
  answer: () => 'simple',
  plan: () => PLAN,
  search: ({ query }) => [query],
  synthesize: () => 'the end',
  ...own,
})

/** Text without an end, and how much of it was read. */
function endless(piece) {
  const read = { characters: 0, open: 0 }
  async function* pieces() {
    read.open++
    try {
      for (;;) {
        read.characters += piece.length
        yield piece
      }
    } finally {
      read.open--
    }
  }
  return { read, pieces }
}

const KIB = 1024
for (const [name, size] of [
  ['many pieces', 16 * KIB],
  ['one long piece', 64 * KIB * KIB],
]) {
  test(`plan: ${name} without an end are read to the limit, and the chain answers simply`, async () => {
    const { read, pieces } = endless('x'.repeat(size))
    let asked = 0
    const plan = () => (asked++, pieces())
    const { status, path, text, fellBack } = await runChain(host({ plan })).result
    assert.deepEqual(
      [status, path, text, fellBack?.code],
      ['complete', 'simple', 'simple', 'plan.too_large'],
    )
    assert.ok(read.characters <= asked * (256 * KIB + size), `${read.characters} in ${asked} plans`)
    assert.equal(read.open, 0)
  })
}

test('plan: the text of a turn without an end is read to the limit, and the turn is left', async () => {
  const { read, pieces } = endless('"'.repeat(16 * KIB))
  const result = new Promise(() => {})
  const plan = () => ({ textStream: pieces(), result })
  const { status, path } = await runChain(host({ plan })).result
  assert.deepEqual([status, path, read.open], ['complete', 'simple', 0])
})

/** An iterable of one value for ever, whose `return` never settles. */
const stuck = (value) => ({
  [Symbol.asyncIterator]: () => ({
    next: async () => ({ value, done: false }),
    return: () => new Promise(() => {}),
  }),
})

for (const [name, value, code] of [
  ['a plan that is too long', 'x'.repeat(64 * KIB), 'plan.too_large'],
  ['a piece that is no text', 7, 'plan.failed'],
]) {
  test(`plan: ${name} ends at once, although its stream never returns`, async () => {
    const made = [() => stuck(value), () => ({ textStream: stuck(value), result: null })]
    for (const plan of made) {
      // The time limit is that of a day: it must not be what ends the plan.
      const limits = { retryMs: 0, planMs: 86_400_000, totalMs: 86_400_000 }
      const { status, path, fellBack } = await runChain(host({ plan, limits })).result
      assert.deepEqual([status, path, fellBack?.code], ['complete', 'simple', code])
    }
  })
}

test('answer: a piece that is no text fails the chain, although its stream never returns', async () => {
  const answer = () => stuck(7)
  const limits = { totalMs: 86_400_000 }
  const { status, error } = await runChain(host({ classify: () => 'simple', answer, limits }))
    .result
  assert.deepEqual([status, error.code], ['failed', 'chain.invalid_result'])
})

test('answer: text without an end fails the chain at the limit', async () => {
  for (const size of [64 * KIB, 16 * KIB * KIB]) {
    const { read, pieces } = endless('x'.repeat(size))
    const answer = () => pieces()
    const { status, error, text } = await runChain(host({ classify: () => 'simple', answer }))
      .result
    assert.deepEqual([status, error.code], ['failed', 'chain.too_long'])
    assert.ok(text.length <= 4 * KIB * KIB)
    assert.ok(read.characters <= 4 * KIB * KIB + 2 * size, String(read.characters))
  }
})

test('synthesize: a step that writes without an end fails at the limit', async () => {
  const { read, pieces } = endless('x'.repeat(64 * KIB))
  const synthesize = ({ final }) => (final ? 'the end' : pieces())
  const { status, steps } = await runChain(host({ synthesize })).result
  const step = steps.find(({ query }) => query === 'w')
  assert.deepEqual(
    [status, step.status, step.error?.code],
    ['complete', 'failed', 'chain.result_too_large'],
  )
  assert.ok(read.characters <= 2 * KIB * KIB, String(read.characters))
})

test('search: a result that is too large fails its step once', async () => {
  let asked = 0
  const search = () => (asked++, ['x'.repeat(64 * KIB * KIB)])
  const plan = () => ({ ...PLAN, steps: PLAN.steps.slice(0, 1) })
  const { steps } = await runChain(host({ search, plan })).result
  assert.equal(steps[0].error?.code, 'chain.result_too_large')
  assert.equal(asked, 1)
})
