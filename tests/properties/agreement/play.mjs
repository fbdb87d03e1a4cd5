// Checks the properties of this folder through the public package. Web standards only: it runs in Node,
// workerd and Chromium.
import { playInLanes } from '../../lanes.mjs'
import { check } from '../check.mjs'
import { PROPERTIES } from './properties.mjs'

/** @param {{ turnlock: any, runtime: string }} host */
export function playAll({ turnlock, runtime }, jobs) {
  return playInLanes({ runtime, lanes: 1 }, jobs, ({ name, seed, runs }) =>
    check(name, PROPERTIES[name](turnlock), { seed, numRuns: runs }),
  )
}
