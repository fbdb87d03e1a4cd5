// An example, started as its README says: `npm start` in a copy of its folder, with the package as
// it is published beside it. What else it needs is installed in the root.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { removeStale } from '../../scripts/alone.mjs'
import { root } from '../../scripts/setup.mjs'
import { createProvider } from '../provider/server.mjs'
import { until } from '../patience.mjs'

/** A folder per process, by its id. */
const COPIES = join(root, '.cache/examples')

/**
 * `examples/<name>` for `tests/examples/<name>.test.mjs`. `inPlace`: not in a copy, because it is
 * built with the scripts of the repository.
 */
export function example(meta, { inPlace = false } = {}) {
  const name = basename(fileURLToPath(meta.url), '.test.mjs')
  const folder = inPlace ? join(root, 'examples', name) : copyOf(name)
  const running = new Set()
  let started = 0
  after(async () => {
    await Promise.all([...running].map((one) => one.stop()))
    if (!inPlace) rmSync(dirname(folder), { recursive: true, force: true, maxRetries: 5 })
    assert.ok(started, `${name} was never started`)
  })

  /** `npm start -- …args`. `url` waits for the address that it says, `ended` is its exit code. */
  function start({ args = [], env = {} } = {}) {
    const child = spawn('npm', ['start', '--silent', ...(args.length ? ['--', ...args] : [])], {
      cwd: folder,
      env: { ...process.env, BASE_URL: '', ...env, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own, which ends as a whole
    })
    started++
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (said += text))
    }
    let isOver = false
    const ended = new Promise((resolve) => {
      child.once('close', (code) => {
        isOver = true
        resolve(code)
      })
    })
    const hears = async (pattern) => {
      await until(() => pattern.test(said) || isOver)
      assert.match(said, pattern)
      return pattern.exec(said)
    }
    const one = {
      ended,
      said: () => said,
      hears,
      /** The address of the app: not that of the model, which is said before it. */
      url: async () =>
        (await hears(/^(?!scripted).*(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/m))[1],
      async stop(signal = 'SIGKILL') {
        running.delete(one)
        if (isOver) return
        process.kill(-child.pid, signal)
        await ended
      },
    }
    running.add(one)
    return one
  }

  return { start }
}

/** A copy of the folder, beside the package. */
function copyOf(name) {
  removeStale(COPIES)
  const folder = join(COPIES, String(process.pid), name)
  cpSync(join(root, 'examples', name), folder, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|dist|target|\.next|\.turns)$/.test(path),
  })
  const to = join(folder, 'node_modules/turnlock')
  mkdirSync(to, { recursive: true })
  for (const file of ['package.json', 'dist']) {
    cpSync(join(root, 'pkg', file), join(to, file), { recursive: true })
  }
  return folder
}

/** A model that fails: its address, and what reached it. It ends with the tests of the file. */
export async function failing(behaviour = 'always-401') {
  const provider = await createProvider()
  after(() => provider.close())
  const requests = () => provider.requests('failing')
  return { BASE_URL: `${provider.url}/s/failing/${behaviour}/v1`, requests }
}
