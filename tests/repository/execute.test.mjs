// A step ends with its command, whatever the command leaves behind.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import test from 'node:test'
import { direct, execute } from '../../scripts/execute.mjs'

const FOREVER = 'setInterval(() => {}, 1000)'
const LONG = 600_000
const node = (code, options) =>
  execute([process.execPath, '-e', code], { limit: LONG, grace: 100, ...options })
/**
 * Plays a command that leaves a process, which holds the output open and never ends by itself.
 * `gone` resolves when it has ended.
 */
async function leaving(options) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connected = once(server, 'connection')
  const grandchild = `require('node:net').connect(${server.address().port}, '127.0.0.1', () => {
    process.send(process.pid, () => process.disconnect())
  })`
  const ended = await node(`
    const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      ...${JSON.stringify(options)},
    })
    child.on('message', (pid) => {
      console.log(pid)
      child.on('disconnect', () => child.unref())
    })
  `)
  const [socket] = await connected
  const closed = new Promise((resolve) =>
    socket
      .on('error', () => {})
      .on('close', resolve)
      .resume(),
  )
  return { ...ended, gone: closed.then(() => server.close()) }
}

test('output and code of a command', async () => {
  const { code, output } = await node('console.log(1); console.error(2); process.exitCode = 3')
  assert.equal(code, 3)
  assert.deepEqual(output.trim().split('\n').sort(), ['1', '2'])
  const none = await execute(['no-such-program'], { limit: LONG })
  assert.equal(none.code, 1)
  assert.match(none.output, /ENOENT/)
})

test('all of a long output is there', async () => {
  const { output } = await node("process.stdout.write('x'.repeat(4e6))", { grace: LONG })
  assert.equal(output.length, 4e6)
})

test('a process that holds the output is not waited for, and ends with its group', async () => {
  const { code, gone } = await leaving({})
  assert.equal(code, 0)
  await gone
})

test('a process in another group is not waited for', async () => {
  const { code, output, gone } = await leaving({ detached: true })
  process.kill(Number(output), 'SIGKILL')
  assert.equal(code, 0)
  await gone
})

test('after the limit the command has failed', async () => {
  for (const code of [FOREVER, `process.on('SIGTERM', () => process.exit(0)); ${FOREVER}`]) {
    const ended = await node(code, { limit: 300 })
    assert.notEqual(ended.code, 0)
    assert.match(ended.output, /did not end within/)
  }
})

test('this machine is reached without a proxy, and without extra CA certificates', async () => {
  const both = (value) => ({ NO_PROXY: value, no_proxy: value, NODE_EXTRA_CA_CERTS: undefined })
  assert.deepEqual(direct({}), both('127.0.0.1,localhost'))
  assert.deepEqual(
    direct({ NO_PROXY: 'a.example, localhost', no_proxy: 'b.example' }),
    both('a.example,localhost,b.example,127.0.0.1'),
  )
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: 'extra.pem', ...direct({}) }
  const { output } = await node('console.log(process.env.NODE_EXTRA_CA_CERTS)', { env })
  assert.equal(output.trim(), 'undefined')
})
