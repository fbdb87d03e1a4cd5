// The class Agent of the package `agents`, unmodified. It is installed apart: it needs a newer Node.js
// than this project to run in Node.js, which it does not do here.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before, beforeEach } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../patience.mjs'
import { Gate, startObjects, whole } from './objects.mjs'

const VERSION = '0.32.0'
const folder = fileURLToPath(new URL(`../../.cache/agents-${VERSION}`, import.meta.url))

/** Installs the package once. What it needs of other packages is optional. */
function install() {
  if (existsSync(join(folder, 'node_modules/agents/package.json'))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const args = ['install', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund']
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const shell = process.platform === 'win32'
  const done = spawnSync(npm, [...args, `agents@${VERSION}`], {
    cwd: folder,
    encoding: 'utf8',
    shell,
  })
  assert.equal(done.status, 0, done.stderr)
}

let objects

before(async () => {
  install()
  const entry = fileURLToPath(new URL('agent-worker.mjs', import.meta.url))
  const packages = join(folder, 'node_modules')
  objects = await startObjects(entry, ['Chat'], {
    packages,
    date: '2026-07-01',
    flags: ['nodejs_compat'],
  })
})
after(() => objects?.dispose())
beforeEach(() => void (objects.gate = new Gate()))

const ask = (...args) => objects.ask(...args)

test('agent: runs a turn, and sends it to its connections', async () => {
  const path = 'Chat/approve'
  const ann = await objects.socket(`${path}?user=ann`)
  const bob = await objects.socket(`${path}?user=bob`)
  await ask(path, 'run', 'send', { tenant: 'ann', requestId: 'r' })
  ann.send({ type: 'turnlock:follow', requestId: 'r' })
  const { approvals } = await ann.event('paused')
  const decided = approvals.map(({ signature }) => ({ signature, approved: true }))
  const resume = { type: 'turnlock:resume', requestId: 'r', approvals: decided }
  bob.send(resume)
  assert.equal(await bob.error(), 'turn.not_found')
  ann.send(resume)
  await ann.event('complete')
  whole(ann.events())
  assert.equal(objects.gate.count('send'), 1)
  // Its own messages are still its own.
  ann.send({ type: 'hello' })
  await until(async () => (await ask(path, 'heard')).some((one) => one.includes('hello')))
})

test('agent: a schedule resumes a turn whose agent ends; the tool runs once', async () => {
  const path = 'Chat/evicted'
  objects.gate.hold('answer')
  await ask(path, 'run', 'pay', { tenant: 'ann', requestId: 'r' })
  await ask(path, 'schedule')
  await until(async () => objects.gate.count('answer') === 1)
  const made = await ask(path, 'made')
  await objects.end(path)
  objects.gate.open('answer')
  await until(async () => objects.gate.count('answer') === 2)
  await objects.has(path, 'ann', 'r', 'complete')
  assert.notEqual(await ask(path, 'made'), made)
  assert.equal(objects.gate.count('pay'), 1)
  whole(await ask(path, 'events', 'ann', 'r'))
  await until(async () => (await ask(path, 'rung')) === true)
})
