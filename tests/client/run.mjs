// Runs the tests of the Rust driver in headless Chromium, with the scripted provider beside them.
// What follows `--` is for the test binary: a part of a test's name.
import { spawn } from 'node:child_process'
import { root, setup } from '../../scripts/setup.mjs'
import { serve } from './site.mjs'

const { bindgen, chromedriver, pack } = setup({ browser: true, pack: true })
const site = await serve()
const args = [
  ...['test', '--headless', '--chrome', '--mode', 'no-install', '--chromedriver', chromedriver],
  ...['.', '--locked', '--features', 'client,jsonschema', '--test', 'client'],
]
const child = spawn(pack, [...args, ...process.argv.slice(2)], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: {
    ...process.env,
    // It takes the runner that it finds first.
    PATH: `${bindgen}:${process.env.PATH}`,
    TURNLOCK_PROVIDER: site.url,
    // Seconds; the tables take longer than the default of 20.
    WASM_BINDGEN_TEST_TIMEOUT: '600',
  },
})
const code = await new Promise((resolve) => child.on('close', resolve))
await site.close()
process.exit(code ?? 1)
