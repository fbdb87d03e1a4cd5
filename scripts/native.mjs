// The core's native tests, compiled here and run in a copy of the project that is alone in a
// folder: a test that read something beside the project would fail.
import { spawnSync } from 'node:child_process'
import { copyAlone } from './alone.mjs'
import { cargoEnv, root } from './setup.mjs'

const args = ['test', '--locked', '--no-run', '--message-format=json-render-diagnostics']
const compiled = spawnSync('cargo', args, {
  ...{ cwd: root, env: cargoEnv, encoding: 'utf8', maxBuffer: 2 ** 28 },
  stdio: ['ignore', 'pipe', 'inherit'],
})
if (compiled.status !== 0) process.exit(1)
const binaries = compiled.stdout
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .filter(({ reason, executable, profile }) => reason && executable && profile.test)
// `npm test` makes one copy for all steps.
const cwd = process.env.TURNLOCK_ALONE ?? copyAlone()
let failed = binaries.length === 0
for (const { executable, target } of binaries) {
  console.log(`\n     Running ${target.name}`)
  const { status } = spawnSync(executable, [], { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  failed ||= status !== 0
}
process.exit(failed ? 1 : 0)
