// Line coverage of the core by its native tests and those of the generator, by folder:
//
//   rustup component add llvm-tools
//   node tests/planted/coverage.mjs [word…]
//
// A word: only tests whose binary has it in its name. The lines of test modules do not count. The tests
// run in one thread: counters that threads share make them ten times slower. So the simulation plays
// `SEEDS` schedules (600). Each line that no test comes by is in `target/coverage/open.txt`.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { root } from '../../scripts/setup.mjs'

const FOLDER = join(root, 'target', 'coverage')
const RAW = join(FOLDER, 'raw')
const SOURCES = join(root, 'src')
const { SEEDS, ...given } = process.env
const env = {
  ...given,
  RUSTFLAGS: '-C instrument-coverage',
  CARGO_TARGET_DIR: FOLDER,
  CARGO_INCREMENTAL: '0',
  CARGO_PROFILE_TEST_DEBUG: '0',
  CARGO_PROFILE_DEV_DEBUG: '0',
}
const output = (program, args) =>
  execFileSync(program, args, { cwd: root, env, encoding: 'utf8', maxBuffer: 2 ** 30 })

/** The tests as programs. */
function binaries() {
  const args = ['test', '--locked', '--no-run', '--message-format=json', '--lib', '--tests']
  const messages = output('cargo', [
    ...args,
    '--package',
    'turnlock',
    '--package',
    'turnlock-codegen',
  ])
  return messages
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ executable, profile }) => executable && profile.test)
}

/** The tools of the compiler that made the programs. */
function tool(name) {
  const sysroot = output('rustc', ['--print', 'sysroot']).trim()
  const host = /^host: (.+)$/m.exec(output('rustc', ['-vV']))[1]
  return join(sysroot, 'lib/rustlib', host, 'bin', name)
}

const files = readdirSync(SOURCES, { recursive: true })
  .filter((file) => file.endsWith('.rs'))
  .map((file) => join(SOURCES, file))

/** The lines of test modules: of each file a set of them, or `true` for all. */
function ofTests() {
  const excluded = new Map()
  for (const file of files) {
    const lines = readFileSync(file, 'utf8').split('\n')
    const testLines = new Set()
    for (const [at, line] of lines.entries()) {
      if (line.trim() !== '#[cfg(test)]') continue
      let next = at + 1
      while (/^\s*#\[/.test(lines[next])) next++
      const module = /^(\s*)(?:pub(?:\(.+?\))? )?mod (\w+)(;| \{)$/.exec(lines[next])
      if (!module) continue
      const [, indent, name, end] = module
      if (end === ';') {
        const folder = /(^|\/)(mod|lib)\.rs$/.test(file) ? dirname(file) : file.replace(/\.rs$/, '')
        for (const candidate of files) {
          if (
            candidate === join(folder, `${name}.rs`) ||
            candidate.startsWith(join(folder, name) + sep)
          ) {
            excluded.set(candidate, true)
          }
        }
      } else {
        for (let inner = next; lines[inner] !== `${indent}}`; inner++) testLines.add(inner + 1)
      }
    }
    if (!excluded.has(file)) excluded.set(file, testLines)
  }
  return excluded
}

function main() {
  rmSync(RAW, { recursive: true, force: true })
  mkdirSync(RAW, { recursive: true })
  const words = process.argv.slice(2)
  const all = binaries()
  const chosen = all.filter(
    ({ target }) => !words.length || words.some((word) => target.name.includes(word)),
  )
  for (const { executable, target } of chosen) {
    console.error(`${target.name} …`)
    const { status, stdout } = spawnSync(executable, ['--test-threads', '1', '--quiet'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      env: {
        ...env,
        LLVM_PROFILE_FILE: join(RAW, `${target.name}-%p.profraw`),
        SEEDS: target.name === 'durable' ? (SEEDS ?? '600') : undefined,
      },
    })
    if (status !== 0) throw new Error(`${target.name} failed:\n${stdout}`)
  }
  const profile = join(FOLDER, 'all.profdata')
  const raws = readdirSync(RAW).map((file) => join(RAW, file))
  output(tool('llvm-profdata'), ['merge', '-sparse', ...raws, '-o', profile])
  const objects = chosen.flatMap(({ executable }) => ['--object', executable])
  const how = ['export', '-format=lcov', `-instr-profile=${profile}`, ...objects]
  const lcov = output(tool('llvm-cov'), [...how, '-sources', SOURCES])

  const excluded = ofTests()
  const sums = new Map()
  const open = []
  let file
  for (const line of lcov.split('\n')) {
    if (line.startsWith('SF:')) file = line.slice(3)
    const [, number, count] = /^DA:(\d+),(\d+)/.exec(line) ?? []
    if (!number || excluded.get(file) === true || excluded.get(file)?.has(Number(number))) continue
    const path = relative(SOURCES, file).split(sep)
    const folder = path.length > 1 ? path[0] : 'files in no folder'
    for (const name of [folder, 'all']) {
      const sum = sums.get(name) ?? { lines: 0, run: 0 }
      sum.lines++
      sum.run += Number(count) > 0
      sums.set(name, sum)
    }
    if (count === '0') open.push(`${path.join('/')}:${number}`)
  }
  writeFileSync(join(FOLDER, 'open.txt'), open.join('\n') + '\n')
  const share = ({ lines, run }) => run / lines
  for (const [name, sum] of [...sums].sort((a, b) => share(b[1]) - share(a[1]))) {
    console.log(`${name}: ${(100 * share(sum)).toFixed(1)} % (${sum.run} of ${sum.lines})`)
  }
}

main()
