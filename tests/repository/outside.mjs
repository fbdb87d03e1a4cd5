// Says which files name a path outside of the repository: what is read there is missing in every
// other clone. It looks at texts, so a path that is put together while the code runs is not seen;
// for that, the steps that read data run in a copy that is alone in a folder (`alone.mjs`).
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { tracked } from '../../scripts/alone.mjs'
import { root } from '../../scripts/setup.mjs'

const CHECKED = /\.(rs|[cm]?[jt]s|html|css|toml|sh|json|md)$|^\.ci\//
/** Data of others, what was read from it, and the samples that this check is tested with. */
const UNCHECKED =
  /^(tests\/data\/.*|tests\/wires\/.*\.json|pkg\/test\/recordings\/.*\.json|tests\/repository\/outside\.test\.mjs)$/
/** What a build or an installation makes. */
const MADE =
  /^(.*\/)?(node_modules|target|dist|\.cache)(\/|$)|^pkg\/(wasm|LICENSE|README\.md)(\/|$)/

/** Where what a generator writes has its paths from. */
const WRITES = [['crates/codegen/', 'pkg/src/generated']]

/** Programs of the system, and texts that look like a path and are never opened. */
export const ALLOWED = [
  '/bin/sh',
  '/usr/bin/env',
  '/proc',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/chromium-headless-shell',
  '/usr/lib/postgresql',
  '/usr/lib/x86_64-linux-gnu/libjemalloc.so.2',
  '/usr/lib/aarch64-linux-gnu/libjemalloc.so.2',
  // What the scripted provider and the handler refuse.
  '../../../etc/passwd',
  '/etc/passwd',
  // Where coding agents keep their sessions.
  '~/.claude/projects',
  '~/.codex/sessions',
  '~/.gemini/tmp',
  '~/.qwen/projects',
  '../elsewhere/x.txt',
  '../a',
  // The guides, beside the reference.
  '../index.html',
  // An expression of two characters.
  '../g',
  // What the redactor shows: places, no secrets.
  '/usr/local/share/certificates/private',
  '/tmp/ssh-a1B2c3D4e5/agent.12',
  '/home/ada1/work',
  '/home/ada1',
  '/srv/app2/x',
  '/tmp/a1',
  '/run/pw1',
  // What the lint of prompts tells from words.
  '../rules/x',
  '~/',
  '~/notes',
  '/etc/app/rules',
  'C:\\\\',
  'file:///rules',
]

/** A literal that only climbs, and the literals behind it: of one call, of chained calls, of a sum. */
const SEGMENTS =
  /(['"`])(?:\.\.\/)*\.\.\/?\1(?:(?:\s*[,+]\s*|\)\s*\.join\(\s*)(['"`])[\w@./-][\w@./${}-]*\2)*/g
const CLIMBING = /(?<![\w.])(?:\.\.\/)+(?:\.\.(?![\w.])|[\w@.-][\w@./-]*)?/g
/** What joins the path behind it to the root. */
const AT_ROOT = /(?:\broot\s*,\s*|\brepo\(\)\s*\.join\(\s*|\$\{root\}\/)['"`]?$/

const TOP =
  'home|root|work|Users|Volumes|tmp|private|usr|opt|etc|var|mnt|srv|media|proc|sys|dev|run|bin'
const FIXED = [
  new RegExp(String.raw`(?<![\w@.:*$)}\]/<-])/(?:${TOP})(?![\w-])(?:/[\w@.-]*)*`, 'g'),
  /\b[A-Z]:(?:\\\\|\/)|\bfile:\/\/\/?\w[\w./-]*/g,
  /(?<=['"`])~\/[\w./-]*|\bhomedir\(\)|\bhome_dir\(\)|\$\{?HOME\b/g,
  /\benv\.(?:HOME|USERPROFILE)\b|(?<=['"])(?:HOME|USERPROFILE)(?=['"])/g,
  /\bdirname\(root\)|\b(?:root|repo\(\))\.parent\(\)/g,
]

/** The paths in these files that lead out of the repository, each with its place. */
export function outside(files, read) {
  const leaves = leavesOf(files)
  const found = []
  for (const file of files) {
    if (!CHECKED.test(file) || UNCHECKED.test(file)) continue
    for (const [at, line] of read(file).split('\n').entries()) {
      for (const text of new Set(pathsIn(line, (path, before) => leaves(path, file, before)))) {
        const path = text.replace(/(?<=\w)[./]+$/, '')
        if (!ALLOWED.includes(path)) found.push(`${file}:${at + 1}: ${path}`)
      }
    }
  }
  return found
}

/** The paths in a line that are absolute, or relative and `leaves` says so. */
function* pathsIn(line, leaves) {
  for (const { 0: text, index } of line.matchAll(SEGMENTS)) {
    const path = [...text.matchAll(/(['"`])(.*?)\1/g)].map(([, , one]) => one).join('/')
    if (leaves(path, line.slice(0, index))) yield path
  }
  for (const { 0: text, index } of line.matchAll(CLIMBING)) {
    const next = line.slice(index + text.length, index + text.length + 1)
    if (leaves(text + next.replace(/[^$*{<]/, ''), line.slice(0, index))) yield text
  }
  for (const pattern of FIXED) for (const [text] of line.matchAll(pattern)) yield text
}

/** Whether a relative path in a file is none of these files, from wherever it may be meant. */
function leavesOf(files) {
  const paths = new Set(['.'])
  for (let path of files) for (; path !== '.'; path = dirname(path)) paths.add(path)
  const packages = files.filter((file) => file.endsWith('Cargo.toml')).map(dirname)
  // TypeScript imports what the compiler makes of a file, or what is made and only declared.
  const twins = (path) => [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.d.ts')]
  const isThere = (path) =>
    !path.startsWith('..') && (MADE.test(path) || twins(path).some((one) => paths.has(one)))
  return (path, file, before) => {
    const crates = file.endsWith('.rs') ? packages.filter((one) => file.startsWith(`${one}/`)) : []
    const written = WRITES.filter(([by]) => file.startsWith(by)).map(([, folder]) => folder)
    const bases = AT_ROOT.test(before) ? ['.'] : ['.', dirname(file), ...crates, ...written]
    // Up to the segment that is known only while the code runs. Prose may end with a point.
    const fixed = path.replace(/[^/]*[$*{<].*$/, '').replace(/(?<=\w)\.$/, '')
    return bases.every((base) => !isThere(join(base, fixed).replace(/(?<=.)\/$/, '')))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = outside(tracked(), (file) => readFileSync(join(root, file), 'utf8'))
  for (const line of found) console.error(`leads out of the repository: ${line}`)
  process.exit(found.length ? 1 : 0)
}
