// The core has no dependency that touches the world; the npm package has none but optional peers; no lock file
// names a registry.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cargoEnv, root } from '../../scripts/setup.mjs'

const wrong = []
/** What the core is made of; DESIGN.md gives the reasons. */
const CORE = ['sha2', 'turnlock', 'zmij']
const OF_SHA2 = ['block-buffer', 'cfg-if', 'cpufeatures', 'crypto-common', 'digest', 'hybrid-array']
const ALLOWED = [...CORE, ...OF_SHA2, 'libc', 'typenum']
const args = ['tree', '--edges', 'normal', '--prefix', 'none', '--format', '{p}', '--target', 'all']
const tree = execFileSync('cargo', [...args, '--locked'], {
  cwd: root,
  env: cargoEnv,
  encoding: 'utf8',
})
for (const name of new Set(tree.split('\n').map((line) => line.split(' ')[0]))) {
  if (name && !ALLOWED.includes(name)) wrong.push(`a dependency without a reason: ${name}`)
}

const manifest = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
for (const key of ['dependencies', 'scripts']) {
  if (manifest[key]) wrong.push(`pkg/package.json has ${key}`)
}
// A peer is what an entry is made for; nobody else installs it.
for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
  if (!manifest.peerDependenciesMeta?.[peer]?.optional) wrong.push(`the peer ${peer} is required`)
}
for (const file of ['package-lock.json', 'Cargo.lock']) {
  const text = readFileSync(join(root, file), 'utf8')
  if (/"resolved": "http/.test(text)) wrong.push(`${file} names a registry`)
}

for (const line of wrong) console.error(line)
process.exit(wrong.length ? 1 : 0)
