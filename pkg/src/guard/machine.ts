/** The call guard of the core, as its callers in TypeScript use it. */
import type { Glue, GuardGlue } from '../core/glue.js'
import { answer, encode, type Core } from '../core/instance.js'
import { guard as part } from '../core/parts/guard.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import type {
  GuardCall,
  GuardOptions,
  GuardState,
  GuardVerdict,
  PastCall,
} from '../generated/guard.js'
import { onceFreed } from '../shared/finalize.js'
import { signCall, type SignedCall } from '../shared/signing.js'
import { requireWellFormed, stringify } from '../shared/text.js'

/** As `signature`, by the part of the core that judges. */
export const callSignature = (call: SignedCall): string => signCall(part, call)

/** A limit that the guard takes: a larger one is none in practice. */
export const guardLimit = (count: number): number => Math.min(count, 1_000_000)

/** Calls, and characters of their results, that are recorded at once. */
const PIECE = 1000
const PIECE_LENGTH = 1 << 19

/** The notice of calls that do not run for `reason`. `hasResults`: it may point to results. */
export function callNotice(reason: string, names: readonly string[], hasResults: boolean): string {
  const request = bytesOf({ reason, names, results: hasResults })
  return answer(part.call((glue) => glue.guard_notice(request)))
}

/** A machine that judges calls by {@link GuardOptions}. `free` gives its memory back. */
export class GuardMachine {
  readonly #on: Core<GuardGlue & Glue>
  readonly #handle: number
  #live = true
  readonly #free: () => void

  /** @throws TurnlockError `options.invalid` */
  constructor(options: GuardOptions) {
    const bytes = bytesOf(options)
    const on = part.core()
    const handle = Number(answer(part.callOn(on, (glue) => glue.guard_new(bytes))))
    this.#on = on
    this.#handle = handle
    this.#free = onceFreed(this, part, on, (glue) => glue.guard_free(handle))
  }

  /** Records calls of a history. */
  record(past: readonly PastCall[]): void {
    // In pieces: a text for the core has a limit.
    let piece: PastCall[] = []
    let length = 0
    for (const call of past) {
      const { length: characters } = call.result ?? ''
      if (piece.length === PIECE || (piece.length > 0 && length + characters > PIECE_LENGTH)) {
        this.#record(piece)
        piece = []
        length = 0
      }
      piece.push(call)
      length += characters
    }
    if (piece.length > 0) this.#record(piece)
  }

  #record(piece: readonly PastCall[]): void {
    const bytes = bytesOf(piece)
    this.#use((glue, handle) => glue.guard_record(handle, bytes))
  }

  /**
   * The JSON of a call's arguments, fitted to the `inputSchema` of its tool; `undefined` if they fit
   * as they are, or cannot be read.
   */
  fit(tool: string, args: string): string | undefined {
    try {
      requireWellFormed(args)
      const bytes = encode(args)
      return this.#use((glue, handle) => glue.guard_fit(handle, tool, bytes)) || undefined
    } catch (error) {
      if (isTurnlockError(error) && error.code.startsWith('json.')) return undefined
      throw error
    }
  }

  /** Judges a call. One that runs counts from now on. */
  judge(call: GuardCall): GuardVerdict {
    const bytes = bytesOf(call)
    return JSON.parse(this.#use((glue, handle) => glue.guard_judge(handle, bytes))) as GuardVerdict
  }

  /** Records an outcome; the number of the call that it settles, if one was open. */
  settle(call: GuardCall, outcome: string): number | undefined {
    const [given, text] = [bytesOf(call), encode(wellFormed(outcome))]
    const settled = this.#use((glue, handle) => glue.guard_settle(handle, given, text))
    return settled === '' ? undefined : Number(settled)
  }

  /** Begins the next turn, or closes the tool phase of this one. */
  begin(next: 'turn' | 'user_turn' | 'close'): void {
    const bytes = encode(next)
    this.#use((glue, handle) => glue.guard_begin(handle, bytes))
  }

  /** Whether calls may still be executed. */
  get isOpen(): boolean {
    return this.#use((glue, handle) => glue.guard_is_open(handle)) !== ''
  }

  state(): GuardState {
    return JSON.parse(this.#use((glue, handle) => glue.guard_state(handle))) as GuardState
  }

  free(): void {
    this.#live = false
    this.#free()
  }

  #use(work: (glue: GuardGlue, handle: number) => string): string {
    if (!this.#live) throw new TurnlockError('core.stale_handle', 'the guard was freed')
    return answer(part.callOn(this.#on, (glue) => work(glue, this.#handle)))
  }
}

const bytesOf = (value: unknown): Uint8Array => encode(wellFormed(stringify(value)))

/** JSON text without escapes of lone surrogates, which the core refuses. */
const wellFormed = (json: string): string =>
  json.replace(/\\(?:\\|ud[89a-f][\da-f]{2})/g, (escape) =>
    escape === '\\\\' ? escape : '\\ufffd',
  )
