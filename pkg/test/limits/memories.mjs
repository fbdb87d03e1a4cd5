// The memories of wasm that are made from here on, and not by whom they are held.
const made = []
const { Instance } = WebAssembly
WebAssembly.Instance = class extends Instance {
  constructor(...args) {
    super(...args)
    if (this.exports.memory) made.push(new WeakRef(this.exports.memory))
  }
}

/** Each memory that somebody still holds. */
export const memories = () => made.flatMap((one) => one.deref() ?? [])

/** Bytes of each memory that somebody still holds. Collect garbage before. */
export const sizes = () => memories().map(({ buffer }) => buffer.byteLength)
