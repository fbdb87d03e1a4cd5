// What a runner's output says: how much passed, what failed and what did not run. A log that is cut must not lose
// the names.

/** Lines shown of one failure, of all failures of a step, and of the end of its output. */
const [ONE, ALL, TAIL] = [80, 600, 60]

/** A line that begins a failure: TAP's, and that of our own players. */
const NOT_OK = /^( *)not ok\b/

/**
 * The failures in the output of a step, each as its lines: of TAP and of our players `not ok` with
 * all that is indented below it, of cargo the sections between `failures:` and its result.
 */
export function failuresIn(output) {
  const lines = output.split('\n')
  const found = []
  for (let at = 0; at < lines.length; at++) {
    const indent = NOT_OK.exec(lines[at])?.[1].length
    const cargo = lines[at] === 'failures:'
    if (indent === undefined && !cargo) continue
    const inside = cargo
      ? (line) => !line.startsWith('test result:')
      : (line) => line.trim() === '' || /^ */.exec(line)[0].length > indent
    let end = at + 1
    while (end < lines.length && inside(lines[end])) end++
    found.push(lines.slice(at, end))
    at = end - 1
  }
  return found
}

/** The end stays: there cargo has the names. */
const cut = (lines, most, end = 10) =>
  lines.length > most
    ? [...lines.slice(0, most - end), `  … ${lines.length - most} lines …`, ...lines.slice(-end)]
    : lines

/** What to print of a step that failed: its failures, what was skipped, the end of its output. */
export function report(output) {
  const failures = failuresIn(output)
  // The names of all, however many there are.
  const names = failures.map(([first]) => first.trim())
  const excerpt = cut(
    failures.flatMap((lines) => [...cut(lines, ONE), '']),
    ALL,
  )
  const more = excerpt.length > ALL ? ['Failed:', ...names] : []
  const skipped = skippedIn(output)
  if (skipped.length) more.push('Skipped:', ...cut(skipped, ALL))
  const uncaught = output.match(UNCAUGHT) ?? []
  if (uncaught.length) more.push('Uncaught:', ...cut(uncaught, ONE))
  const tail = output.split('\n').slice(-TAIL)
  return [...excerpt, ...more, `--- the last ${tail.length} lines:`, ...tail].join('\n')
}

/** A test that did not run, or whose failure does not count: TAP's line, and cargo's. */
const NOT_RUN = /^ *(?:not )?ok\b.*# (?:SKIP|TODO)\b.*|^test .* \.\.\. ignored\b.*/gim

/** The tests that were skipped, each as the runner's line. */
const skippedIn = (output) => (output.match(NOT_RUN) ?? []).map((line) => line.trim())

/** An uncaught error, for which the runner fails the file and says no more (tests/uncaught.mjs). */
const UNCAUGHT = /^# Error: .* generated asynchronous activity .*/gm

/** What a runner says of itself: cargo's, node's and our own closing lines. */
function countsIn(output) {
  const sum = (pattern) => [...output.matchAll(pattern)].reduce((all, [, n]) => all + Number(n), 0)
  const summary = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1)
  if (summary) return { passed: Number(summary[1]), failed: Number(summary[2]), skipped: 0 }
  if (/^test result: /m.test(output)) {
    return {
      passed: sum(/^test result: .*?(\d+) passed;/gm),
      failed: sum(/^test result: .*?passed; (\d+) failed/gm),
      skipped: sum(/^test result: .*?failed; (\d+) ignored/gm),
    }
  }
  if (/^# tests \d+$/m.test(output)) {
    return {
      passed: sum(/^# pass (\d+)$/gm),
      failed: sum(/^# (?:fail|cancelled) (\d+)$/gm),
      skipped: sum(/^# (?:skipped|todo) (\d+)$/gm),
    }
  }
  return undefined
}

/**
 * What came of a step whose command ended with `code`; `skips` is how many tests it may skip. A
 * command that is no runner is one check.
 */
export function judge(code, output, skips = 0) {
  const counts = countsIn(output) ?? { passed: code === 0 ? 1 : 0, failed: 0, skipped: 0 }
  // A runner that fails without a failed test, that ran nothing, or that skipped one, has failed.
  const fails = code !== 0 || counts.passed === 0 || counts.skipped > skips
  return { ...counts, failed: Math.max(counts.failed, fails ? 1 : 0) }
}

/** The line of a step: `ok  name: 3 passed, 0 failed`, and how many were skipped. */
export const summary = (name, { passed, failed, skipped }) =>
  `${failed ? 'FAILED' : 'ok'}  ${name}: ${passed} passed, ${failed} failed` +
  (skipped ? `, ${skipped} skipped` : '')
