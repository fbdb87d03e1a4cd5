// What a trial has to look like, by the receipts and by what the store holds.

const named = (kept, kind) => (kept?.records ?? []).filter(([name]) => name.startsWith(`${kind}/`))
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)

/**
 * Holds what was seen against the promise (README, Turns that survive).
 *
 * `starts` is what tools noted on the disk before they did anything, `receipts` what the receiver
 * did. `before` is the turn as its holders left it, `after` when others had finished it, `last` when
 * a frozen holder had woken up and ended, too.
 */
export function judge(seen) {
  const { cell, results, starts, receipts, before, after, last, late, holders } = seen
  const faults = []
  const check = (holds, what) => holds || faults.push(what)
  const plain = cell.kind === 'plain'

  // A tool is started behind a claim that is kept, and a plain one once.
  const early = starts.filter(({ pid }) => holders.includes(pid)).length
  // Each owner writes a claim of its own.
  check(early <= named(before, 'claim').length, 'started without a claim')
  if (plain) {
    check(starts.length <= 1, `a plain tool was started ${starts.length} times`)
    check(receipts.length <= 1, `a plain tool had its effect ${receipts.length} times`)
  }
  const keys = new Set([...starts, ...receipts].map(({ key }) => key))
  check(keys.size <= 1, `${keys.size} idempotency keys for one call`)

  // One goes on with it, and comes to an end.
  const won = results.filter(({ status }) => status === 'complete')
  check(won.length === 1, `${won.length} of ${results.length} finished the turn`)
  const codes = results.filter((one) => !won.includes(one)).map(({ error }) => error?.code)
  check(
    codes.every((code) => code === 'turn.conflict'),
    `the others: ${codes}`,
  )

  // One outcome, what it has to be, and never another.
  const outcomes = named(after, 'outcome')
  check(outcomes.length === 1, `${outcomes.length} outcomes were kept`)
  const [status] = outcomes.map(([, text]) => JSON.parse(text).status)
  const known = named(before, 'outcome')
  const claimed = named(before, 'claim').length > 0
  // A first one that was killed leaves its own outcome or none; a second one may have settled it.
  const given =
    cell.fault === 'kill twice' && plain ? known.map(([, text]) => JSON.parse(text).status) : []
  const expected = known.length ? (given[0] ?? 'ok') : claimed && plain ? 'unknown' : 'ok'
  check(status === expected, `the outcome is ${status}, not ${expected}`)
  check(!known.length || same(known, outcomes), 'the outcome was replaced')
  const told = won[0]?.toolResults.map((result) => result.status)
  check(same(told, [status]), `the turn was told ${told}, kept is ${status}`)
  if (status === 'ok') check(receipts.length >= 1, 'ok, and nothing happened')

  // Nothing is written behind the end, by whoever wakes up.
  check(after?.open === false, 'the turn is open')
  check(same({ ...after, idleMs: 0 }, { ...last, idleMs: 0 }), 'a stale write')
  check(same(seen.events, seen.lastEvents), 'events were written behind the end')
  if (late) check(late.code === 'turn.conflict', `the woken holder: ${late.code ?? late.status}`)

  // Who followed all along has what who comes later gets: each event once, in order.
  const { followed, fresh } = seen
  check(fresh.length && fresh.every(({ seq }, at) => seq === at + 1), 'kept events have a gap')
  check(same(followed, fresh), 'the reader has seen something else')
  const ends = fresh.filter(({ type }) => ['complete', 'cancelled', 'error'].includes(type))
  check(ends.length === 1 && fresh.at(-1)?.type === 'complete', 'it does not end with complete')
  const shown = fresh.filter(({ type }) => type === 'tool_results')
  check(shown.length === 1, `${shown.length} tool_results events`)

  return {
    faults,
    status,
    claimed,
    starts: starts.length,
    receipts: receipts.length,
    again: starts.length > 1 && keys.size === 1,
    raced: results.length > 1,
  }
}
