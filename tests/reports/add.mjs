// Adds a public report to the corpus and plays it: `npm run report -- <file.json>`. It ends with 1 if
// the report shows a fault. `tests/reports/README.md` has the form of a report.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readReport } from './reports.mjs'
import { build } from '../../scripts/build.mjs'
import { root } from '../../scripts/setup.mjs'
import { main } from '../../scripts/tasks.mjs'

await main(async () => {
  const [file] = process.argv.slice(2)
  if (!file) throw new Error('npm run report -- <file.json>')
  const name = basename(file, '.json')
  if (!/^[\w-]+$/.test(name)) throw new Error(`${name}: letters, digits, - and _ only`)
  const text = readFileSync(file, 'utf8')
  readReport(name, text)
  const place = join(root, 'tests/data/reports', `${name}.json`)
  if (!existsSync(place)) {
    writeFileSync(place, `${JSON.stringify(JSON.parse(text), null, 1)}\n`)
    console.log(`tests/data/reports/${name}.json: added`)
  }
  await build()
  const { status } = spawnSync(
    process.execPath,
    ['tests/reports/run.mjs', 'node', '--only', name],
    { cwd: root, stdio: 'inherit' },
  )
  process.exitCode = status ?? 1
})
