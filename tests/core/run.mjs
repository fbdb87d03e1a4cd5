// The core's native tests, compiled here and run in a copy of the project that is alone in a
// folder: a test that read something beside the project would fail.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { copyAlone } from '../../scripts/alone.mjs'
import { bindgen, cargo } from '../../scripts/build/tools.mjs'
import { cargoEnv, root } from '../../scripts/setup.mjs'
import { once } from '../../scripts/tasks.mjs'

/**
 * The allocator that Debian's Redis comes with: the core's tests, which mostly allocate, take up to
 * a fifth less time than with that of the C library. Without it they only take longer.
 */
const JEMALLOC = [
  '/usr/lib/x86_64-linux-gnu/libjemalloc.so.2',
  '/usr/lib/aarch64-linux-gnu/libjemalloc.so.2',
].find((path) => existsSync(path))

const ARGS = ['test', '--locked', '--no-run']

/**
 * Compiles them while the cores are built, one of which takes one processor. Behind the generator of
 * the glue, which cargo builds in the same place, and for which the cores would wait.
 */
export const compileNative = once(async () => {
  try {
    await bindgen()
    await cargo('the native tests of the core', [...ARGS, '--jobs', '1'])
  } catch {
    // What does not compile is the step's to say.
  }
})

function main() {
  const args = [...ARGS, '--message-format=json-render-diagnostics']
  const { status, stdout } = spawnSync('cargo', args, {
    cwd: root,
    env: cargoEnv,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) return 1
  const binaries = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ reason, executable, profile }) => reason && executable && profile.test)
  // `npm test` makes one copy for all steps.
  const cwd = process.env.TURNLOCK_ALONE ?? copyAlone()
  const env = { ...process.env, ...(JEMALLOC && { LD_PRELOAD: JEMALLOC }) }
  const how = { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] }
  let failed = binaries.length === 0
  for (const { executable, target } of binaries) {
    console.log(`\n     Running ${target.name}`)
    const { status } = spawnSync(executable, [], how)
    failed ||= status !== 0
  }
  return failed ? 1 : 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(main())
