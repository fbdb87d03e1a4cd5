// Connections that break, before a server on this machine.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Passes connections on to `port`. Each takes from `budgets` how many bytes it carries back before it
 * is reset; without one, it carries all.
 */
export async function breaking(port, budgets) {
  let broken = 0
  const proxy = createServer((client) => {
    let left = budgets.shift() ?? Infinity
    const upstream = connect(port, '127.0.0.1')
    client.pipe(upstream)
    upstream.on('data', (data) => {
      if (data.length < left) {
        left -= data.length
        return void client.write(data)
      }
      broken++
      client.write(data.subarray(0, left), () => client.resetAndDestroy())
      upstream.destroy()
    })
    for (const socket of [client, upstream]) {
      socket.on('error', () => {})
      socket.on('close', () => [client, upstream].forEach((one) => one.destroy()))
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    broken: () => broken,
    close: () => proxy.close(),
  }
}
