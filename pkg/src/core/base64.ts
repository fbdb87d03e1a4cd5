/** Decoders that not every runtime has. */
interface Decoders {
  Uint8Array: { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }
  Buffer?: { from(text: string, encoding: 'base64'): Uint8Array<ArrayBuffer> }
}

/** Decodes base64 text with the fastest decoder that the runtime has. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  // Looked up at run time, so that bundlers find no Node module here.
  const { Uint8Array: native, Buffer } = globalThis as unknown as Decoders
  if (native.fromBase64) return native.fromBase64(text)
  if (Buffer) return Buffer.from(text, 'base64')
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}
