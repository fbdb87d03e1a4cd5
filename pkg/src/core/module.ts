/** Compiles modules that are embedded as base64 of their deflated bytes (RFC 1951). */
import { decodeBase64 } from './base64.js'

/** Inflates and compiles without blocking, where the runtime can. */
export async function compileLater(deflated: string): Promise<WebAssembly.Module> {
  const bytes = decodeBase64(deflated)
  if (typeof DecompressionStream === 'undefined') {
    const { inflateSync } = await import('../inflate.js')
    return WebAssembly.compile(inflateSync(bytes))
  }
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return WebAssembly.compile(await new Response(inflated).arrayBuffer())
}
