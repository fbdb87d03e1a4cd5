// What is held weakly is found by collecting garbage, and not by waiting for the day it happens.
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc')

/** Collects everything that nobody holds; some things only let go of others in later turns. */
export async function collectGarbage() {
  for (let round = 0; round < 5; round++) {
    collect()
    await pause(1)
  }
}
