// Plays the public reports of `tests/data/reports` in the runtimes named on the command line: node,
// workerd, chromium. `--only <text>` plays those whose name has the text, and shows what they observed.
import { playEverywhere } from '../runtimes.mjs'
import { faultsOf } from './expectations.mjs'
import { loadReports } from './reports.mjs'

const [names, filter] = [process.argv.slice(2), process.argv.indexOf('--only')]
const only = filter < 0 ? '' : names.splice(filter - 2, 2)[1]
const reports = loadReports().filter(({ name }) => name.includes(only))

/** What a report that is still `open` shows is an error once it is as expected. */
function judge(report, observation) {
  const faults = faultsOf(report, observation)
  if (only) console.log(report.name, JSON.stringify(observation, null, 1))
  if (!report.open) return faults
  return faults.length ? [] : ['passes now: remove `open` from the report']
}

await playEverywhere('tests/reports', reports, names, judge)
