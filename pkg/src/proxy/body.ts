/** Reads request bodies: decoded where the runtime can, and as JSON. */
import { readAll, tooLarge } from '../server/bytes.js'
import { EXCESS, jsonExcess } from '../server/json-density.js'
import { Refusal } from '../server/refusal.js'
import { parse, type Members } from './json.js'

/** Decodes bytes of a `content-encoding`; may give at most `most` bytes. */
export type DecodeBody = (bytes: Uint8Array, most: number) => Uint8Array | Promise<Uint8Array>

/** A request body; one that cannot be read has no `json` and no `members`. */
export interface Body {
  bytes: Uint8Array
  json: string
  members: Members | undefined
}

/**
 * The JSON object of a body; a `Refusal` for one that cannot be read.
 *
 * @throws Refusal for a body that exceeds `maxBytes` or is not of its encoding
 */
export async function readJson(
  received: Uint8Array,
  encoding: string | null,
  maxBytes: number,
  decoders: Record<string, DecodeBody>,
): Promise<Body | Refusal> {
  const bytes = await decoded(received, encoding, maxBytes, decoders)
  if (!bytes) {
    const message = 'this content-encoding cannot be read here'
    return new Refusal(415, 'request.content_encoding', message)
  }
  const excess = jsonExcess(bytes)
  if (excess) return new Refusal(400, 'request.json', EXCESS[excess])
  try {
    const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const members = parse(json)
    if (members) return { bytes, json, members }
  } catch {
    // Not UTF-8.
  }
  return new Refusal(400, 'request.json', 'the body is not a JSON object in UTF-8')
}

/** The decoded bytes; `undefined` for an encoding that this runtime does not know. */
async function decoded(
  bytes: Uint8Array,
  encoding: string | null,
  most: number,
  decoders: Record<string, DecodeBody>,
): Promise<Uint8Array | undefined> {
  const name = (encoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return bytes
  const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined
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
