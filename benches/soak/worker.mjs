// `runFaulty` inside workerd: GET /<turns>. One isolate for all requests.
import * as turnlock from 'turnlock'
import { runFaulty } from './faults.mjs'

globalThis.wasmMemories = []
const { Instance } = WebAssembly
WebAssembly.Instance = class extends Instance {
  constructor(...args) {
    super(...args)
    if (this.exports.memory) globalThis.wasmMemories.push(this.exports.memory)
  }
}

export default {
  async fetch(request) {
    const count = Number(new URL(request.url).pathname.slice(1))
    const done = await runFaulty({ turnlock, count })
    const wasm = globalThis.wasmMemories.reduce((sum, one) => sum + one.buffer.byteLength, 0)
    return Response.json({ ...done, wasm })
  },
}
