// Many turns through a store, and what of the memory they leave behind.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { partsOf } from '../../pkg/test/parts.mjs'
import { runTurns } from './turns.mjs'

// Every memory of wasm that is made from here on; the core is instantiated at its first use.
const memories = []
const { Instance } = WebAssembly
WebAssembly.Instance = class extends Instance {
  constructor(...args) {
    super(...args)
    if (this.exports.memory) memories.push(this.exports.memory)
  }
}

const { live } = await partsOf('../dist')
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** Behind a full collection: bytes of the heap and the process, pages of wasm, live handles. */
function look() {
  collect()
  const { heapUsed, external, rss } = process.memoryUsage()
  const bytes = memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)
  return {
    heap: heapUsed + external - bytes,
    rss,
    pages: bytes / 65536,
    instances: memories.length,
    handles: live(),
  }
}

/** Runs `turns` in `samples` equal parts; what `see` returns is added to each sample. */
export async function soak({ turns, samples, store, keep, lanes = 20, see = () => ({}) }) {
  const seen = []
  for (let n = 1; n <= samples; n++) {
    await runTurns(turns / samples, { store, keep, lanes })
    seen.push({ turns: (turns / samples) * n, ...(await see()), ...look() })
  }
  return seen
}

/** Growth per turn by least squares over the samples behind the first fifth. */
export function slope(seen, of) {
  const points = seen.slice(Math.ceil(seen.length / 5)).map((one) => [one.turns, of(one)])
  const mean = (at) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return over / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}
