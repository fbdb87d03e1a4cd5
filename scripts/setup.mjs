// Checks every tool that the project needs, installs what it may, and says in one line what
// to run where it may not. Quick when nothing is missing. Node built-ins only: it runs first.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Tools that this script installs stay in the project. */
const tools = join(root, '.cache', 'tools')
const windows = process.platform === 'win32'

/** The text that a command prints, or `undefined` where it cannot be run. */
function output(command, ...args) {
  const run = spawnSync(command, args, { encoding: 'utf8' })
  return run.status === 0 ? run.stdout.trim() : undefined
}

function fail(line) {
  console.error(`setup: ${line}`)
  process.exit(1)
}

function step(what, command, ...args) {
  console.log(`setup: ${what}`)
  try {
    execFileSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  } catch {
    fail(`could not do it; run it by hand: ${command} ${args.join(' ')}`)
  }
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) fail('Node 20.19 or later is needed')
}

function checkRust() {
  if (!output('cargo', '--version'))
    fail('Rust is needed; see rustup.rs, or: apt-get install rustup')
  const sysroot = output('rustc', '--print', 'sysroot') ?? ''
  if (existsSync(join(sysroot, 'lib', 'rustlib', 'wasm32-unknown-unknown'))) return
  step('adding the wasm target', 'rustup', 'target', 'add', 'wasm32-unknown-unknown')
}

/** The version that `Cargo.lock` holds; the CLI must be the same. */
function lockedBindgen() {
  const lock = readFileSync(join(root, 'Cargo.lock'), 'utf8')
  const found = /name = "wasm-bindgen"\nversion = "([^"]+)"/.exec(lock)
  return found?.[1] ?? fail('Cargo.lock names no wasm-bindgen')
}

/** Folder of a `wasm-bindgen` (and its test runner) of the locked version. */
function findBindgen() {
  const wanted = lockedBindgen()
  const local = join(tools, `wasm-bindgen-${wanted}`, 'bin')
  const name = windows ? 'wasm-bindgen.exe' : 'wasm-bindgen'
  const places = [local, ...(process.env.PATH ?? '').split(windows ? ';' : ':')]
  // The runner of the browser tests comes with the CLI, and is of its version.
  const runner = name.replace('wasm-bindgen', 'wasm-bindgen-test-runner')
  const fits = (place) =>
    existsSync(join(place, name)) &&
    existsSync(join(place, runner)) &&
    output(join(place, name), '--version')?.endsWith(` ${wanted}`)
  const there = places.find(fits)
  if (there) return there
  step(
    `installing wasm-bindgen-cli ${wanted} (some minutes, once)`,
    ...['cargo', 'install', 'wasm-bindgen-cli', '--version', wanted, '--root', dirname(local)],
  )
  return local
}

/** Tools of the tests from the Rust registry: version, and how it is asked for. */
const TOOLS = {
  /** Checks every combination of features. */
  'cargo-hack': { version: '0.6.46', asked: ['hack', '--version'] },
  /** Runs Rust tests in a browser. */
  'wasm-pack': { version: '0.15.1', asked: ['--version'] },
}

/** A tool of its version. */
function findTool(name) {
  const { version, asked } = TOOLS[name]
  const local = join(tools, `${name}-${version}`, 'bin')
  const file = windows ? `${name}.exe` : name
  const places = [local, ...(process.env.PATH ?? '').split(windows ? ';' : ':')]
  const binaries = places.map((place) => join(place, file)).filter((binary) => existsSync(binary))
  const there = binaries.find((binary) => output(binary, ...asked)?.endsWith(` ${version}`))
  if (there) return there
  step(
    `installing ${name} ${version} (some minutes, once)`,
    ...['cargo', 'install', name, '--version', version, '--locked', '--root', dirname(local)],
  )
  return join(local, file)
}

function checkPackages() {
  const stamp = join(root, 'node_modules', '.setup')
  const lock = join(root, 'package-lock.json')
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(lock).mtimeMs) return
  step('installing npm packages', windows ? 'npm.cmd' : 'npm', 'ci', '--no-audit', '--no-fund')
  writeFileSync(stamp, '')
}

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const DRIVER = ['/usr/bin/chromedriver', '/usr/lib/chromium-browser/chromedriver']
const first = (places) => places.find((place) => existsSync(place))

/** Installs Debian packages, where this may. */
function install(what, ...packages) {
  const root = process.getuid?.() === 0 && output('apt-get', '--version')
  if (!root) fail(`${what} is needed for the tests; run: apt-get install ${packages.join(' ')}`)
  step('refreshing the package list', 'apt-get', 'update', '-q')
  step(`installing ${what}`, 'apt-get', 'install', '-y', '-q', ...packages)
}

function checkBrowser() {
  if (!first(CHROMIUM) || !first(DRIVER)) install('Chromium', 'chromium', 'chromium-driver')
  return { chromium: first(CHROMIUM), chromedriver: first(DRIVER) }
}

function checkRedis() {
  if (!output('redis-server', '--version')) install('Redis', 'redis-server')
}

/** Checks everything; `browser`, `redis`, `hack` and `pack` only where tests need them. */
export function setup({ browser = false, redis = false, hack = false, pack = false } = {}) {
  checkNode()
  checkRust()
  mkdirSync(tools, { recursive: true })
  const bindgen = findBindgen()
  checkPackages()
  if (redis) checkRedis()
  return {
    bindgen,
    ...(hack && { hack: findTool('cargo-hack') }),
    ...(pack && { pack: findTool('wasm-pack') }),
    ...(browser && checkBrowser()),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const started = Date.now()
  setup({ browser: process.argv.includes('--browser') })
  console.log(`setup: everything is there (${Date.now() - started} ms)`)
}
