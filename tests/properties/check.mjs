// Checks of properties over generated inputs. No `node:` import: it runs in any JavaScript runtime.
import fc from 'fast-check'

/**
 * Checks a property; returns the number of runs. Throws an error with the seed, the smallest failing
 * input, and the path that generates it again.
 */
export async function check(name, property, parameters) {
  const details = await fc.check(property, parameters)
  if (!details.failed) return details.numRuns
  const report = fc.defaultReportMessage(details)
  throw new Error(
    `${name}: SEED=${parameters.seed}\n${report}\n${details.errorInstance?.stack ?? ''}`,
  )
}
