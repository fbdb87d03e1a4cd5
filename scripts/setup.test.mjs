// What cargo is told, whatever is set where the scripts run.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import test from 'node:test'
import { root } from './setup.mjs'

/** The environment of cargo where `own` is set. */
function cargoEnvOf(own) {
  const setup = JSON.stringify(new URL('setup.mjs', import.meta.url))
  const script = `import { cargoEnv } from ${setup}; console.log(JSON.stringify(cargoEnv))`
  const unset = { CARGO_TARGET_DIR: undefined, CARGO_BUILD_TARGET_DIR: undefined }
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    ...{ encoding: 'utf8', env: { ...process.env, ...unset, ...own } },
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
