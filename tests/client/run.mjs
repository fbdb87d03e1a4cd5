// Runs the tests of the Rust driver in headless Chromium, with the scripted provider beside them.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root, setup } from '../../scripts/setup.mjs'
import { serve } from './site.mjs'

const { bindgen, chromedriver } = setup({ browser: true })
const site = await serve()
const args = ['test', '--target', 'wasm32-unknown-unknown', '--locked', '--test', 'client']
const child = spawn(
  'cargo',
  [...args, '--features', 'client,jsonschema', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: join(bindgen, 'wasm-bindgen-test-runner'),
      CHROMEDRIVER: chromedriver,
      TURNLOCK_PROVIDER: site.url,
      // Seconds; the tables take longer than the default of 20.
      WASM_BINDGEN_TEST_TIMEOUT: '600',
    },
  },
)
const code = await new Promise((resolve) => child.on('close', resolve))
await site.close()
process.exit(code ?? 1)
