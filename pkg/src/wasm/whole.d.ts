/** Creates a new instance of a module with all capabilities. */
export function createInstance(module: WebAssembly.Module): unknown
