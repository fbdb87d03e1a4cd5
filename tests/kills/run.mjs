// Real kills and real freezes, cell by cell; prints the table of BENCHMARKS.md.
//
//   npm run kills -- [--trials 300] [--others 30] [--lanes 6] [--seed 1] [--only <words>] [--cells]
//
// `--cells`: a row for each cell; without it, only kills with a plain tool have one for each moment.
// `--trials`: per critical cell (a claim or an outcome of a plain tool at stake); `--others`: per
// other cell. A trial that breaks the promise is printed with its cell and seed, and fails the run; there is no share
// of them that would be fine. Trials in which the fault came too late are void, and counted.
import { parseArgs } from 'node:util'
import { openBench } from './bench.mjs'
import { ANYWHERE, CRITICAL, LANDMARKS } from './landmarks.mjs'
import { runTrial } from './trial.mjs'
import { KINDS } from './turn.mjs'

const number = (name) => ({ [name]: { type: 'string' } })
const { values } = parseArgs({
  options: Object.assign(
    { only: { type: 'string' }, cells: { type: 'boolean' } },
    ...['trials', 'others', 'lanes', 'seed'].map(number),
  ),
})
const trials = Number(values.trials ?? 300)
const others = Number(values.others ?? Math.min(trials, 30))
const lanes = Number(values.lanes ?? 6)
const firstSeed = Number(values.seed ?? 1)

const cells = ['kill', 'freeze', 'kill twice'].flatMap((fault) =>
  [...LANDMARKS, ANYWHERE].flatMap((landmark) =>
    Object.keys(KINDS).map((kind) => ({ fault, landmark, kind })),
  ),
)
const wanted = cells.filter(({ fault, landmark, kind }) =>
  `${fault} ${landmark} ${kind}`.includes(values.only ?? ''),
)

const bench = await openBench()
const rows = new Map(wanted.map((cell) => [cell, []]))
// Cells take turns, so that whatever disturbs the machine disturbs all of them.
const work = []
for (let n = 0; n < Math.max(trials, others); n++) {
  for (const cell of wanted) {
    const { fault, landmark, kind } = cell
    const critical = kind === 'plain' && fault !== 'kill twice' && CRITICAL.includes(landmark)
    if (n < (critical ? trials : others)) work.push([cell, firstSeed + n])
  }
}
const started = Date.now()
// What has been done by then is reported.
process.once('SIGINT', () => work.splice(0))
let broken = 0
async function lane() {
  for (let next = work.shift(); next; next = work.shift()) {
    const [cell, seed] = next
    const seen = await runTrial(bench, cell, seed)
    rows.get(cell).push(seen)
    if (!seen.faults.length) continue
    broken++
    console.log(`BROKEN ${JSON.stringify(cell)} seed ${seed}: ${seen.faults.join('; ')}`)
  }
}
await Promise.all(Array.from({ length: lanes }, lane))
await bench.close()

const header = ['fault', 'landmark', 'tool', 'trials', 'by itself / parent', 'void', 'raced']
const outcome = ['started twice', 'effect twice', 'same key', 'unknown', 'ok', '**broken**']
const line = (list) => `| ${list.join(' | ')} |`
console.log(line([...header, ...outcome]))
console.log(line([...header, ...outcome].map(() => '---')))
const totals = { trials: 0, void: 0 }
const isShown = ({ fault, kind }) => values.cells === true || (fault === 'kill' && kind === 'plain')
const shown = new Map()
for (const [cell, seen] of [...rows].sort(([a], [b]) => isShown(b) - isShown(a))) {
  const { fault, landmark, kind } = isShown(cell) ? cell : { ...cell, landmark: 'all of these' }
  const key = [fault, kind, landmark].join()
  if (!shown.has(key)) shown.set(key, { fault, landmark, kind, seen: [] })
  shown.get(key).seen.push(...seen)
}
for (const { fault, landmark, kind, seen } of shown.values()) {
  const valid = seen.filter((one) => !one.void)
  const count = (is) => valid.filter(is).length
  totals.trials += valid.length
  totals.void += seen.length - valid.length
  const forms = ['self', 'parent'].map((form) => count((one) => one.form === form))
  console.log(
    line([
      fault,
      landmark,
      kind,
      valid.length,
      forms.join(' / '),
      seen.length - valid.length,
      count((one) => one.raced),
      count((one) => one.starts > 1),
      count((one) => one.receipts > 1),
      count((one) => one.again),
      count((one) => one.status === 'unknown'),
      count((one) => one.status === 'ok'),
      count((one) => one.faults.length),
    ]),
  )
}
const seconds = Math.round((Date.now() - started) / 1000)
console.log(
  `\n${totals.trials} trials (${totals.void} void) in ${seconds} s, seeds from ${firstSeed}, Node ${process.versions.node}`,
)
console.log(`${totals.trials - broken} passed, ${broken} failed`)
process.exit(broken || !totals.trials ? 1 : 0)
