/** Reads bytes of a bounded size. */
import { joined } from '../driver/at-hand.js'
import { clientLeft, Refusal } from './refusal.js'

export const tooLarge = (most: number) =>
  new Refusal(413, 'request.too_large', `the body is longer than ${most} bytes`)

/**
 * A body of at most `most` bytes, regardless of `content-length`.
 *
 * @throws Refusal 413; 499 where it breaks off, as some runtimes abort the request's signal later
 */
export async function readBody(request: Request, most: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > most) throw tooLarge(most)
  const onLeave = () => {
    throw clientLeft()
  }
  return request.body ? readAll(request.body, most, onLeave) : new Uint8Array()
}

/** At most `most` bytes of a stream; `broke` is told that it breaks off. @throws Refusal 413 */
export async function readAll(
  body: ReadableStream<Uint8Array>,
  most: number,
  broke?: () => never,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read().catch(broke)
    if (done) break
    length += value.byteLength
    if (length > most) {
      reader.cancel().catch(() => {})
      throw tooLarge(most)
    }
    pieces.push(value)
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : joined(pieces, length)
}
