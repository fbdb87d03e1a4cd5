// The tools that the project needs: each is checked, and installed where it is missing and this
// may. Each function installs one thing, once a process, so that they run side by side and nobody
// waits for what is not needed. Node built-ins only: it runs first.
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command, main, once, task } from './tasks.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Where cargo puts what it builds; the examples share it. */
export const target = resolve(
  root,
  process.env.CARGO_TARGET_DIR ?? process.env.CARGO_BUILD_TARGET_DIR ?? 'target',
)
/**
 * Neither line tables nor what a second compilation could reuse, and each crate in one piece, not in
 * pieces that compile side by side (other steps have the second core): a third less to compile, and the
 * wasm of tests has a third of the bytes. Whoever debugs calls cargo directly.
 */
const defaults = Object.fromEntries([
  ...['DEV', 'TEST'].flatMap((profile) => [
    [`CARGO_PROFILE_${profile}_DEBUG`, '0'],
    [`CARGO_PROFILE_${profile}_CODEGEN_UNITS`, '1'],
  ]),
  // Macros and build scripts: for all the same, so that none is compiled twice.
  ...['DEV', 'TEST', 'RELEASE'].map((profile) => [
    `CARGO_PROFILE_${profile}_BUILD_OVERRIDE_CODEGEN_UNITS`,
    '1',
  ]),
])
/**
 * The environment of cargo. Its own configuration may name another target directory, or a target
 * that native builds would be for: then what it builds is not where these scripts look for it.
 */
export const cargoEnv = {
  ...process.env,
  ...defaults,
  CARGO_INCREMENTAL: '0',
  CARGO_TARGET_DIR: target,
  CARGO_BUILD_TARGET: undefined,
}
/** What only reads code, into a directory of its own: it need not wait for what compiles tests. */
export const lintEnv = { ...cargoEnv, CARGO_TARGET_DIR: join(target, 'lint') }
/** Tools that are installed here stay in the project. */
const tools = join(root, '.cache', 'tools')
const windows = process.platform === 'win32'
const executable = (name) => (windows ? `${name}.exe` : name)

/** The text that a command prints, or `undefined` where it cannot be run. */
function output(program, ...args) {
  const run = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  return run.status === 0 ? run.stdout.trim() : undefined
}

/** Whether a version is older than another; only `1.2` of what it says counts. */
function isOlder(version, least) {
  const [[major, minor], [leastMajor, leastMinor]] = [version, least].map((text) =>
    /(\d+)\.(\d+)/.exec(text).slice(1).map(Number),
  )
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}

if (isOlder(process.versions.node, '20.19')) {
  console.error('Node 20.19 or later is needed')
  process.exit(1)
}

/** What cargo is compiling, as a progress. */
export const compiling = (say) => (line) => {
  const [, crate] = /^(?:Compiling|Downloaded) (\S+)/.exec(line) ?? []
  if (crate) say(crate)
}

const RUSTUP =
  'https://rustup.rs (Debian 13 and later: apt-get install rustup; rustup default stable)'

/** Adds to Rust what is missing; `otherwise` is how, where it did not come by rustup. */
async function rustup(what, args, otherwise) {
  if (!output('rustup', '--version')) {
    throw new Error(`Missing: ${what}. ${otherwise}, or use ${RUSTUP}`)
  }
  await task(what, () => command('rustup', args, { cwd: root }))
}

/** Rust with the wasm target, and the C compiler that it links with. */
export const rust = once(async () => {
  const version = spawnSync('rustc', ['--version'], { cwd: root, encoding: 'utf8' })
  // What rustup says where it has no toolchain comes first.
  if (version.status !== 0) throw new Error(`${version.stderr ?? ''}Rust is needed: ${RUSTUP}`)
  const manifest = readFileSync(join(root, 'Cargo.toml'), 'utf8')
  const [, least] = /^rust-version = "(.*)"/m.exec(manifest)
  if (isOlder(version.stdout, least)) {
    const found = version.stdout.trim()
    throw new Error(
      `Rust ${least} is needed, and this is ${found}: rustup update, or use ${RUSTUP}`,
    )
  }
  if (!windows && !output('cc', '--version')) await debian('A C compiler', 'gcc', 'libc6-dev')
  const sysroot = output('rustc', '--print', 'sysroot')
  if (existsSync(join(sysroot, 'lib', 'rustlib', 'wasm32-unknown-unknown'))) return
  await rustup(
    'the wasm target of Rust',
    ['target', 'add', 'wasm32-unknown-unknown'],
    'Install it as you installed Rust (Debian: apt-get install libstd-rust-dev-wasm32)',
  )
})

/** rustfmt and clippy, which rustup's minimal profile leaves out. */
export const linters = once(async () => {
  // One after the other: both change the toolchain.
  await rust()
  if (output('cargo', 'fmt', '--version') && output('cargo', 'clippy', '--version')) return
  await rustup(
    'rustfmt and clippy',
    ['component', 'add', 'rustfmt', 'clippy'],
    'Install them as you installed Rust (Debian: apt-get install rustfmt rust-clippy)',
  )
})

/** The npm packages that the build needs, or with `tests` also those of tests and benchmarks. */
const packages = (tests) => {
  const lock = join(root, 'package-lock.json')
  const stamp = join(root, 'node_modules', `.setup-${tests ? 'tests' : 'build'}`)
  const all = join(root, 'node_modules', '.setup-tests')
  const fresh = (file) => existsSync(file) && statSync(file).mtimeMs >= statSync(lock).mtimeMs
  if (fresh(stamp) || fresh(all)) return undefined
  // A link leads to the packages of another folder, which are not this one's to replace.
  const isLink = lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()
  if (isLink) return undefined
  const parts = tests ? [] : ['--workspace', 'pkg', '--include-workspace-root']
  return task('npm packages', async () => {
    // `npm test --silent` would silence this npm too, and then nobody learns why it failed.
    const npm = ['ci', '--no-audit', '--no-fund', '--loglevel', 'warn', ...parts]
    const install = () => command(windows ? 'npm.cmd' : 'npm', npm, { cwd: root, shell: windows })
    // What it fetched is in its cache: only what a bad connection cut off is fetched again.
    await install().catch((error) => {
      console.log(`${error.message}\n… once more`)
      return install()
    })
    writeFileSync(stamp, '')
  })
}

let wantsTests = false
/** Whoever needs the packages of the tests says so before the build begins. */
export const needTests = () => (wantsTests = true)
export const npm = once(async () => packages(wantsTests))

/** A tool from the Rust registry: its path. */
async function tool(name, { version, how }) {
  const local = join(tools, `${name}-${version}`, 'bin')
  const places = [local, ...(process.env.PATH ?? '').split(windows ? ';' : ':')]
  const binaries = places.map((place) => join(place, executable(name))).filter(existsSync)
  const versionOf = (binary) => output(binary, '--version')?.replace(/ v(?=\S+$)/, ' ')
  const there = binaries.find((binary) => versionOf(binary)?.endsWith(` ${version}`))
  if (there) return there
  await rust()
  const args = ['install', name, '--version', version, '--root', dirname(local), ...how]
  await task(`${name} ${version}`, (say) =>
    command('cargo', args, {
      cwd: root,
      env: {
        ...cargoEnv,
        CARGO_TARGET_DIR: join(tools, 'target'),
      },
      line: compiling(say),
    }),
  )
  return join(local, executable(name))
}

/** Makes a site of the guides. Not optimized: compiling it takes longer than all that it does. */
export const mdbook = once(() =>
  tool('mdbook', {
    version: '0.5.4',
    how: ['--locked', '--debug', '--no-default-features', '--features', 'search'],
  }),
)

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** The engine of Chromium without windows. */
export const ENGINE = '/usr/bin/chromium-headless-shell'
export const first = (places) => places.find((place) => existsSync(place))

/** One at a time: apt has a lock. */
let apt = Promise.resolve()

/** Installs Debian packages, where this may. */
async function debian(what, ...names) {
  const may = process.getuid?.() === 0 && output('apt-get', '--version')
  if (!may) throw new Error(`${what} is needed; on Debian: apt-get install ${names.join(' ')}`)
  const before = apt.catch(() => {})
  apt = before.then(() =>
    task(`${what} (Debian)`, async () => {
      await command('apt-get', ['update', '-q'])
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
      await command('apt-get', ['install', '-y', '-q', ...names], { env })
    }),
  )
  return apt
}

/** Chromium. The engine without windows only saves time: without it, tests run in Chromium. */
export const browser = once(async () => {
  if (!first(CHROMIUM)) await debian('Chromium', 'chromium')
  if (!existsSync(ENGINE)) {
    await debian('Chromium without windows', 'chromium-headless-shell').catch(() => {})
  }
})

export const firefox = once(async () => {
  if (!output('firefox-esr', '--version')) await debian('Firefox', 'firefox-esr')
})

export const redis = once(async () => {
  if (!output('redis-server', '--version')) await debian('Redis', 'redis-server')
})

/** The folder of `initdb` and `postgres`, which Debian does not put in the path; the newest. */
export function postgresPrograms() {
  const versions = '/usr/lib/postgresql'
  const debian = existsSync(versions)
    ? readdirSync(versions)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, 'bin'))
    : []
  const places = [...(process.env.PATH ?? '').split(windows ? ';' : ':'), ...debian]
  return places.find((place) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(place, executable(name)))),
  )
}

export const postgres = once(async () => {
  if (!postgresPrograms()) await debian('Postgres', 'postgresql')
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const started = Date.now()
    if (process.argv.includes('--tests')) {
      needTests()
      await Promise.all([browser(), firefox(), redis(), postgres(), linters(), mdbook()])
    }
    await Promise.all([rust(), npm()])
    console.log(`Everything is there (${Date.now() - started} ms)`)
  })
}
