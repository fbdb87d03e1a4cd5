// The script of the worker: instantiates the module that workerd has compiled.
import module from './rust_worker_bg.wasm'
import { fetch, initSync } from './dist/rust_worker.js'

initSync({ module })

export default { fetch }
