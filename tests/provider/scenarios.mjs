// The scenario tables as scripts: the n-th request plays the n-th entry.
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../scenarios/', import.meta.url)

/** Every scenario of the tables, by name. */
export function loadScenarios() {
  const tables = readdirSync(folder).filter((file) => file.endsWith('.json'))
  const read = (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
  return new Map(tables.flatMap(read).map((scenario) => [scenario.name, scenario]))
}

let known

/** What request `n` (from 1) of a scenario is answered with; undefined where there is none. */
export function scenarioEntry(name, n) {
  known ??= loadScenarios()
  return known.get(name)?.model[n - 1]
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
