/** As `index.ts`, for Vercel's edge runtime, which compiles wasm at build time only. */
import '../edge-light.js'

export * from './index.js'
