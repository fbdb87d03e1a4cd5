/** As `index.ts`, for Cloudflare's workerd, which compiles wasm at build time only. */
import module from './turnlock.wasm'
import { provide } from './core.js'

provide(() => module)

export * from './slim.js'
