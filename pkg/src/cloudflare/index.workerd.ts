/** As `index.ts`, for Cloudflare's workerd, which compiles wasm at build time only. */
import '../workerd.js'

export * from './index.js'
