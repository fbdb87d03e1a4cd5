// What goes to the crate registry: the files that belong there, no warning, and packages that build
// by themselves. Nothing is published.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hold } from '../../scripts/alone.mjs'
import { cargoEnv, root, target } from '../../scripts/setup.mjs'

const wrong = []
/** What is packaged, unpacked: it is built as a stranger has it. */
const UNPACKED = join(root, '.cache', 'crate')

function run(program, args, options) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    // What is built of the package has the names of what is built of the folder: in one place, each
    // would make the other be compiled again.
    env: { ...cargoEnv, CARGO_TARGET_DIR: join(target, 'crate') },
    ...options,
  })
  if (status !== 0) {
    console.error(error ?? stderr)
    process.exit(1)
  }
  return { out: stdout.trim().split('\n'), warnings: stderr.match(/^warning: .*$/gm) ?? [] }
}
const cargo = (args, options) => run('cargo', args, options)

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
  const listed = cargo(['package', '--list', '--package', name, '--allow-dirty', '--locked']).out
  for (const file of listed) {
    const isExpected = own.test(file) || MADE.test(file) || papers.includes(file)
    if (!isExpected) wrong.push(`${name} has ${file}`)
  }
  for (const file of [...papers, ...holds]) {
    if (!listed.includes(file)) wrong.push(`${name} lacks ${file}`)
  }
}

// The tests stay here: they need megabytes of data.
const EXPECTED =
  /: (ignoring test `\w+` as `.*` is not included|aborting upload due to dry run|profiles for the non root package|crate \S+ already exists)/
const as = ['--allow-dirty', '--locked', '--no-verify', ...packages]
const warnings = [['publish', '--dry-run'], ['package']].flatMap(
  (command) => cargo([...command, ...as]).warnings,
)

const members = JSON.parse(
  cargo(['metadata', '--no-deps', '--format-version', '1', '--locked']).out[0],
).packages

/** The files of a package, by their paths in the folder of a workspace. */
function unpack(name) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-crate-'))
  try {
    const { version } = members.find((one) => one.name === name)
    const archive = join(target, 'crate/package', `${name}-${version}.crate`)
    run('tar', ['-xzf', archive, '--strip-components=1', '-C', folder])
    const paths = readdirSync(folder, { recursive: true })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => statSync(join(folder, path)).isFile())
    return paths.map((path) => [`${name}/${path}`, readFileSync(join(folder, path))])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

// Built here, and not by cargo's own check of a package: that unpacks and compiles each anew in every
// run, and takes for the driver the core of an earlier run, which has the same version.
const names = Object.keys(CRATES)
const workspace = `[workspace]
resolver = "3"
members = ${JSON.stringify(names)}
[patch.crates-io]
turnlock = { path = "turnlock" }
`
hold(
  UNPACKED,
  new Map([
    ...names.flatMap(unpack),
    ['Cargo.toml', workspace],
    ['Cargo.lock', readFileSync(join(root, 'Cargo.lock'))],
  ]),
)
// Not `--locked`: what only other packages use leaves the lock file.
const { warnings: more } = cargo(['build'], { cwd: UNPACKED })
for (const line of [...warnings, ...more]) {
  if (!EXPECTED.test(line)) wrong.push(line)
}

for (const line of wrong) console.error(line)
process.exit(wrong.length ? 1 : 0)
