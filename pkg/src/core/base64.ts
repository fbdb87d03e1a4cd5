/** Decoders that not every runtime has. */
interface Decoders {
  Uint8Array: { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }
  Buffer?: {
    from(text: string, encoding: 'base64'): Uint8Array<ArrayBuffer>
    from(buffer: ArrayBufferLike, at: number, length: number): { toString(as: 'base64'): string }
  }
}

/** Encodes bytes as base64 text with the fastest encoder that the runtime has. */
export function encodeBase64(bytes: Uint8Array): string {
  const native = bytes as { toBase64?(): string }
  if (native.toBase64) return native.toBase64()
  const { Buffer } = globalThis as unknown as Decoders
  if (Buffer) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  let binary = ''
  // A call has no room for more arguments.
  for (let at = 0; at < bytes.length; at += 8192) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  }
  return btoa(binary)
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
