// Plays the tables of the tool-request pass, and a pass with a real search, through the built
// package in the runtimes named on the command line: node, workerd, chromium.
import { loadRequests } from '../provider/server.mjs'
import { playEverywhere } from '../runtimes.mjs'
import { searches } from './searches.mjs'

const jobs = [...loadRequests().values(), ...searches]
await playEverywhere('tests/requests', jobs, process.argv.slice(2))
