// The heap of an isolate of workerd, over its inspector, which speaks the protocol of Chromium.
import { WebSocket } from 'ws'

/**
 * Connects to the isolate of a worker of Miniflare that has an `inspectorPort`. `wake` sends it a
 * request that does nothing.
 */
export async function inspect(worker, wake) {
  const { host } = await worker.getInspectorURL()
  const targets = await (await fetch(`http://${host}/json`)).json()
  const { webSocketDebuggerUrl } = targets.find(({ id }) => id.startsWith('core:user:'))
  const socket = new WebSocket(webSocketDebuggerUrl, { maxPayload: 2 ** 30 })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  const waiting = new Map()
  const chunks = []
  let sent = 0
  socket.on('message', (data) => {
    const { id, result, error, method, params } = JSON.parse(data)
    if (method === 'HeapProfiler.addHeapSnapshotChunk') chunks.push(params.chunk)
    if (id === undefined) return
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (error) reject(new Error(error.message))
    else resolve(result)
  })
  const send = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++sent, { resolve, reject })
      socket.send(JSON.stringify({ id: sent, method, params }))
    })
  /** What takes longer it only does when a request comes. */
  async function done(work) {
    let over = false
    work.finally(() => (over = true)).catch(() => {})
    while (!over) {
      await wake()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return work
  }
  await send('HeapProfiler.enable')
  return {
    /** Collects garbage; bytes of what is left: of JavaScript, of workerd's own objects, of buffers. */
    async collect() {
      for (let round = 0; round < 2; round++) await done(send('HeapProfiler.collectGarbage'))
      const { usedSize, totalSize, embedderHeapUsedSize, backingStorageSize } =
        await send('Runtime.getHeapUsage')
      return {
        used: usedSize,
        total: totalSize,
        embedder: embedderHeapUsedSize,
        buffers: backingStorageSize,
      }
    },
    /** A heap snapshot as text. */
    async snapshot() {
      chunks.length = 0
      await done(send('HeapProfiler.takeHeapSnapshot', { reportProgress: false }))
      return chunks.splice(0).join('')
    },
    close: () => socket.close(),
  }
}
