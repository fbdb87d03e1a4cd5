// Calls a function of a module in a worker: the test runner of Node 20 follows each promise of its own
// thread (async_hooks), and for a test that makes millions of them that is most of its time.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const CALL = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { module, name, args } = workerData
  import(module).then((exported) => exported[name](...args)).then((value) => parentPort.postMessage(value))
`

/** Calls an exported function. Throws what it throws; arguments and the value are copied. */
export async function inWorker(module, name, ...args) {
  const worker = new Worker(CALL, {
    eval: true,
    workerData: { module: String(module), name, args },
  })
  const [value] = await once(worker, 'message')
  return value
}
