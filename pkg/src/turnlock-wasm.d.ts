/**
 * `turnlock/turnlock.wasm` as an import. The bundler decides what it is: a module in workers, the
 * address of the file where a loader of files takes it. `init` takes either.
 */
declare const core: WebAssembly.Module & string
export default core
