/**
 * Requests to models: sends them, and passes on to the core what comes of them, as it comes.
 *
 * @module
 */
import { atHand } from './at-hand.js'
import type { TurnEffect, TurnInput } from '../generated/turn.js'
import { causeOf, ConnectionError, isMiss, type Model } from '../models/model.js'
import { describe } from '../shared/serialize.js'
import type { Delta } from '../types.js'

/** Whom to ask, and how far the readers are. */
export interface Asked {
  model?: Model | undefined
  fallbacks?: Model[] | undefined
  room(): Promise<void> | undefined
}

/** The core, as it hears of responses. */
export interface Hearing {
  isOver(): boolean
  send(input: TurnInput): void
  bytes(inference: number, attempt: number, slice: Uint8Array): void
}

type Repair = Extract<TurnEffect, { type: 'repair' }>
type Fetch = Extract<TurnEffect, { type: 'fetch' }>

/**
 * Interval in milliseconds at which the core is notified that a response is held back.
 *
 * Not a limit.
 */
const HELD_BACK = 1000

/**
 * Maximum characters of an error response's body that are passed to the core.
 *
 * Limit | the body of a failure | bytes | the rest is not read
 */
const FAILURE_BODY = 8192

/**
 * Bytes of a response that one call of the core reads; then timers and other turns have their time.
 * 256 KiB: what networks deliver at once is smaller.
 *
 * Limit | a response that the core reads at once | bytes | sliced
 */
const SLICE = 256 * 1024

export class Requests {
  readonly #host: Asked
  readonly #core: Hearing
  readonly #open = new Map<number, AbortController>()

  constructor(host: Asked, core: Hearing) {
    this.#host = host
    this.#core = core
  }

  abort(inference: number): void {
    this.#open.get(inference)?.abort()
    this.#open.delete(inference)
  }

  /** Aborts all. */
  close(): void {
    for (const controller of this.#open.values()) controller.abort()
    this.#open.clear()
  }

  /** Repairs the history in the body of a request that the provider has refused. */
  async repair({ inference, attempt, model: place, body, refusal }: Repair): Promise<void> {
    const input: TurnInput = { type: 'repaired', inference, attempt, body: null, repairs: [] }
    try {
      const dialect = this.#model(place)?.dialect
      const { repairRequest } = await import('../history/repair.js')
      const repaired = dialect && repairRequest(dialect, JSON.stringify(body), refusal)
      if (repaired) {
        const { member, list, repairs } = repaired
        input.body = { ...(body as object), [member]: JSON.parse(list) as unknown }
        input.repairs = repairs
      }
    } catch {
      // Without the part of the core for histories, the failure of the request stands.
    }
    if (!this.#core.isOver()) this.#core.send(input)
  }

  /** The model that an effect names: 0, or the place of a fallback from 1. */
  #model(place: number): Model | undefined {
    return place ? this.#host.fallbacks?.[place - 1] : this.#host.model
  }

  /** Sends a request, and tells the core what comes of it. */
  async send({ inference, attempt, model: place, request }: Fetch): Promise<void> {
    const controller = new AbortController()
    this.#open.set(inference, controller)
    // Bytes of an abandoned attempt must not reach the one that replaced it.
    const current = () => !this.#core.isOver() && this.#open.get(inference) === controller
    const ids = { inference, attempt }
    const send = (input: TurnInput) => {
      if (current()) this.#core.send(input)
    }
    let generated = false
    try {
      const model = this.#model(place)
      if (!model) throw new Error('no model')
      const { body: sent, ...where } = request
      const opened = model.open(sent, { ...where, signal: controller.signal })
      if (Symbol.asyncIterator in opened) {
        generated = true
        await this.#readDeltas(opened, inference, attempt, current)
      } else {
        const response = await opened
        if (!current()) return void response.body?.cancel().catch(() => {})
        const { ok, status, headers } = response
        const [retryAfterMs, hint] = [retryAfter(headers), hintOf(response, request.path)]
        const body = ok ? '' : await beginning(response)
        const secrets = model.secrets?.() ?? []
        send({ type: 'response_head', ...ids, status, retryAfterMs, body, hint, secrets })
        if (!ok) return
        await this.#readBytes(response, inference, attempt, current)
      }
      send({ type: 'response_end', ...ids })
    } catch (error) {
      // The message of a fetch error can contain the URL, and with it a key.
      const message = generated ? describe(error) : connectionFailure(error)
      send({ type: 'response_failed', ...ids, message, thrown: generated, code: missOf(error) })
    }
  }

  async #readDeltas(
    deltas: AsyncIterable<Delta>,
    inference: number,
    attempt: number,
    current: () => boolean,
  ): Promise<void> {
    const send = (deltas: Delta[]) =>
      this.#core.send({ type: 'deltas', inference, attempt, deltas })
    for await (const delta of deltas) {
      if (!current()) return
      send([delta])
      if (this.#host.room()) await this.#room(inference, attempt, current)
    }
    // A generator that yields nothing is an empty response, not a truncated one.
    if (current()) send([])
  }

  async #readBytes(
    response: Response,
    inference: number,
    attempt: number,
    current: () => boolean,
  ): Promise<void> {
    const reader = response.body?.getReader()
    if (!reader) return
    for await (const value of atHand(reader)) {
      if (!current()) return void reader.cancel().catch(() => {})
      let at = 0
      do {
        if (at > 0) {
          await new Promise((resolve) => setTimeout(resolve, 0))
          if (!current()) return void reader.cancel().catch(() => {})
        }
        const slice = value.subarray(at, (at += SLICE))
        this.#core.bytes(inference, attempt, slice)
        if (this.#host.room()) await this.#room(inference, attempt, current)
      } while (at < value.length)
    }
  }

  /**
   * Waits while the readers are far behind, and notifies the core, which would otherwise count the
   * delay as silence of the model.
   */
  async #room(inference: number, attempt: number, current: () => boolean): Promise<void> {
    for (let full = this.#host.room(); full && current(); full = this.#host.room()) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise((resolve) => (timer = setTimeout(resolve, HELD_BACK)))
      await Promise.race([full, late])
      clearTimeout(timer)
      this.#core.send({ type: 'held_back', inference, attempt })
    }
  }
}

/** Reads seconds or a date (RFC 9110 §10.2.3), or OpenAI's `retry-after-ms`. */
function retryAfter(headers: Headers): number | null {
  const header = headers.get('retry-after')
  let wait = Number(headers.get('retry-after-ms') ?? NaN)
  if (!(wait >= 0)) wait = Number(header || NaN) * 1000
  if (header && Number.isNaN(wait)) wait = Date.parse(header) - Date.now()
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, Math.ceil(wait)), Number.MAX_SAFE_INTEGER)
}

/** The beginning of a body. The rest is not read: it may have no end. */
async function beginning(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      text += decoder.decode(read.value, { stream: true })
      if (text.length >= FAILURE_BODY) break
    }
    void reader?.cancel().catch(() => {})
    return text.slice(0, FAILURE_BODY)
  } catch {
    return ''
  }
}

/**
 * What an error message adds if nothing comes of a response: the path for a 404, the content type
 * where a stream was expected.
 */
function hintOf({ ok, status, url, headers }: Response, path: string): string | null {
  if (status === 404) return `POST ${url ? new URL(url).pathname : path}`
  const type = headers.get('content-type')?.slice(0, 60)
  if (!ok || !type || /event-?stream|ndjson|octet-stream/i.test(type)) return null
  return `a stream was expected, the content type is ${type}`
}

/** The code of a request that a recorded model does not have; it is sent only once. */
const missOf = (error: unknown): string | null => (isMiss(error) ? error.code : null)

function connectionFailure(error: unknown): string {
  try {
    if (error instanceof ConnectionError || isMiss(error)) return error.message
  } catch {
    // What is thrown may throw itself.
  }
  return `the connection to the model failed${causeOf(error)}`
}
