// Checks the properties of agreement in the runtimes named on the command line: node, workerd, chromium.
import { playEverywhere } from '../../runtimes.mjs'
import { RUNS, SEED } from '../hold.mjs'
import { PROPERTIES } from './properties.mjs'

const [seed, runs] = [Number(SEED), Number(RUNS ?? 300)]
console.log(`${runs} runs of each property, SEED=${seed}`)
const jobs = Object.keys(PROPERTIES).map((name) => ({ name, seed, runs }))
await playEverywhere('tests/properties/agreement', jobs, process.argv.slice(2))
