// The tables and the searches, in whatever runtime this is.
import { playAll } from './play.mjs'
import { searchAll } from './search.mjs'

export async function playBoth(turnlock, { url, scenarios, documents, runtime }) {
  const played = await playAll(turnlock, scenarios)
  const found = await searchAll(turnlock, { url, documents, runtime })
  return {
    passed: played.passed + found.passed,
    failed: played.failed + found.failed,
    failures: [...played.failures, ...found.failures],
  }
}
