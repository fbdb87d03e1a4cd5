// Every function of every entry, called with what it does not take: it refuses with an error that has
// a code, at once or later, or it takes it. Nothing else is thrown, and nothing is left unhandled.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { isTurnlockError, openHistory, openLedger, TurnlockError } from 'turnlock'
import { createRedactor } from 'turnlock/redact'
import { remoteTurns } from 'turnlock/remote'

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
/** Not code; the same functions again; hooks, which React refuses outside of a component. */
const LEFT = /^\.\/(package\.json|.*\.wasm|slim.*|browser|react)$/
const entries = Object.keys(exports).filter((entry) => !LEFT.test(entry))

const WRONG = [
  ...[[], [undefined], [null], [5], ['x'], [{}], [[]], [() => {}], [Symbol('s')], [[null]]],
  ...[
    [{}, {}],
    [{}, 5],
    ['x', 5],
    [[], 5],
    [{}, null],
    ['x', null],
    [[null], null],
  ],
]

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

/** How long what may hang by design (a server that waits, a stream) is waited for, in milliseconds. */
const PATIENCE = 50

/** What a call throws, now or later. */
async function thrown(call, args) {
  const errors = []
  const note = (error) => errors.push(error)
  try {
    const made = call(...args)
    const later = [made, made?.result, made?.[Symbol.asyncIterator]?.().next()]
    const settled = later.map((one) => Promise.resolve(one).catch(note))
    await Promise.race([
      Promise.all(settled),
      new Promise((resolve) => setTimeout(resolve, PATIENCE)),
    ])
    made?.cancel?.()
  } catch (error) {
    note(error)
  }
  return errors
}

/** Objects of the package, and their methods that take something. */
const OBJECTS = {
  'a ledger': [() => openLedger(), 'judge', 'settled'],
  'a history': [() => openHistory({ dialect: 'openai-chat' }), 'append'],
  'a redactor': [() => createRedactor(), 'redact', 'feed'],
  'remote turns': [
    () => remoteTurns({ url: 'http://localhost/agent', fetch: async () => new Response('{}') }),
    ...['run', 'resume', 'follow', 'answer', 'pause', 'cancel'],
  ],
}

for (const [what, [make, ...methods]] of Object.entries(OBJECTS)) {
  test(`misuse of ${what}`, async () => {
    for (const method of methods) {
      let refused = 0
      for (const args of WRONG) {
        const one = make()
        for (const error of await thrown(one[method].bind(one), args)) {
          const about = `${method}(${args.map((arg) => typeof arg)}): ${error?.stack ?? error}`
          assert.ok(isTurnlockError(error), about)
          refused++
        }
      }
      assert.ok(refused > 0, `${method} refuses nothing`)
    }
    assert.deepEqual(unhandled, [])
  })
}

for (const entry of entries) {
  test(`misuse of turnlock${entry.slice(1)}`, async () => {
    const module = await import(`turnlock${entry.slice(1)}`)
    const functions = Object.entries(module).filter(
      ([, value]) => typeof value === 'function' && value !== TurnlockError,
    )
    let refused = 0
    for (const [name, call] of functions) {
      for (const args of WRONG) {
        for (const error of await thrown(call, args)) {
          const about = `${name}(${args.map((one) => typeof one)}): ${error?.stack ?? error}`
          assert.ok(isTurnlockError(error), about)
          refused++
        }
      }
    }
    assert.ok(functions.length === 0 || refused > 0, `${entry} refuses nothing`)
    assert.deepEqual(unhandled, [])
  })
}
