// A function of a module in a worker. Node's test runner follows each promise of its own thread
// (async_hooks), which takes several times as long as what makes millions of them.
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
