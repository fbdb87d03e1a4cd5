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
  const STEP_MS = 20
  // Counted and not measured: what a slow condition takes is no patience lost.
  for (let left = PATIENCE_MS / STEP_MS; !(await condition()); left--) {
    assert.ok(left > 0, `never: ${condition}`)
    await pause(STEP_MS)
  }
}
