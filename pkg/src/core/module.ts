/** Compiles modules that are embedded as base64 of their deflated bytes (RFC 1951). */
import { decodeBase64 } from './base64.js'

/** Inflates and compiles without blocking, where the runtime can. */
export async function compileLater(deflated: string): Promise<WebAssembly.Module> {
  const bytes = decodeBase64(deflated)
  let inflated: BufferSource
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    inflated = await new Response(stream).arrayBuffer()
  } catch {
    // A runtime without it, or without this format.
    const { inflateSync } = await import('../inflate.js')
    inflated = inflateSync(bytes)
  }
  return WebAssembly.compile(inflated)
}
