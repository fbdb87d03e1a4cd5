/** What changed between two JSON values, line by line. */
import { createTwoFilesPatch, OMIT_HEADERS } from 'diff'
import { asJson } from './printable.js'

/** Lines that go or come, of which the fewest are looked for; where they are more, all go and come. */
const MOST = 1000
/** Lines that stay the same around what does not. */
const AROUND = 3

const written = (value: unknown) => `${asJson(value, 2)}\n`

/** The lines of a unified diff of both, as JSON of two spaces; none where they are the same. */
export function differences(before: unknown, after: unknown): string[] {
  const [old, now] = [written(before), written(after)]
  if (old === now) return []
  const options = { context: AROUND, headerOptions: OMIT_HEADERS, maxEditLength: MOST }
  const patch = createTwoFilesPatch('', '', old, now, undefined, undefined, options)
  return lines(patch ?? wholeDiff(old, now))
}

const lines = (text: string) => text.split('\n').slice(0, -1)

function wholeDiff(old: string, now: string): string {
  const [gone, come] = [lines(old), lines(now)]
  const rows = [...gone.map((text) => `-${text}`), ...come.map((text) => `+${text}`)]
  return [`@@ -1,${gone.length} +1,${come.length} @@`, ...rows, ''].join('\n')
}
