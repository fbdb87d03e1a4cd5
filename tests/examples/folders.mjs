// What is wrong with a folder of `examples`: what a user would copy has to be whole.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'

const LINES = 25
const SOURCES = /\.([cm]?js|jsx|ts|vue|svelte)$/
const MADE = /(^|\/)(node_modules|dist|target|\.next|\.turns)(\/|$)/

/** The packages that the files of a folder import. */
function imported(files) {
  const found = new Set()
  for (const { text } of files.filter(({ file }) => SOURCES.test(file))) {
    const from = /(?:\bfrom\s+|\bimport\s+|\b(?:import|resolve)\()['"]([^'".][^'"]*)['"]/g
    for (const [, name] of text.matchAll(from)) {
      const [scope, rest] = name.split('/')
      if (name.startsWith('node:') || builtinModules.includes(name)) continue
      found.add(scope.startsWith('@') ? `${scope}/${rest}` : scope)
    }
  }
  return found
}

/**
 * Complaints about a folder: one command, a short README that tells it, and the packages that it
 * uses, in the versions that are tested.
 * @param {Record<string, string>} versions of the packages that are tested
 * @param {(name: string) => string[]} peers of a package
 * @param {string} starter the text of start.mjs, the same in each folder that has it
 */
export function complaints(folder, { versions, peers, starter }) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !MADE.test(file.slice(folder.length)))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }))
  const read = (name) => files.find(({ file }) => file === join(folder, name))?.text
  const [readme, manifest] = [read('README.md'), read('package.json')]
  if (!manifest || !readme) return ['package.json and README.md are needed']
  const wrong = []
  const lines = readme.trimEnd().split('\n').length
  if (lines > LINES) wrong.push(`README.md has ${lines} lines`)
  if (!/^(npm install && )?npm start\b/m.test(readme)) wrong.push('README.md tells no npm start')
  const { name, scripts = {}, dependencies, devDependencies } = JSON.parse(manifest)
  if (!folder.endsWith(`/${name.replace('turnlock-', '')}`)) wrong.push(`its name is ${name}`)
  if (!scripts.start) wrong.push('package.json has no start')
  const given = { ...dependencies, ...devDependencies }
  // A folder in Rust is built in the repository, and finds the package there.
  const inRust = existsSync(join(folder, 'Cargo.toml'))
  const used = imported(files)
  for (const one of used) {
    if (!Object.hasOwn(given, one) && !(inRust && versions[one])) wrong.push(`${one} is missing`)
  }
  // What nobody imports is a command, or what another package asks for.
  const asked = Object.keys(given).flatMap(peers)
  const words = Object.values(scripts).join(' ').split(' ')
  const isUsed = (one) => used.has(one) || words.includes(one) || asked.includes(one)
  for (const [one, version] of Object.entries(given)) {
    if (!isUsed(one)) wrong.push(`${one} is not used`)
    if (version !== versions[one]) wrong.push(`${one} is ${version} and not ${versions[one]}`)
  }
  const own = read('start.mjs')
  if (own !== undefined && own !== starter) wrong.push('start.mjs is another one')
  return wrong
}
