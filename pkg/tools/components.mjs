// What of others the npm package contains: crates that are compiled into the cores, packages of npm that
// are bundled, rules. From the lock files and what is installed; nothing is fetched that a build does
// not need.
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { root } from '../../scripts/setup.mjs'

const WASM = 'wasm32-unknown-unknown'
const TEXTS = /^(licen[cs]e|copying|unlicense)([-.].*)?$/i

function cargo(...args) {
  const { stdout, stderr, status } = spawnSync('cargo', [...args, '--locked'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Error(`cargo ${args.join(' ')}: ${stderr}`)
  return stdout
}

const mit = (who) =>
  readFileSync(join(root, 'LICENSE'), 'utf8')
    .replace(/^Copyright .*$/m, `Copyright (c) ${who}`)
    .trim()

/** The licence's text: MIT where there is a choice. */
function licence(folder) {
  const found = readdirSync(folder).filter((name) => TEXTS.test(name))
  const best =
    found.find((name) => /mit/i.test(name)) ?? found.find((name) => !/apache/i.test(name))
  const name = best ?? found[0]
  if (!name) throw new Error(`${folder} has no licence`)
  return readFileSync(join(folder, name), 'utf8').replaceAll('\r', '').trim()
}

/** The crates of a package of this workspace, without those of this project. */
export function crates(name, ...options) {
  const format = ['--prefix', 'none', '--format', '{p}|{l}']
  const kinds = ['--edges', 'normal,no-proc-macro']
  const lines = cargo('tree', '--package', name, ...kinds, ...format, ...options).split('\n')
  const { packages } = JSON.parse(cargo('metadata', '--format-version', '1', '--all-features'))
  const lock = readFileSync(join(root, 'Cargo.lock'), 'utf8')
  const all = new Map()
  for (const line of lines) {
    const [, crate, version, rest] = /^(\S+) v(\S+?)(?: (\(.*\)))?\|/.exec(line) ?? []
    if (!crate || rest?.includes('/') || crate.startsWith('turnlock')) continue
    const found = packages.find((one) => one.name === crate && one.version === version)
    const entry = `name = "${crate}"\nversion = "${version}"`
    const [, sha256] =
      /checksum = "(\w+)"/.exec(lock.slice(lock.indexOf(entry)).split('\n\n')[0]) ?? []
    all.set(`${crate} ${version}`, {
      kind: 'cargo',
      name: crate,
      version,
      sha256,
      licence: found.license,
      // Not read for lists without texts: not every package has one.
      get text() {
        return licence(dirname(found.manifest_path))
      },
    })
  }
  return [...all.values()].sort((a, b) =>
    `${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1,
  )
}

/** The packages of npm whose code is in files of the package. */
async function bundled() {
  const entries = ['pkg/src/cli/main.ts', 'www/src/main.js', 'fflate']
  const names = new Set()
  for (const entry of entries) {
    const { metafile } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      metafile: true,
      outdir: '/',

      absWorkingDir: root,
      platform: 'node',
      format: 'esm',
      external: ['turnlock', 'turnlock/*'],
    })
    for (const path of Object.keys(metafile.inputs)) {
      const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(path) ?? []
      if (name) names.add(name)
    }
  }
  return [...names].sort().map((name) => {
    const folder = join(root, 'node_modules', name)
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return { kind: 'npm', name, version, licence: license, text: licence(folder) }
  })
}

/** What is in the package beside its own code. */
export async function components() {
  const wasm = crates('turnlock-wasm', '--target', WASM, '--all-features')
  const std = { licence: 'MIT OR Apache-2.0', text: mit('The Rust Project Contributors') }
  // The standard library is compiled in as well; its version is that of the compiler.
  return [{ kind: 'rust', name: 'Rust standard library', ...std }, ...wasm, ...(await bundled())]
}
