/** Requests to a handler, and the events of its responses. */
import { wrong } from '../checks.js'
import { TurnlockError } from '../errors.js'
import type { RemoteTurnsOptions } from '../generated/remote.js'
import { checkAddress } from '../models/model.js'
import type { TurnEvent } from '../types.js'
import type { RemoteState } from './turns.js'

/** A refusal of the handler. */
export class Refused extends TurnlockError {
  /** Whether another attempt may succeed: the handler is busy or out of order. */
  readonly again: boolean
  readonly retryAfterMs: number

  constructor(code: string, message: string, response: Response) {
    const { status, headers } = response
    super(code, message, { status })
    this.again = status === 408 || status === 429 || status >= 500
    const seconds = Number(headers.get('retry-after') ?? 0)
    this.retryAfterMs = seconds > 0 ? Math.min(seconds, 60) * 1000 : 0
  }
}

/** The longest event: a tool's results, and what the core lets through besides. */
const MOST_CHARACTERS = 64 * 1024 * 1024

export class Wire {
  readonly maxRetries: number
  readonly #options: RemoteTurnsOptions
  readonly #url: string
  readonly #idleMs: number

  /** @throws TurnlockError `options.invalid` */
  constructor(options: RemoteTurnsOptions) {
    const { url, maxRetries = 5, idleMs = 45_000 } = options
    checkAddress(url, 'url')
    if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) throw wrong('maxRetries', 'from 0')
    if (!(idleMs >= 1)) throw wrong('idleMs', 'milliseconds from 1')
    this.#options = options
    this.#url = url.replace(/\/+$/, '')
    this.maxRetries = maxRetries
    this.#idleMs = idleMs
  }

  /** Starts a turn, or resumes it: its events. Rejects with `Refused`, or with why it was lost. */
  async open(path: string, body: object, signal: AbortSignal): Promise<AsyncIterable<TurnEvent>> {
    return this.#events(await this.#post(path, body, signal), signal)
  }

  /** The events of a turn behind `after`. */
  async follow(
    requestId: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<TurnEvent>> {
    const path = `/${encodeURIComponent(requestId)}/events`
    const headers = { 'last-event-id': String(after) }
    return this.#events(await this.#send(path, { method: 'GET', headers, signal }), signal)
  }

  /** Asks for something that is answered at once. */
  async ask(path: string, body: object): Promise<RemoteState> {
    const response = await this.#post(path, body, AbortSignal.timeout(this.#idleMs))
    return (await response.json()) as RemoteState
  }

  async get<T>(path: string): Promise<T> {
    const signal = AbortSignal.timeout(this.#idleMs)
    const headers = { accept: 'application/json' }
    return (await (await this.#send(path, { method: 'GET', headers, signal })).json()) as T
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    return this.#send(path, { method: 'POST', headers, body: JSON.stringify(body), signal })
  }

  async #send(path: string, init: RequestInit & { headers: object }): Promise<Response> {
    const { fetch: given, headers } = this.#options
    const own = typeof headers === 'function' ? await headers() : headers
    // Called without a receiver, because browsers throw if `fetch` has another `this`.
    const send = given ?? ((url: string, rest: RequestInit) => fetch(url, rest))
    const response = await send(this.#url + path, {
      ...init,
      headers: { accept: 'text/event-stream', ...init.headers, ...own },
    })
    if (!response.ok) throw await refusal(response)
    return response
  }

  /**
   * The events of a response. Ends when the handler ends it, and rejects when it breaks or says
   * nothing for too long.
   */
  async *#events(response: Response, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const type = response.headers.get('content-type') ?? ''
    if (response.status === 204) return
    if (!response.body || !type.startsWith('text/event-stream')) {
      void response.body?.cancel().catch(() => {})
      throw new Refused('remote.invalid', `expected events, not ${type || 'nothing'}`, response)
    }
    const reader = response.body.getReader()
    const decoder = new TextDecoder()
    let text = ''
    try {
      for (;;) {
        const { done, value } = await this.#inTime(reader.read())
        if (done || signal.aborted) return
        text += decoder.decode(value, { stream: true }).replace(/\r/g, '')
        if (text.length > MOST_CHARACTERS) throw new Error('an event without an end')
        const blocks = text.split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) {
          const data = dataOf(block)
          if (data) yield JSON.parse(data) as TurnEvent
        }
      }
    } finally {
      void reader.cancel().catch(() => {})
    }
  }

  async #inTime<T>(read: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the handler was silent')), this.#idleMs)
    })
    try {
      return await Promise.race([read, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The data of a block of lines; empty for comments. */
const dataOf = (block: string): string =>
  block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n')

/** The error that a response stands for. */
async function refusal(response: Response): Promise<Refused> {
  const { status } = response
  try {
    const { error } = (await response.json()) as { error: { code: unknown; message: unknown } }
    return new Refused(String(error.code), String(error.message), response)
  } catch {
    return new Refused('remote.invalid', `the answer is no handler's: status ${status}`, response)
  }
}
