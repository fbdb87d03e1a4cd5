// How tests wait: for what must come, and never for a time to pass.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * How long a test waits for what must come, in milliseconds: only a failure takes so long. A machine
 * that is busy with other things may need a hundred times what it needs alone.
 */
export const PATIENCE_MS = 120_000

/** Waits until `condition` holds; how long it takes proves nothing. */
export async function until(condition) {
  // Counted and not measured: what a slow condition takes is no patience lost.
  for (let waited = 0; !(await condition());) {
    assert.ok(waited < PATIENCE_MS, `never: ${condition}`)
    // A look into a page costs milliseconds of a processor: what takes long is looked at less often.
    const step = waited < 500 ? 20 : 100
    await pause(step)
    waited += step
  }
}

/**
 * What a call to a store's server gives, sent again where the connection is gone. It gives up in the end:
 * a test that has failed meanwhile must not keep its process.
 */
export async function untilAnswered(call) {
  let answer
  await until(async () => {
    try {
      answer = { value: await call() }
    } catch (error) {
      assert.ok(['store.unavailable', 'store.closed'].includes(error.code), String(error))
    }
    return answer
  })
  return answer.value
}
