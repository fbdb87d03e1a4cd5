// A guarded call whose process is killed, over Redis: what another process makes of it.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from 'redis'
import { listTurns } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { until } from '../patience.mjs'
import { startRedis } from './redis-server.mjs'

const script = fileURLToPath(new URL('./guard-process.mjs', import.meta.url))
const run = promisify(execFile)
let redis, folder
before(async () => {
  redis = await startRedis()
  folder = mkdtempSync(join(tmpdir(), 'turnlock-guards-'))
})
after(async () => {
  rmSync(folder, { recursive: true })
  await redis?.stop()
})

/** The arguments of a process. */
const told = ({ file, ...options }) =>
  JSON.stringify({
    url: redis.url,
    leaseMs: 500,
    flags: {},
    file,
    conversationId: file,
    ...options,
  })

const effects = (file) => readFileSync(file, 'utf8').trim().split('\n')

test('processes at the same time run a call once', async () => {
  const file = join(folder, 'together')
  const outputs = await Promise.all(
    [1, 2, 3].map(() => run(process.execPath, [script, told({ file })])),
  )
  for (const { stdout } of outputs) assert.equal(stdout, 'sent\n')
  assert.equal(effects(file).length, 1)
})

for (const [name, flags, expected, runs] of [
  ['has effects: it does not run again', {}, /whether it finished is not known/, 1],
  ['is idempotent: it runs again with the same key', { idempotent: true }, /^sent$/m, 2],
]) {
  test(`a call is killed. It ${name}`, async () => {
    const file = join(folder, name.slice(0, 3))
    const child = spawn(process.execPath, [script, told({ file, flags, hangs: true })])
    await until(() => existsSync(file))
    const client = await createClient({ url: redis.url }).connect()
    assert.deepEqual(await listTurns({ store: redisStore(client) }), [], 'calls are no turns')
    client.destroy()
    child.kill('SIGKILL')
    const { stdout } = await run(process.execPath, [script, told({ file, flags })])
    assert.match(stdout, expected)
    const lines = effects(file)
    assert.equal(lines.length, runs)
    assert.equal(new Set(lines).size, 1)
  })
}
