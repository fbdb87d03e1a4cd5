// Writes what an answer costs in each store into the guide: `node docs/tools/costs.mjs`. A test
// compares it.
import { readFileSync, writeFileSync } from 'node:fs'
import { measure, tablesOf } from '../../tests/stores/costs.mjs'

const file = new URL('../stores.md', import.meta.url)
const tables = tablesOf(await measure())
const marked = /<!-- cost (\d) -->\n(?:\n(?:\|.*\n)+)?/g
writeFileSync(
  file,
  readFileSync(file, 'utf8').replace(marked, (_, n) => `<!-- cost ${n} -->\n\n${tables[n - 1]}\n`),
)
console.log(tables.join('\n\n'))
