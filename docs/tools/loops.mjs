// Writes the table of loops into the guide: `node docs/tools/loops.mjs`. A test compares it.
import { readFileSync, writeFileSync } from 'node:fs'
import { loopTable, measureLoops } from '../../tests/provider/loop-table.mjs'

const file = new URL('../guards.md', import.meta.url)
const guide = readFileSync(file, 'utf8')
const before = /Runs of the tool \/ model calls, of at most \d+:\n\n(\|.*\n)+/
if (!before.test(guide)) throw new Error('docs/guards.md has no table of loops')
const table = loopTable(await measureLoops())
writeFileSync(
  file,
  guide.replace(before, () => table),
)
console.log(table)
process.exit(0)
