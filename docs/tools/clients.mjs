// Writes the table of clients into the guide: `node docs/tools/clients.mjs`. A test compares it.
import { readFileSync, writeFileSync } from 'node:fs'
import { matrixTable, measureMatrix } from '../../tests/proxy/matrix.mjs'

const file = new URL('../proxy.md', import.meta.url)
const guide = readFileSync(file, 'utf8')
const before = /\| client \| package \|.*\n(\|.*\n)+/
if (!before.test(guide)) throw new Error('docs/proxy.md has no table of clients')
const table = matrixTable(await measureMatrix())
writeFileSync(
  file,
  guide.replace(before, () => table),
)
console.log(table)
process.exit(0)
