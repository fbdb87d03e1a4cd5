/** The event with which a streamed response ends. */
import { framesOf } from './frames.js'
import { list, object, parse, text } from './json.js'
import type { Wire } from './wire.js'

/** Text that every terminal event of a wire format contains, so that few frames are parsed. */
const HINTS: Record<Wire['name'], RegExp> = {
  chat: /\[DONE\]|"finish_reason"\s*:\s*"|"error"\s*:\s*[{"]/,
  responses: /response\.(completed|incomplete|failed|cancelled|done)|:\s*"error"/,
  messages: /message_stop|:\s*"error"/,
}

const TYPES: Record<Exclude<Wire['name'], 'chat'>, RegExp> = {
  responses: /^(response\.(completed|incomplete|failed|cancelled|done)|error)$/,
  messages: /^(message_stop|error)$/,
}

/** Terminal events in the bytes of a stream, cut anywhere. In a text, quotes are escaped. */
const ENDINGS: Record<Wire['name'], RegExp> = {
  chat: /\[DONE\]|"finish_reason"\s*:\s*"|"error"\s*:\s*[{"]/g,
  responses: /"type"\s*:\s*"(?:response\.(?:completed|incomplete|failed|cancelled|done)|error)"/g,
  messages: /"type"\s*:\s*"(?:message_stop|error)"/g,
}

/** Characters of an ending that may stand in the piece before. */
const LONGEST_ENDING = 80

/**
 * Detects the terminal event in the frames that the client receives. Many clients close the
 * connection at this event (Codex does), which is not a cancellation.
 *
 * Chat Completions ends with `[DONE]`, or with a `finish_reason` for each of its choices: some clients
 * do not read further.
 */
export class TerminalEvent {
  readonly #wire: Wire['name']
  readonly #choices: number
  readonly #decoder = new TextDecoder()
  readonly #finished = new Set<unknown>()
  #hasPassed = false
  /** The last characters of a stream that is passed unread, and the endings that it lacks. */
  #rest = ''
  #missing: number | undefined

  /** @param choices the choices that were requested of Chat Completions */
  constructor(wire: Wire['name'], choices: number) {
    this.#wire = wire
    this.#choices = Math.max(1, choices)
  }

  /** Whether the client has received the terminal event. */
  get hasPassed(): boolean {
    return this.#hasPassed
  }

  /** Reads whole frames. */
  read(bytes: Uint8Array): void {
    if (this.#hasPassed || !HINTS[this.#wire].test(this.#decoder.decode(bytes))) return
    this.#hasPassed = framesOf(bytes).some(({ data }) => this.#isTerminal(data))
  }

  /** Reads bytes of a stream whose frames are too long to be read; they may be cut anywhere. */
  readPiece(bytes: Uint8Array): void {
    if (this.#hasPassed) return
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    let missing = this.#missing ?? (this.#wire === 'chat' ? this.#choices - this.#finished.size : 1)
    let end = 0
    for (const { 0: found, index } of text.matchAll(ENDINGS[this.#wire])) {
      if (missing === 0) break
      missing = found.startsWith('"finish_reason"') ? missing - 1 : 0
      end = index + found.length
    }
    this.#missing = missing
    const rest = text.slice(end)
    this.#hasPassed = missing === 0 && /\r\r|\n\r?\n/.test(rest)
    this.#rest = rest.slice(-LONGEST_ENDING)
  }

  #isTerminal(data: string): boolean {
    if (this.#wire !== 'chat') return TYPES[this.#wire].test(text(parse(data)?.type))
    if (data.trim() === '[DONE]') return true
    const json = parse(data)
    if (json?.error) return true
    for (const choice of list(json?.choices).map(object)) {
      if (text(choice.finish_reason)) this.#finished.add(choice.index ?? 0)
    }
    return this.#finished.size >= this.#choices
  }
}
