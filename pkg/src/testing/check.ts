/** Assertions for the cases of the conformance suite. */

/** Formats a value; of long texts, only the beginning and the end are shown. */
function describe(value: unknown): string {
  if (value === undefined) return 'undefined'
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string' && part.length > 200) {
      return `${part.slice(0, 40)}…${part.slice(-40)} (${part.length} characters)`
    }
    return part === Infinity ? 'Infinity' : part
  })
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text
}

/** Equal as data; a missing member equals one that is `undefined`. */
function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].every((name) => equal(left[name], right[name]))
}

export function same(actual: unknown, expected: unknown, what: string): void {
  if (equal(actual, expected)) return
  throw new Error(`${what}\n  expected ${describe(expected)}\n  got      ${describe(actual)}`)
}

export function holds(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what)
}

/** The error that `promise` rejects with must have `code`. */
export async function rejects(promise: Promise<unknown>, code: string, what: string) {
  const got = await promise.then(
    (value) => `the answer ${describe(value)}`,
    (error: { code?: unknown; message?: unknown } | null) => {
      if (error?.code === code) return undefined
      return `an error with code ${describe(error?.code)}: ${String(error?.message ?? error)}`
    },
  )
  if (got) throw new Error(`${what}\n  expected an error with code "${code}"\n  got      ${got}`)
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Waits until `condition` holds. The duration is not part of the check. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  patienceMs: number,
  what: string,
): Promise<void> {
  // Counted instead of measured, because some runtimes stop the clock between two events.
  const STEP = 10
  for (let waited = 0; waited <= patienceMs; waited += STEP) {
    if (await condition()) return
    await sleep(STEP)
  }
  throw new Error(`${what} (waited ${patienceMs} ms)`)
}
