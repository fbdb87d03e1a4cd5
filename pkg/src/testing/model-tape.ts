/** Responses of models on a tape, and the tape as a model. */
import { isObject } from '../checks.js'
import { decodeBase64, encodeBase64 } from '../core/base64.js'
import { TurnlockError, wrong } from '../errors.js'
import { causeOf, type Fetch } from '../models/model.js'
import { cleaned, scrubbed } from './tape-secrets.js'
import { difference, type TapeDifference } from './tape-difference.js'

/** Requests to models and their responses, in the order of the requests. Plain JSON. */
export interface ModelTape {
  version: 1
  entries: TapeEntry[]
}

/** A request and its response. */
export interface TapeEntry {
  request: TapeRequest
  /** `null` until the response has ended. */
  response: TapeResponse | TapeFailure | null
}

/** A request without its headers, credentials and keys. */
export interface TapeRequest {
  method: string
  /** Without credentials; values of unknown query parameters are `***`. */
  url: string
  /** The JSON of the body, its text, or `null` without one. */
  body: unknown
}

/** A response as it arrived. */
export interface TapeResponse {
  status: number
  /** `content-type`, `retry-after` and `retry-after-ms`. */
  headers: Record<string, string>
  /** The pieces of the body: texts, or the bytes of a piece that is not UTF-8. */
  chunks: (string | { base64: string })[]
  /** `complete`; `broken` if the connection broke; `left` if the reader left before its end. */
  end: 'complete' | 'broken' | 'left'
  /** The code of what broke it, such as `ECONNRESET`, if there is one. */
  cause?: string
}

/** No response: the connection failed. */
export interface TapeFailure {
  /** The code of the cause, such as `ECONNREFUSED`, or its words; may be empty. */
  failed: string
}

/** A `fetch` that records. */
export type RecordingFetch = Fetch & {
  /** What was recorded; it grows with each request. */
  readonly tape: ModelTape
}

/** Headers of a response that a client of a model reads. */
const HEADERS = ['content-type', 'retry-after', 'retry-after-ms']

/**
 * A `fetch` that sends requests with another one and records the responses, streams included: each
 * piece as it arrived, broken connections and failures too. Give it to a model as its `fetch`, and
 * store `tape` as JSON.
 *
 * The tape has no request headers, no credentials of an address, and of its query only the values of
 * parameters such as `alt` and `api-version`. Keys in the body (`api_key`, `authorization_token`,
 * `headers` of an MCP server) are `***`. So is each key of the request wherever the body or the
 * response repeats it. Prompts and answers are on the tape as they are.
 *
 * @param fetch sends the requests. Default: the global one
 * @throws TurnlockError `options.invalid` if `fetch` is not a function
 *
 * @example
 * const fetch = recordModel()
 * await runTurn({ model: openaiChat({ baseURL, model, apiKey, fetch }), messages }).result
 * await writeFile('tape.json', JSON.stringify(fetch.tape))
 */
export function recordModel(
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): RecordingFetch {
  if (typeof fetch !== 'function') throw wrong('fetch', 'a function')
  const tape: ModelTape = { version: 1, entries: [] }
  const record: Fetch = async (url, init) => {
    const { request, secrets } = cleaned(url, init)
    const entry: TapeEntry = { request, response: null }
    tape.entries.push(entry)
    let response: Response
    try {
      response = await fetch(url, init)
    } catch (error) {
      if (!init.signal?.aborted) entry.response = { failed: codeOf(error) }
      throw error
    }
    const { status, headers } = response
    const kept = HEADERS.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    const chunks: Uint8Array[] = []
    const end = (how: TapeResponse['end'], cause = '') => {
      if (entry.response) return
      const all = scrubbed(chunks, secrets).map(written)
      const head = { status, headers: Object.fromEntries(kept) }
      entry.response = { ...head, chunks: all, end: how, ...(cause && { cause }) }
    }
    if (!response.body) {
      end('complete')
      return response
    }
    init.signal?.addEventListener('abort', () => end('left'), { once: true })
    return responseOf(response, recorded(response.body, chunks, end))
  }
  return Object.assign(record, { tape })
}

/** A body whose pieces are recorded as they are read, none before it is asked for. */
function recorded(
  body: ReadableStream<Uint8Array>,
  chunks: Uint8Array[],
  end: (how: TapeResponse['end'], cause?: string) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { value } = await reader.read()
        if (value) {
          chunks.push(value.slice())
          return controller.enqueue(value)
        }
        end('complete')
        controller.close()
      } catch (error) {
        end('broken', codeOf(error))
        controller.error(error)
      }
    },
    cancel(reason) {
      end('left')
      return reader.cancel(reason)
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

/**
 * A `fetch` that answers from a tape alone. A request gets the response to the same request: equal
 * method, address and JSON of the body, whatever its keys are. Of equal requests, each gets the next
 * response.
 *
 * A request that is not on the tape rejects with `replay.miss`: the message says what differs from
 * the nearest recorded one, and `details.differences` lists `{ path, recorded, requested }`. A turn
 * fails with this code, and so does a pass with `strict: true`; neither sends the request again.
 *
 * @param tape the JSON of a tape that {@link recordModel} wrote
 * @throws TurnlockError `options.invalid` for what is no tape
 *
 * @example
 * const fetch = replayModel(JSON.parse(await readFile('tape.json', 'utf8')))
 * await runTurn({ model: openaiChat({ baseURL, model, fetch }), messages }).result
 */
export function replayModel(tape: ModelTape): Fetch {
  checkTape(tape)
  const entries = tape.entries.map((entry) => ({ ...entry, used: false }))
  const byRequest = new Map<string, (typeof entries)[number][]>()
  for (const entry of entries) {
    const key = keyOf(entry.request)
    const same = byRequest.get(key)
    if (same) same.push(entry)
    else byRequest.set(key, [entry])
  }
  let requests = 0
  return async (url, init) => {
    requests += 1
    const { request } = cleaned(url, init)
    const same = byRequest.get(keyOf(request)) ?? []
    const entry = same.find(({ used }) => !used)
    if (!entry) throw missError(requests, request, same.length, entries)
    init.signal?.throwIfAborted()
    entry.used = true
    const { response } = entry
    if (!response) throw new TurnlockError('replay.miss', 'the recorded request got no response')
    if ('failed' in response) throw connectionError('fetch failed', response.failed)
    const { status, headers } = response
    return responseOf({ status, headers, url: request.url }, played(response, init.signal))
  }
}

function played(
  { chunks, end, cause }: TapeResponse,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  const pieces = chunks.values()
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull(controller) {
      if (signal?.aborted) return controller.error(signal.reason)
      const { value } = pieces.next()
      if (value !== undefined) return controller.enqueue(bytesOf(value))
      if (end === 'complete') return controller.close()
      const left = 'the recorded response is not read further: its reader left'
      controller.error(
        end === 'left'
          ? new TurnlockError('replay.miss', left)
          : connectionError('terminated', cause),
      )
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

const connectionError = (message: string, code = '') =>
  new TypeError(message, code ? { cause: { code } } : {})

/** A response with another body. `Response` refuses some states that a `fetch` may return. */
function responseOf(
  { status, headers, url }: Pick<Response, 'status' | 'url'> & { headers: HeadersInit },
  body: ReadableStream<Uint8Array>,
): Response {
  const hasBody = ![204, 205, 304].includes(status)
  const known = status >= 200 && status <= 599
  const response = new Response(hasBody ? body : null, { status: known ? status : 200, headers })
  const own = { url, ...(!known && { status, ok: false }) }
  for (const [name, value] of Object.entries(own)) Object.defineProperty(response, name, { value })
  return response
}

function written(chunk: Uint8Array): string | { base64: string } {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(chunk)
  } catch {
    return { base64: encodeBase64(chunk) }
  }
}

const bytesOf = (chunk: TapeResponse['chunks'][number]): Uint8Array =>
  typeof chunk === 'string' ? new TextEncoder().encode(chunk) : decodeBase64(chunk.base64)

/** As an error message of the client shows it: no address and no key. */
const codeOf = (error: unknown): string => causeOf(error).slice(2, -1)

/** The same text for the same request: the order of members does not matter. */
const keyOf = ({ method, url, body }: TapeRequest): string =>
  JSON.stringify([method, url, body], (_, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )

/** Entries that a request without a response is compared with. */
const COMPARED = 100

function missError(
  number: number,
  request: TapeRequest,
  same: number,
  entries: readonly (TapeEntry & { used: boolean })[],
): TurnlockError {
  const about = `request ${number} (${request.method} ${request.url})`
  const miss = (message: string, differences: TapeDifference[] = []) =>
    new TurnlockError('replay.miss', message, { request: number, differences })
  if (same) {
    return miss(`the tape has ${same} response${same > 1 ? 's' : ''} to ${about}, all of them used`)
  }
  const unused = entries.filter(({ used }) => !used)
  const compared = (unused.length ? unused : entries).slice(0, COMPARED).map((entry) => ({
    place: entries.indexOf(entry) + 1,
    differences: difference(entry.request, request),
  }))
  const [nearest] = compared.sort((a, b) => a.differences.length - b.differences.length)
  if (!nearest) return miss(`the tape is empty: it has no response to ${about}`)
  const { place, differences } = nearest
  const lines = differences.slice(0, 3).map(({ path, recorded, requested }) => {
    const [was, is] = [recorded, requested].map((text) => text ?? 'nothing')
    return `${path} was ${was} and is ${is}`
  })
  const more = differences.length > 3 ? `; ${differences.length - 3} more` : ''
  return miss(
    `the tape has no response to ${about}; from its entry ${place} differ: ${lines.join('; ')}${more}`,
    differences,
  )
}

function checkTape(tape: unknown): asserts tape is ModelTape {
  const fail = (place: string) => wrong(place, 'a tape that `recordModel` wrote')
  if (!isObject(tape) || tape['version'] !== 1 || !Array.isArray(tape['entries']))
    throw fail('tape')
  for (const [at, entry] of (tape['entries'] as unknown[]).entries()) {
    if (!isEntry(entry)) throw fail(`tape.entries[${at}]`)
  }
}

function isEntry(entry: unknown): boolean {
  if (!isObject(entry)) return false
  const { request, response } = entry
  const isRequest = isObject(request) && typeof request['url'] === 'string'
  if (!isRequest || typeof request['method'] !== 'string') return false
  if (response === null) return true
  if (!isObject(response)) return false
  if ('failed' in response) return typeof response['failed'] === 'string'
  const { status, headers, chunks, end, cause = '' } = response
  const isPiece = (piece: unknown) =>
    typeof piece === 'string' || (isObject(piece) && typeof piece['base64'] === 'string')
  return (
    Number.isInteger(status) &&
    isObject(headers) &&
    Object.values(headers).every((value) => typeof value === 'string') &&
    Array.isArray(chunks) &&
    chunks.every(isPiece) &&
    ['complete', 'broken', 'left'].includes(end as string) &&
    typeof cause === 'string'
  )
}
