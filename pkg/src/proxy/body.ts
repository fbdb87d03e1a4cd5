/** Decodes request bodies where the runtime can. */
import { readAll, tooLarge } from '../server/bytes.js'
import { Refusal } from '../server/refusal.js'

/** Decodes bytes of a `content-encoding`; may give at most `most` bytes. */
export type DecodeBody = (bytes: Uint8Array, most: number) => Uint8Array | Promise<Uint8Array>

/** The decoded bytes; `undefined` for an encoding that this runtime does not know. */
export async function decoded(
  bytes: Uint8Array,
  encoding: string | null,
  most: number,
  own: Record<string, DecodeBody>,
): Promise<Uint8Array | undefined> {
  const name = (encoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return bytes
  const decode = Object.hasOwn(own, name) ? own[name] : undefined
  if (!decode) return throughStream(bytes, name, most)
  const made = await decode(bytes, most)
  if (made.byteLength > most) throw tooLarge(most)
  return made
}

async function throughStream(bytes: Uint8Array, name: string, most: number) {
  let stream: DecompressionStream
  try {
    stream = new DecompressionStream((name === 'x-gzip' ? 'gzip' : name) as CompressionFormat)
  } catch {
    return name === 'zstd' ? throughNode(bytes, most) : undefined
  }
  const body = new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>
  try {
    return await readAll(body.pipeThrough(stream as TransformStream<Uint8Array, Uint8Array>), most)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal(400, 'request.content_encoding', `the body is no ${name}`)
  }
}

interface Zlib {
  zstdDecompressSync?(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array
}

/** Node has zstd from 22.15 on, in no stream of the web. */
function throughNode(bytes: Uint8Array, maxOutputLength: number): Uint8Array | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): Zlib } }
  const zlib = process?.getBuiltinModule?.('node:zlib')
  if (!zlib?.zstdDecompressSync) return undefined
  try {
    return zlib.zstdDecompressSync(bytes, { maxOutputLength })
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(maxOutputLength)
    throw new Refusal(400, 'request.content_encoding', 'the body is no zstd')
  }
}
