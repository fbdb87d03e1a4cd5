// Runs the tests of the Rust driver with the scripted provider beside them: in headless Chromium, or
// with `native` first on tokio. What follows is cargo's; behind `--` it is the test binary's: a part
// of a test's name.
import { spawn } from 'node:child_process'
import { inChromium } from './in-chromium.mjs'
import { cargoEnv, root } from '../../scripts/setup.mjs'
import { serve } from './site.mjs'

const native = process.argv[2] === 'native'
const more = process.argv.slice(native ? 3 : 2)
const site = await serve()
const own = native
  ? ['--config', '.cargo/unoptimized.toml', '--features', 'jsonschema,tokio']
  : [
      '--config',
      '.cargo/jsonschema.toml',
      '--features',
      'jsonschema',
      '--target',
      'wasm32-unknown-unknown',
      ...inChromium,
    ]
const args = [
  'test',
  '--package',
  'turnlock-client',
  '--test',
  'client',
  '--locked',
  ...own,
  ...more,
]
const child = spawn('cargo', args, {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: { ...cargoEnv, TURNLOCK_PROVIDER: site.url },
})
const code = await new Promise((resolve) => child.on('close', resolve))
await site.close()
process.exit(code ?? 1)
