/** Decoders of provider streams. */
import { answer, bytesOf } from './core/instance.js'
import { stream as part } from './core/parts/stream.js'
import { onceFreed } from './shared/finalize.js'
import type { Delta, Dialect } from './types.js'

/** Decodes one response. */
export interface DeltaDecoder {
  /**
   * Decodes the next bytes, which may be split anywhere.
   *
   * @throws TurnlockError `options.invalid` for what is no bytes, such as a text
   */
  feed(bytes: Uint8Array): Delta[]
  /** Ends the stream, returns its last deltas and frees the decoder. */
  end(): Delta[]
}

/**
 * Decodes a provider's response: a stream, or a whole body (`stream: false`). The bytes tell the
 * framing: server-sent events, JSON objects (one, one a line, or in an array), or Bedrock's binary
 * frames. The deltas do not depend on the chunking. Input that is no response of the dialect
 * becomes a delta of type `error` behind what was read before; decoding never throws.
 *
 * @throws TurnlockError `dialect.unknown`, `dialect.no_stream`
 */
export function decodeStream(dialect: Dialect): DeltaDecoder {
  const on = part.core()
  const handle = Number(answer(part.callOn(on, (glue) => glue.stream_new(dialect))))
  let ended = false
  // Nothing here names the decoder, which would then never be collected.
  const feed = (given: Uint8Array) => {
    const bytes = bytesOf(given)
    return ended ? [] : deltas(part.callOn(on, (glue) => glue.stream_feed(handle, bytes)))
  }
  const end = () => {
    if (ended) return []
    ended = true
    const last = deltas(part.callOn(on, (glue) => glue.stream_end(handle)))
    free()
    return last
  }
  const decoder: DeltaDecoder = { feed, end }
  // A decoder that is dropped before its end must not leak the core's memory.
  const free = onceFreed(decoder, part, on, (glue) => glue.stream_free(handle))
  return decoder
}

function deltas(text: string): Delta[] {
  if (text === '') return []
  const items = JSON.parse(answer(text)) as (string | Delta)[]
  return items.map((item) => (typeof item === 'string' ? { type: 'text', text: item } : item))
}
