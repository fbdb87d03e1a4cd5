// Plays the tables of bundles in the runtimes named on the command line: node, workerd, chromium.
import { loadBundles } from '../provider/server.mjs'
import { playEverywhere } from '../runtimes.mjs'

await playEverywhere('tests/bundles', loadBundles(), process.argv.slice(2))
