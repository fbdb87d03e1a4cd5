/** Requests to a handler, and the events of its responses. */
import { TurnlockError, wrong } from '../errors.js'
import type { RemoteTurnsOptions } from '../generated/remote.js'
import { checkAddress } from '../models/model.js'
import { describe } from '../shared/serialize.js'
import { BlockReader } from '../shared/sse.js'
import type { TurnEvent } from '../types.js'
import type { RemoteState } from './turns.js'

/** What is read of a response that refuses. Declared for projects without the DOM library. */
interface Refusing {
  status: number
  headers: { get(name: string): string | null }
}

/** A refusal of the handler. */
export class Refused extends TurnlockError {
  /** Whether another attempt may succeed: the handler is busy, out of order, or did not answer. */
  readonly again: boolean
  readonly retryAfterMs: number

  constructor(code: string, message: string, { status, headers }: Refusing) {
    super(code, message, { status })
    // A gateway may answer in place of the handler with any of these, 200 among them.
    const isOk = status >= 200 && status < 300
    this.again = isOk || status === 408 || status === 429 || status >= 500
    const seconds = Number(headers.get('retry-after'))
    this.retryAfterMs = seconds > 0 ? Math.min(seconds, 60) * 1000 : 0
  }
}

/**
 * The longest event: a tool's results, and what the core lets through besides.
 *
 * Limit | an event of a handler | characters | the reader fails
 */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** A handler. Its functions reject with `Refused`, or with why a request was lost. */
export interface Wire {
  maxRetries: number
  /** Starts a turn, or resumes it: its events. */
  open(path: string, body: string, signal: AbortSignal): Promise<AsyncIterable<TurnEvent>>
  /** The events of a turn behind `after`; `undefined` if none will follow. */
  follow(
    requestId: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<TurnEvent> | undefined>
  /**
   * Sends a request that is answered at once, and again up to `retries` times if it may have been lost:
   * all these requests may arrive twice.
   */
  ask(path: string, body?: object, retries?: number): Promise<RemoteState>
}

/** @throws TurnlockError `options.invalid` */
export function wireTo(options: RemoteTurnsOptions): Wire {
  const { url, maxRetries = 5, idleMs = 45_000 } = options
  checkAddress(url, 'url')
  if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) throw wrong('maxRetries', 'from 0')
  if (!(idleMs >= 1)) throw wrong('idleMs', 'milliseconds from 1')
  const base = url.replace(/\/+$/, '')

  /** Posts `body`; without one, gets. */
  async function send(
    path: string,
    body: string | undefined,
    signal: AbortSignal,
    more?: Record<string, string>,
  ): Promise<Response> {
    const { fetch: given, headers } = options
    // Through `Headers`, which a host may give as they are: they have no members to spread.
    const requestHeaders = new Headers(typeof headers === 'function' ? await headers() : headers)
    // Called without a receiver, because browsers throw if `fetch` has another `this`.
    const ask = given ?? ((to: string, init: RequestInit) => fetch(to, init))
    const response = await ask(base + path, {
      signal,
      headers: {
        accept: 'text/event-stream, application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...more,
        ...Object.fromEntries(requestHeaders),
      },
      ...(body ? { method: 'POST', body } : { method: 'GET' }),
    })
    if (!response.ok) throw await refusal(response)
    return response
  }

  /** Checks a response at once: a request that something else has answered may be lost. */
  function events(response: Response, signal: AbortSignal): AsyncIterable<TurnEvent> {
    const type = response.headers.get('content-type')?.toLowerCase() ?? ''
    if (!response.body || !type.startsWith('text/event-stream')) {
      throw notOfHandler(response, 'text/event-stream')
    }
    return eventsOf(response.body.getReader(), signal)
  }

  /** The events of a response, until it ends or says nothing for too long. Rejects when it breaks. */
  async function* eventsOf(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent> {
    const close = () => void reader.cancel().catch(() => {})
    const decoder = new TextDecoder()
    const blocks = new BlockReader()
    try {
      for (;;) {
        // What waits for a silent handler ends as at the end of the response.
        const silent = setTimeout(close, idleMs)
        const { done, value } = await reader.read().finally(() => clearTimeout(silent))
        if (done || signal.aborted) return
        for (const block of blocks.push(decoder.decode(value, { stream: true }))) {
          const data = dataOf(block)
          if (data) yield JSON.parse(data) as TurnEvent
        }
        if (blocks.pending > MOST_CHARACTERS) throw new Error('an event without an end')
      }
    } finally {
      close()
    }
  }

  return {
    maxRetries,
    open: async (path, body, signal) => events(await send(path, body, signal), signal),
    async follow(requestId, after, signal) {
      const path = `/${encodeURIComponent(requestId)}/events`
      const headers = { 'last-event-id': String(after) }
      const response = await send(path, undefined, signal, headers)
      return response.status === 204 ? undefined : events(response, signal)
    },
    async ask(path, body, retries = 0) {
      for (let failures = 0; ; failures++) {
        try {
          const response = await send(path, JSON.stringify(body), AbortSignal.timeout(idleMs))
          return await stateOf(response)
        } catch (error) {
          const isFinal = (error as Partial<Refused>).again === false
          if (isFinal || failures >= retries) throw asFailure(error)
          await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** Math.min(failures, 5)))
        }
      }
    },
  }
}

/** What a request failed with, as an error with a code. */
export const asFailure = (error: unknown): TurnlockError =>
  error instanceof TurnlockError ? error : new TurnlockError('remote.unreachable', describe(error))

/** The data of a block of lines; empty for comments. */
const dataOf = (block: string): string =>
  block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n')

/** The JSON object of a response. */
async function stateOf(response: Response): Promise<RemoteState> {
  const text = await response.text()
  try {
    const state = JSON.parse(text) as RemoteState | null
    if (typeof state === 'object' && state && !Array.isArray(state)) return state
  } catch {
    // Not JSON.
  }
  throw notOfHandler(response, 'a JSON object')
}

/**
 * The error of a response that is not of a handler although its status is 2xx: a login page, a page of a
 * gateway.
 */
function notOfHandler(response: Response, expected: string): Refused {
  void response.body?.cancel().catch(() => {})
  const type = response.headers.get('content-type')?.slice(0, 100) ?? 'no content-type'
  const found = `expected ${expected}, got ${type} (status ${response.status})`
  return new Refused('remote.invalid', `the answer is no handler's: ${found}`, response)
}

/** The error that a response stands for. */
async function refusal(response: Response): Promise<Refused> {
  const body = (await response.json().catch(() => {})) as { error?: Partial<Refused> } | undefined
  const { code = 'remote.invalid', message } = body?.error ?? {}
  const fallbackMessage = `the answer is no handler's: status ${response.status}`
  return new Refused(String(code), String(message ?? fallbackMessage), response)
}
