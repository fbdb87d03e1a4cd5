// A copy of the project that is alone in a folder, for the steps that read data: what is not in
// the repository is not there.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './setup.mjs'

/** A folder per process, by its id: two runs in one clone do not share a copy. */
const COPIES = join(root, '.cache', 'alone')
/** What the build makes. */
const MADE = [
  'pkg/dist',
  'pkg/LICENSE',
  'pkg/README.md',
  'pkg/THIRD_PARTY_NOTICES',
  'pkg/docs',
  '.cache/trap',
  '.cache/page',
]

/** The files at and below a path, but for what `ignored` matches. */
function filesIn(path, ignored) {
  if (!existsSync(join(root, path)) || ignored?.test(path)) return []
  if (statSync(join(root, path)).isFile()) return [path]
  return readdirSync(join(root, path)).flatMap((name) => filesIn(`${path}/${name}`, ignored))
}

/** What is built or installed, where no git says so. */
const IGNORED = /(^|\/)(\.git|node_modules|target|dist|\.cache|pkg\/wasm)$/

/**
 * The files that git tracks, and new ones that it does not ignore. Where git is missing or refuses
 * (a clone of another user), all files but what is built or installed.
 */
export function tracked(git = 'git') {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = existsSync(join(root, '.git'))
    ? spawnSync(git, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })
    : undefined
  if (listed?.status !== 0) return readdirSync(root).flatMap((name) => filesIn(name, IGNORED))
  return listed.stdout.split('\0').filter((file) => file && existsSync(join(root, file)))
}

/**
 * Makes a folder hold these files, by their paths, and no others. What is there already stays as it is,
 * so that cargo builds only what is new.
 */
export function hold(folder, files) {
  const there = existsSync(folder) ? readdirSync(folder, { recursive: true }) : []
  for (const name of there.map((one) => one.replaceAll('\\', '/'))) {
    const path = join(folder, name)
    // It went with its folder.
    if (!existsSync(path)) continue
    if (statSync(path).isDirectory() !== files.has(name)) continue
    rmSync(path, { recursive: true })
  }
  for (const [name, text] of files) {
    const path = join(folder, name)
    if (existsSync(path) && readFileSync(path).equals(Buffer.from(text))) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Of another user.
    return error.code === 'EPERM'
  }
}

/** Removes the copies of processes that have ended. */
export function removeStale(copies = COPIES) {
  if (!existsSync(copies)) return
  for (const name of readdirSync(copies)) {
    const pid = Number(name)
    if (Number.isInteger(pid) && isRunning(pid)) continue
    rmSync(join(copies, name), { recursive: true, force: true })
  }
}

/** Makes a copy that is removed when this process exits; its path. */
export function copyAlone() {
  removeStale()
  const folder = join(COPIES, String(process.pid))
  // Tries again: what was killed with this process may still be writing.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  remove()
  process.on('exit', remove)
  const alone = join(folder, 'turnlock')
  for (const file of [...tracked(), ...MADE.flatMap((path) => filesIn(path))]) {
    const to = join(alone, file)
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(join(root, file), to)
  }
  // The npm packages are those of the project, but for the package under test. What npm could not
  // put into the root's folder (a second version) is in the folder of the workspace.
  for (const folder of ['node_modules', 'tests/node_modules']) {
    if (!existsSync(join(root, folder))) continue
    mkdirSync(join(alone, folder))
    for (const name of readdirSync(join(root, folder))) {
      const from = name === 'turnlock' ? join(alone, 'pkg') : join(root, folder, name)
      symlinkSync(from, join(alone, folder, name), 'junction')
    }
  }
  return alone
}
