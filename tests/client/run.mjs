// Runs the tests of the Rust driver in headless Chromium, with the scripted provider beside them.
// What follows `--` is for the test binary: a part of a test's name.
import { spawn } from 'node:child_process'
import { browser, root, testRunner } from '../../scripts/setup.mjs'
import { serve } from './site.mjs'

const [runner, { chromedriver }] = await Promise.all([testRunner(), browser()])
const site = await serve()
const args = [
  ...['test', '--package', 'turnlock-client', '--features', 'jsonschema', '--test', 'client'],
  ...['--target', 'wasm32-unknown-unknown', '--locked', ...process.argv.slice(2)],
]
const child = spawn('cargo', args, {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: {
    ...process.env,
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: runner,
    CHROMEDRIVER: chromedriver,
    TURNLOCK_PROVIDER: site.url,
    // Seconds; the tables take longer than the default of 20.
    WASM_BINDGEN_TEST_TIMEOUT: '1200',
  },
})
const code = await new Promise((resolve) => child.on('close', resolve))
await site.close()
process.exit(code ?? 1)
