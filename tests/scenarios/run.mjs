// Plays the scenario tables through the built package in the runtimes named on the command
// line: node, workerd, chromium. All of them talk to the scripted provider over HTTP.
import { loadScenarios } from '../provider/server.mjs'
import { playEverywhere } from '../runtimes.mjs'

await playEverywhere('tests/scenarios', [...loadScenarios().values()], process.argv.slice(2))
