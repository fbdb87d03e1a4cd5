/**
 * How values reach a core and come back: numbers as they are, texts and bytes by way of its memory.
 * `scripts/build/glue.mjs` writes the functions of each part from these, by what wasm-bindgen says of them.
 */

/** Where something lies in the memory, and its length. */
type Place = [pointer: number, length: number]

interface Exports {
  readonly memory: WebAssembly.Memory
  __wbindgen_malloc(length: number, align: number): number
  __wbindgen_free(pointer: number, length: number, align: number): void
  __wbindgen_start(): void
}

/** A fresh instance of `module`, with nothing shared: its exports, and what calls of them need. */
export function instantiate(module: WebAssembly.Module) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const imports: Record<string, Record<string, (pointer: number, length: number) => void>> = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    // What else is imported prepares a table of JavaScript values, of which a core gets none.
    const isThrow = name.includes('throw')
    const refuse = (...place: Place) => {
      if (isThrow) throw new Error(decoder.decode(at(place)))
    }
    imports[from] = { ...imports[from], [name]: refuse }
  }
  const wasm = new WebAssembly.Instance(module, imports).exports as unknown as Exports
  const { memory, __wbindgen_malloc: malloc, __wbindgen_free: free } = wasm
  let view = new Uint8Array()
  const bytes = () => {
    // A memory that has grown has a new buffer; the old one is empty.
    if (view.byteLength === 0) view = new Uint8Array(memory.buffer)
    return view
  }
  const at = ([pointer, length]: Place) => bytes().subarray(pointer >>> 0, (pointer >>> 0) + length)
  wasm.__wbindgen_start()
  return {
    wasm,
    memory,
    /** Hands bytes over: where they lie. */
    put(given: Uint8Array): number {
      const pointer = malloc(given.length, 1) >>> 0
      bytes().set(given, pointer)
      return pointer
    },
    put32(given: Uint32Array): number {
      const pointer = malloc(given.length * 4, 4) >>> 0
      new Uint32Array(memory.buffer, pointer, given.length).set(given)
      return pointer
    },
    utf8: (text: string): Uint8Array => new TextEncoder().encode(text),
    /** Takes a text over. */
    text(place: Place): string {
      // Nothing was allocated.
      if (place[1] === 0) return ''
      const text = decoder.decode(at(place))
      free(place[0], place[1], 1)
      return text
    },
    /** Takes bytes over. */
    take(place: Place): Uint8Array {
      const copy = at(place).slice()
      free(place[0], place[1], 1)
      return copy
    },
  }
}
