// What goes to the crate registry: the files that belong there, no warning, and a package that
// builds by itself. Nothing is published.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { cargoEnv, root, target } from './setup.mjs'

const wrong = []

function cargo(...args) {
  const { status, stdout, stderr } = spawnSync('cargo', args, {
    ...{ cwd: root, encoding: 'utf8' },
    // What is built of the package has the names of what is built of the folder: in one place, each
    // would make the other be compiled again.
    env: { ...cargoEnv, CARGO_TARGET_DIR: join(target, 'crate') },
  })
  if (status !== 0) {
    console.error(stderr)
    process.exit(1)
  }
  return { out: stdout.trim().split('\n'), warnings: stderr.match(/^warning: .*$/gm) ?? [] }
}

const MADE = /^(\.cargo_vcs_info\.json|Cargo\.(lock|toml(\.orig)?))$/
const CRATES = {
  turnlock: {
    own: /^(src\/.*\.(rs|bin)|examples\/blocking\.rs)$/,
    papers: ['src/README.md', 'DESIGN.md', 'BENCHMARKS.md', 'CHANGELOG.md', 'LICENSE'],
    holds: ['src/lib.rs', 'examples/blocking.rs'],
  },
  'turnlock-client': {
    own: /^src\/.*\.rs$/,
    papers: ['README.md', 'LICENSE'],
    holds: ['src/lib.rs'],
  },
}
const packages = Object.keys(CRATES).flatMap((name) => ['--package', name])
for (const [name, { own, papers, holds }] of Object.entries(CRATES)) {
  // Work that is not committed is packaged as it is.
  const listed = cargo('package', '--list', '--package', name, '--allow-dirty', '--locked').out
  for (const file of listed) {
    const known = own.test(file) || MADE.test(file) || papers.includes(file)
    if (!known) wrong.push(`${name} has ${file}`)
  }
  for (const file of [...papers, ...holds]) {
    if (!listed.includes(file)) wrong.push(`${name} lacks ${file}`)
  }
}

// The tests stay here: they need megabytes of data.
const EXPECTED =
  /: (ignoring test `\w+` as `.*` is not included|aborting upload due to dry run|crate \S+ already exists)/
const dry = ['publish', '--dry-run', '--allow-dirty', '--locked']
const { warnings } = cargo(...dry, '--package', 'turnlock')
// The driver is not built from its package: cargo keeps the sources of the core's package of an
// earlier run, which have the same version. The workspace builds it.
const { warnings: more } = cargo(...dry, '--no-verify', ...packages)
for (const line of [...warnings, ...more]) {
  if (!EXPECTED.test(line)) wrong.push(line)
}

for (const line of wrong) console.error(line)
process.exit(wrong.length ? 1 : 0)
