// A copy of the project that is alone in a folder, for the steps that read data: what is not in
// the repository is not there. `--check` looks at what is not run there: no path in the code
// climbs above the root.
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './setup.mjs'

const ALONE = join(root, '.cache', 'alone', 'turnlock')
/** What the build makes. */
const MADE = ['pkg/dist', 'pkg/LICENSE', 'pkg/README.md', '.cache/trap', '.cache/page']

/** The files at and below a path, but for what `ignored` matches. */
function filesIn(path, ignored) {
  if (!existsSync(join(root, path)) || ignored?.test(path)) return []
  if (statSync(join(root, path)).isFile()) return [path]
  return readdirSync(join(root, path)).flatMap((name) => filesIn(`${path}/${name}`, ignored))
}

/** What is built or installed, where no git says so. */
const IGNORED = /(^|\/)(node_modules|target|dist|\.cache|pkg\/wasm)$/

/** The files that git tracks, and new ones that it does not ignore. */
function tracked() {
  if (!existsSync(join(root, '.git'))) {
    return readdirSync(root).flatMap((name) => filesIn(name, IGNORED))
  }
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const out = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })
  return out.split('\0').filter((file) => file && existsSync(join(root, file)))
}

/** Makes the copy anew; its path. */
export function copyAlone() {
  rmSync(dirname(ALONE), { recursive: true, force: true })
  for (const file of [...tracked(), ...MADE.flatMap((path) => filesIn(path))]) {
    const to = join(ALONE, file)
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(join(root, file), to)
  }
  // The npm packages are those of the project, but for the package under test.
  const packages = join(ALONE, 'node_modules')
  mkdirSync(packages)
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const from = name === 'turnlock' ? join(ALONE, 'pkg') : join(root, 'node_modules', name)
    symlinkSync(from, join(packages, name), 'junction')
  }
  return ALONE
}

const CODE = /\.(rs|m?[jt]s|html|toml|sh)$|^\.ci\//
/** Files with paths that the scripted provider must refuse. */
const REFUSED = ['tests/provider/provider.test.mjs']

/** The paths in the code that climb above the root, each with its place. */
export function climbing(files, read) {
  const found = []
  for (const file of files) {
    if (!CODE.test(file) || file.startsWith('tests/data/')) continue
    if (REFUSED.some((known) => file.startsWith(known))) continue
    const depth = file.split('/').length - 1
    read(file)
      .split('\n')
      .forEach((line, at) => {
        for (const [path, up] of line.matchAll(/((?:\.\.\/)+)[\w@.-]*/g)) {
          if (up.length / 3 > depth) found.push(`${file}:${at + 1}: ${path}`)
        }
      })
  }
  return found
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = climbing(tracked(), (file) => readFileSync(join(root, file), 'utf8'))
  for (const line of found) console.error(`climbs above the root: ${line}`)
  process.exit(found.length ? 1 : 0)
}
