import { TurnlockError } from '../errors.js'
import type { Fetch } from '../models/model.js'

/** A recorded response: its body, or its parts. */
export type Recording =
  | string
  | Uint8Array
  | {
      /** What was recorded: text, bytes, or a value that is sent as JSON. */
      body: unknown
      /** @defaultValue 200 */
      status?: number
      /** @defaultValue the content type of the body's kind */
      headers?: Record<string, string>
      /** Bytes of a piece: a response arrives in pieces. @defaultValue all at once */
      chunkBytes?: number
      /** The connection breaks behind the body. @defaultValue false */
      breaks?: boolean
    }

/** A request that a tape received. */
export interface TapedRequest {
  url: string
  method: string
  headers: Record<string, string>
  /** The body's JSON; its text if it is none. */
  body: unknown
}

/** A `fetch` that plays a tape and records the requests that it received. */
export type TapeFetch = Fetch & { readonly requests: readonly TapedRequest[] }

/**
 * A `fetch` for tests: it answers its first request with the first recording, and so on, with the
 * bytes that a provider sent. A request without a recording fails as an unreachable server does.
 *
 * @example
 * const fetch = tapeFetch([{ body: readFileSync('search.sse'), chunkBytes: 100 }, answer])
 * const model = openaiChat({ baseURL: 'https://api.example/v1', model: 'm', fetch })
 * const { text } = await runTurn({ model, messages, tools: { search } }).result
 * assert.equal(fetch.requests[1].body.messages.at(-1).role, 'system')
 */
export function tapeFetch(recordings: readonly Recording[]): TapeFetch {
  const requests: TapedRequest[] = []
  const play: Fetch = async (url, init) => {
    const recording = recordings[requests.length]
    requests.push({
      url,
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      body: parsed(init.body),
    })
    init.signal?.throwIfAborted()
    if (recording === undefined) {
      const message = `the tape has ${recordings.length} responses; this is request ${requests.length}`
      throw new TurnlockError('model.script_ended', message)
    }
    const isBody = typeof recording === 'string' || recording instanceof Uint8Array
    const { body, status = 200, headers = {}, ...how } = isBody ? { body: recording } : recording
    const type = kindOf(body)
    return new Response(played(bytesOf(body), how, init.signal), {
      status,
      headers: { 'content-type': type, ...headers },
    })
  }
  return Object.assign(play, { requests })
}

const isJson = (body: unknown) => typeof body !== 'string' && !(body instanceof Uint8Array)

const kindOf = (body: unknown) => (isJson(body) ? 'application/json' : 'text/event-stream')

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body
  return new TextEncoder().encode(isJson(body) ? JSON.stringify(body) : String(body))
}

function parsed(body: unknown): unknown {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body
  try {
    return JSON.parse(String(text)) as unknown
  } catch {
    return text
  }
}

function played(
  bytes: Uint8Array,
  { chunkBytes = bytes.length, breaks = false }: { chunkBytes?: number; breaks?: boolean },
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  const step = Math.max(1, chunkBytes)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (signal?.aborted) return controller.error(signal.reason)
      if (at < bytes.length) {
        controller.enqueue(bytes.slice(at, at + step))
        at += step
      } else if (breaks) controller.error(new TypeError('the connection broke'))
      else controller.close()
    },
  })
}
