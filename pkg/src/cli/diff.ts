/** What changed between two JSON values, line by line. */
import { createTwoFilesPatch, OMIT_HEADERS } from 'diff'

/** Lines that go or come, of which the fewest are looked for; where they are more, all go and come. */
const MOST = 1000
/** Lines that stay the same around what does not. */
const AROUND = 3

/** What JSON leaves as it is, and a terminal would obey: controls, and what turns the direction around. */
const OBEYED = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
const written = (value: unknown) => `${JSON.stringify(value, null, 2).replace(OBEYED, escaped)}\n`

/** The lines of a unified diff of both, as JSON of two spaces; none where they are the same. */
export function differences(before: unknown, after: unknown): string[] {
  const [old, now] = [written(before), written(after)]
  if (old === now) return []
  const options = { context: AROUND, headerOptions: OMIT_HEADERS, maxEditLength: MOST }
  const patch = createTwoFilesPatch('', '', old, now, undefined, undefined, options)
  return lines(patch ?? whole(old, now))
}

const lines = (text: string) => text.split('\n').slice(0, -1)

function whole(old: string, now: string): string {
  const [gone, come] = [lines(old), lines(now)]
  const rows = [...gone.map((text) => `-${text}`), ...come.map((text) => `+${text}`)]
  return [`@@ -1,${gone.length} +1,${come.length} @@`, ...rows, ''].join('\n')
}
