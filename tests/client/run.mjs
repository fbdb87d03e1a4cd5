// Runs the tests of the Rust driver in headless Chromium, with the scripted provider beside them.
// What follows `--` is for the test binary: a part of a test's name.
import { spawn } from 'node:child_process'
import { cargoEnv, inBrowser, root } from '../../scripts/setup.mjs'
import { serve } from './site.mjs'

const env = await inBrowser()
const site = await serve()
const args = [
  ...['test', '--package', 'turnlock-client', '--features', 'jsonschema', '--test', 'client'],
  ...['--target', 'wasm32-unknown-unknown', '--locked', ...process.argv.slice(2)],
]
const child = spawn('cargo', args, {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: { ...cargoEnv, ...env, TURNLOCK_PROVIDER: site.url },
})
const code = await new Promise((resolve) => child.on('close', resolve))
await site.close()
process.exit(code ?? 1)
