// Lints the published crates with every combination of their features, and the shell with each of its
// own, natively or for wasm. A tool that does the same takes longer to compile than this to run.
//
//   node tests/repository/features.mjs crates            natively
//   node tests/repository/features.mjs shell --target wasm32-unknown-unknown
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { lintEnv, root } from '../../scripts/setup.mjs'

/** Every set of them, the smallest first. */
const every = (all) =>
  all
    .reduce((made, one) => [...made, ...made.map((set) => [...set, one])], [[]])
    .toSorted((a, b) => a.length - b.length)

/** The parts of the core in the shell are never combined, except all of them. */
const single = (all) => [[], ...all.map((one) => [one]), all]

export const KINDS = {
  crates: { packages: ['turnlock', 'turnlock-client'], sets: every },
  shell: { packages: ['turnlock-wasm'], sets: single },
}

function cargo(args, stdio) {
  const { status, stdout } = spawnSync('cargo', args, {
    cwd: root,
    env: lintEnv,
    encoding: 'utf8',
    stdio,
    maxBuffer: 2 ** 26,
  })
  if (status !== 0) process.exit(1)
  return stdout
}

function main([name, ...target]) {
  const { packages, sets } = KINDS[name]
  const read = ['metadata', '--no-deps', '--format-version', '1', '--locked']
  const all = JSON.parse(cargo(read, ['ignore', 'pipe', 'inherit'])).packages
  for (const crate of packages) {
    const { features } = all.find((one) => one.name === crate)
    // What `default` stands for are others of them.
    const names = Object.keys(features).filter((one) => one !== 'default')
    for (const set of sets(names)) {
      console.log(`${crate}: ${set.join(', ') || 'no feature'}`)
      const chosen = ['--no-default-features', '--features', set.join()]
      const args = ['clippy', '--package', crate, '--lib', '--locked', ...chosen, ...target]
      cargo([...args, '--', '-D', 'warnings'], 'inherit')
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2))
