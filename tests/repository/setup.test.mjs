// What cargo is told, whatever is set where the scripts run.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { root } from '../../scripts/setup.mjs'

/** The environment of cargo where `own` is set. */
function cargoEnvOf(own) {
  const setup = JSON.stringify(new URL('../../scripts/setup.mjs', import.meta.url))
  const script = `import { cargoEnv } from ${setup}; console.log(JSON.stringify(cargoEnv))`
  const unset = { CARGO_TARGET_DIR: undefined, CARGO_BUILD_TARGET_DIR: undefined }
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, ...unset, ...own },
  })
  return JSON.parse(stdout)
}

test('cargo builds where the scripts look, for this machine unless it is told otherwise', () => {
  const where = (own) => cargoEnvOf(own).CARGO_TARGET_DIR
  assert.equal(where({}), join(root, 'target'))
  assert.equal(where({ CARGO_TARGET_DIR: 'one' }), join(root, 'one'))
  assert.equal(where({ CARGO_BUILD_TARGET_DIR: 'two' }), join(root, 'two'))
  assert.equal(where({ CARGO_TARGET_DIR: 'one', CARGO_BUILD_TARGET_DIR: 'two' }), join(root, 'one'))
  assert.equal(
    cargoEnvOf({ CARGO_BUILD_TARGET: 'wasm32-unknown-unknown' }).CARGO_BUILD_TARGET,
    undefined,
  )
})

/** What `need` of setup.mjs says where these programs are all that is there, each a shell script. */
function setUp(need, programs) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-setup-'))
  mkdirSync(join(folder, 'lib/rustlib/wasm32-unknown-unknown'), { recursive: true })
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  const setup = JSON.stringify(new URL('../../scripts/setup.mjs', import.meta.url))
  const script = `import { ${need} as need } from ${setup}
    await need().then(() => console.log('there'), (error) => console.log(error.message))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, PATH: folder },
  })
  const added = readFileSync(join(folder, 'added'), { encoding: 'utf8', flag: 'a+' })
  rmSync(folder, { recursive: true })
  return stdout + added
}

const no = 'exit 1'
/** A Rust of the operating system, without the target. */
const RUSTC = 'case $1 in --version) echo "rustc 1.99.0 (Debian)";; *) echo /nowhere;; esac'
const RUSTUP = 'case $1 in --version) echo rustup;; *) echo "$@" >> "${0%/*}/added";; esac'

test('what is missing of Rust is named, with what helps', () => {
  assert.match(setUp('rust', {}), /^Rust is needed: https:\/\/rustup\.rs/)
  const bare = 'echo "error: no default is configured" >&2; exit 1'
  assert.match(setUp('rust', { rustc: bare }), /^error: no default is configured\nRust is needed/)
  const old = setUp('rust', { rustc: 'echo "rustc 1.63.0"' })
  assert.match(old, /^Rust 1\.\d+ is needed, and this is rustc 1\.63\.0/)
  assert.match(setUp('rust', { rustc: RUSTC }), /^A C compiler is needed; .* gcc /)
})

test('what rustup can add is added, and otherwise said', () => {
  const debian = { rustc: RUSTC, cc: 'echo cc' }
  const target = setUp('rust', debian)
  assert.match(target, /^Missing: the wasm target of Rust\. .*libstd-rust-dev-wasm32/)
  assert.match(setUp('rust', { ...debian, rustup: RUSTUP }), /^target add wasm32-unknown-unknown$/m)

  // The target is there, and what the minimal profile of rustup leaves out is not.
  const minimal = { ...debian, rustc: RUSTC.replace('/nowhere', '${0%/*}') }
  assert.match(setUp('linters', { ...minimal, cargo: no }), /rustfmt rust-clippy/)
  assert.match(
    setUp('linters', { ...minimal, cargo: no, rustup: RUSTUP }),
    /^component add rustfmt clippy$/m,
  )
  assert.equal(setUp('linters', { ...minimal, cargo: 'echo fine' }), 'there\n')
})
