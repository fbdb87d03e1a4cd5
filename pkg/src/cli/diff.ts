/** What changed between two JSON values, line by line. */

/** Differences that are looked for, one by one; behind these, all is one. It takes the square in memory. */
const MOST = 1000
/** Lines that stay the same around what does not. */
const AROUND = 3

/** A line, and whether it stays, goes or comes. */
type Edit = readonly [' ' | '-' | '+', string]

const goes = (text: string): Edit => ['-', text]
const comes = (text: string): Edit => ['+', text]
const stays = (text: string): Edit => [' ', text]

/** What JSON leaves as it is, and a terminal would obey: controls, and what turns the direction around. */
const OBEYED = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
const linesOf = (value: unknown) =>
  JSON.stringify(value, null, 2).replace(OBEYED, escaped).split('\n')

/** The lines of a unified diff of both, as JSON of two spaces; none where they are the same. */
export function differences(before: unknown, after: unknown): string[] {
  const edits = editsOf(linesOf(before), linesOf(after))
  const changes = edits.flatMap(([kind], at) => (kind === ' ' ? [] : [at]))
  const hunks: { from: number; to: number }[] = []
  for (const at of changes) {
    const last = hunks.at(-1)
    const to = Math.min(at + AROUND + 1, edits.length)
    if (last && at - AROUND <= last.to) last.to = to
    else hunks.push({ from: Math.max(at - AROUND, 0), to })
  }
  const count = (shown: readonly Edit[], not: '-' | '+') =>
    shown.filter(([kind]) => kind !== not).length
  const lines: string[] = []
  // Lines of both before the hunk, and where the hunk before it ended.
  let [old, now, behind] = [0, 0, 0]
  for (const { from, to } of hunks) {
    const shown = edits.slice(from, to)
    const [given, made] = [count(shown, '+'), count(shown, '-')]
    old += from - behind
    now += from - behind
    // A side without lines is said to begin behind the line before it.
    const place = (before: number, own: number) => `${before + (own ? 1 : 0)},${own}`
    lines.push(`@@ -${place(old, given)} +${place(now, made)} @@`)
    for (const [kind, text] of shown) lines.push(`${kind}${text}`)
    old += given
    now += made
    behind = to
  }
  return lines
}

function editsOf(before: readonly string[], after: readonly string[]): Edit[] {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const [old, now] = [before, after].map((lines) => lines.slice(start, lines.length - end)) as [
    string[],
    string[],
  ]
  return [
    ...before.slice(0, start).map(stays),
    ...(shortest(old, now) ?? [...old.map(goes), ...now.map(comes)]),
    ...before.slice(before.length - end).map(stays),
  ]
}

/**
 * The fewest edits, or `undefined` where these are more than MOST: E. Myers, An O(ND) Difference
 * Algorithm and Its Variations, 1986. `fronts[d]` is how far d - 1 edits lead, on the diagonals from
 * -d - 1 to d + 1.
 */
function shortest(old: readonly string[], now: readonly string[]): Edit[] | undefined {
  const most = Math.min(old.length + now.length, MOST)
  const middle = most + 1
  const front = new Int32Array(2 * most + 3)
  const fronts: Int32Array[] = []
  for (let edits = 0; edits <= most; edits++) {
    fronts.push(front.slice(middle - edits - 1, middle + edits + 2))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const [less, more] = [front[middle + diagonal - 1]!, front[middle + diagonal + 1]!]
      let x = isDown(diagonal, edits, less, more) ? more : less + 1
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x++
      front[middle + diagonal] = x
      if (x >= old.length && x - diagonal >= now.length) return walked(old, now, fronts)
    }
  }
  return undefined
}

/** Whether the last edit was a line that comes. */
const isDown = (diagonal: number, edits: number, less: number, more: number) =>
  diagonal === -edits || (diagonal !== edits && less < more)

function walked(old: readonly string[], now: readonly string[], fronts: Int32Array[]): Edit[] {
  let [x, y] = [old.length, now.length]
  const found: Edit[] = []
  const stay = (until: number) => {
    for (; x > until; y--) found.push(stays(old[--x]!))
  }
  for (let edits = fronts.length - 1; edits > 0; edits--) {
    const front = fronts[edits]!
    const at = x - y + edits + 1
    const [less, more] = [front[at - 1]!, front[at + 1]!]
    const down = isDown(x - y, edits, less, more)
    stay(down ? more : less + 1)
    found.push(down ? comes(now[--y]!) : goes(old[--x]!))
  }
  stay(0)
  return found.reverse()
}
