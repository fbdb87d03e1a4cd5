import type { Glue, ProxyGlue } from '../core/glue.js'

/** Base64 of the deflated module. */
export const bytes: string
/** Creates a new instance of `module` that shares no state with others. */
export function createInstance(module: WebAssembly.Module): ProxyGlue & Glue
