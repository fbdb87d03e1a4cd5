// Plays the chain tables and the end-to-end searches through the built package, in the runtimes
// named on the command line: node, workerd, chromium. The model is the scripted provider over HTTP.
import { loadChains } from '../provider/server.mjs'
import { playEverywhere } from '../runtimes.mjs'
import { documents } from './documents.mjs'
import { SEARCHES } from './search.mjs'

const searches = SEARCHES.map((name) => ({ name, documents }))
await playEverywhere('tests/chain', [...loadChains(), ...searches], process.argv.slice(2))
