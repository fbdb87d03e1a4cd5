// What a script has started ends with it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import test from 'node:test'

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  test(`a command ends with the script that ${signal} ends`, async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connected = once(server, 'connection')
    const command = `require('node:net').connect(${server.address().port}, '127.0.0.1')`
    const script = `
      import { command } from ${JSON.stringify(new URL('../../scripts/tasks.mjs', import.meta.url))}
      await command(process.execPath, ['-e', ${JSON.stringify(command)}])
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script])
    const [socket] = await connected
    const closed = once(socket.resume(), 'close')
    child.kill(signal)
    const [code] = await once(child, 'exit')
    assert.equal(code, 1)
    await closed
    server.close()
  })
}
