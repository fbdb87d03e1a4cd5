// The scenario tables as scripts: the n-th request plays the n-th entry.
import { readdirSync, readFileSync } from 'node:fs'

function tables(name) {
  const folder = new URL(`../${name}/`, import.meta.url)
  const read = (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap(read)
}

const load = (name) => new Map(tables(name).map((scenario) => [scenario.name, scenario]))

/** Every scenario of the tables of turns, by name. */
export const loadScenarios = () => load('scenarios')
/** Every scenario of the tables of the tool-request pass. */
export const loadRequests = () => load('requests')

/** The chain tables. */
export function loadChains() {
  const scenarios = tables('chain')
  const names = new Set(scenarios.map(({ name }) => name))
  if (names.size !== scenarios.length) throw new Error('a name stands twice')
  return scenarios
}

let known

/** What request `n` (from 1) of a scenario is answered with; undefined where there is none. */
export function scenarioEntry(name, n) {
  known ??= new Map([...loadScenarios(), ...loadRequests()])
  const entry = known.get(name)?.model[n - 1]
  return entry && 'says' in entry ? { ...entry, text: [JSON.stringify(entry.says)] } : entry
}

/** The bundle tables. */
export const loadBundles = () =>
  JSON.parse(readFileSync(new URL('../bundles/tables.json', import.meta.url), 'utf8'))

let bundles

/** What request `n` of a bundle's replicate, or of the turn around it, is answered with: `name|r1`. */
export function bundleEntry(path, n) {
  bundles ??= new Map(loadBundles().map((scenario) => [scenario.name, scenario]))
  const [name, id] = path.split('|')
  const scenario = bundles.get(name)
  return (id === 'turn' ? scenario?.turn : scenario?.replicates[id])?.[n - 1]
}
