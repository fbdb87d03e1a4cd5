/**
 * The parts of the wasm core: the sources of their modules, their live instances, and their traps.
 *
 * Each capability has a part of its own, so that a page carries what it imports. A part that has
 * trapped cannot be used again: everything that runs on it settles with `core.fault`, and the next
 * call runs on a new instance. The other parts go on.
 *
 * `parts/` has one module a part. What needs a part at once imports it from there (`signature.ts`,
 * `stream.ts`, `history/`, `evidence/pure.ts`, `chain/pure.ts`, …); what can wait has a
 * {@link LazyPart} (`turn/turn.ts`, `planning/run.ts`, `evidence/driver.ts`, `chain/driver.ts`).
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import type { Glue } from './glue.js'
import { compileLater } from './module.js'

/** A source from which the core can be loaded. */
export type ModuleSource =
  WebAssembly.Module | ArrayBuffer | ArrayBufferView | Response | URL | string | Promise<Response>

/** One instance of a part. */
export interface Core<G = Glue> {
  /** Missing while a call is under way, and for good if it did not return. */
  glue: G
  /** Called once when this instance has trapped. */
  readonly onFault: Set<(error: TurnlockError) => void>
}

/** What a part is made of: a factory of instances, and the module as base64 of deflated bytes. */
export interface Embedded<G = Glue> {
  createInstance(module: WebAssembly.Module): G
  readonly bytes: string
}

/**
 * Bytes of memory from which on an idle instance is dropped.
 *
 * Limit | memory of an idle instance | bytes | it is dropped
 */
const LARGE = 64 * 1024 * 1024

/**
 * Bytes of memory from which on an instance gets nothing new: what is there may stay.
 *
 * Limit | memory of an instance that takes more turns | bytes | a new one
 */
const FULL = 32 * 1024 * 1024

/** A part of the core that is at hand, so that synchronous operations can use it. */
export class Part<G = Glue> {
  readonly #embedded: Embedded<G> | undefined
  readonly #compile: ((deflated: string) => WebAssembly.Module) | undefined
  #module: WebAssembly.Module | undefined
  #compiling: Promise<WebAssembly.Module> | undefined
  #live: Core<G> | undefined
  /** The whole core of which `#live` is an instance, if it is one. */
  #of: Whole | undefined

  /**
   * @param embedded missing where the core is given by `init` alone
   * @param compile compiles at once; missing if the part is only used after {@link Part.prepare}
   */
  constructor(embedded?: Embedded<G>, compile?: (deflated: string) => WebAssembly.Module) {
    this.#embedded = embedded
    this.#compile = compile
    parts.add(this as Part<unknown>)
  }

  /** Whether {@link Part.core} needs not compile. */
  get isReady(): boolean {
    return wholeCore !== undefined || this.#module !== undefined
  }

  /**
   * Returns the live instance. Creates it if there is none, or if that one is full: a trap for want
   * of memory then ends few of many turns, and the memory of those that have ended is given back.
   *
   * @throws TurnlockError `core.load`, `core.not_loaded`
   */
  core(): Core<G> {
    if (!this.#live?.glue || this.#of !== wholeCore || size(this.#live) > FULL) {
      this.#live = { glue: this.#instance(), onFault: new Set() }
      this.#of = wholeCore
    }
    return this.#live
  }

  #instance(): G {
    try {
      // The whole core has the functions of every part.
      if (wholeCore) return wholeCore.createInstance(wholeCore.module()) as G
      const { createInstance, bytes } = this.#here()
      const module = (this.#module ??= this.#compile?.(bytes))
      if (!module) throw new Error('the part is not prepared')
      return createInstance(module)
    } catch (error) {
      throw loadError(error)
    }
  }

  /** Compiles the part, off the main thread where the runtime can. Rejects with `core.load`. */
  async prepare(): Promise<void> {
    if (this.isReady) return
    this.#compiling ??= compileLater(this.#here().bytes)
    try {
      this.#module ??= await this.#compiling
    } catch (error) {
      throw loadError(error)
    } finally {
      this.#compiling = undefined
    }
  }

  #here(): Embedded<G> {
    if (this.#embedded) return this.#embedded
    throw new TurnlockError(
      'core.not_loaded',
      'turnlock/slim has no embedded core: call `await init(…)` with turnlock/turnlock.wasm first',
    )
  }

  /** Calls a function of the live instance. A trap discards that instance. */
  call<T>(work: (glue: G) => T): T {
    const on = this.core()
    const result = this.callOn(on, work)
    this.retire(on)
    return result
  }

  /**
   * An instance for one machine, apart from the others: what needs a lot of memory neither fills
   * theirs nor ends them if it traps, and its memory is gone with it.
   */
  apart(): Core<G> {
    return { glue: this.#instance(), onFault: new Set() }
  }

  /** Drops an instance that is large and has no objects: the memory of an instance never shrinks. */
  retire(on: Core<G>): void {
    if (size(on) < LARGE || this.#live !== on) return
    try {
      if (this.callOn(on, (glue) => (glue as Glue).live_handles()) > 0) return
    } catch {
      // A trap has dropped it, and told its objects; what the call before it returned stands.
      return
    }
    this.#live = undefined
  }

  /** As {@link Part.call}, on the instance that has what the caller made. */
  callOn<T>(on: Core<G>, work: (glue: G) => T): T {
    try {
      const { glue } = on
      // Taken away before the call: where the stack is exhausted, nothing behind it may run, and
      // what did not return is never called again.
      on.glue = undefined as G
      const result = work(glue)
      on.glue = glue
      return result
    } catch (error) {
      throw this.#fault(on, error)
    }
  }

  #fault(on: Core<G>, error: unknown): TurnlockError {
    const message = `the core trapped: ${error instanceof Error ? error.message : String(error)}`
    const failure = new TurnlockError('core.fault', message, undefined, error)
    if (this.#live === on) this.#live = undefined
    const listeners = [...on.onFault]
    on.onFault.clear()
    for (const listener of listeners) listener(failure)
    return failure
  }
}

/** A part of the core that is loaded when it is first needed. */
export class LazyPart<G = Glue> {
  readonly #load: () => Promise<Part<G>>
  #part: Part<G> | undefined

  /** @param load imports the part */
  constructor(load: () => Promise<Part<G>>) {
    this.#load = load
    lazyParts.add(this as LazyPart<unknown>)
  }

  /** The part, if it can be used at once. */
  get ready(): Part<G> | undefined {
    return this.#part?.isReady ? this.#part : undefined
  }

  /** Loads and compiles the part. Rejects with `core.unavailable` or `core.load`. */
  async load(): Promise<Part<G>> {
    try {
      this.#part ??= await this.#load()
    } catch (error) {
      const message = `a part of the core could not be loaded (${String(error)})`
      throw new TurnlockError('core.unavailable', message, undefined, error)
    }
    await this.#part.prepare()
    return this.#part
  }
}

const size = (on: Core<unknown>) => (on.glue as Glue).memory.buffer.byteLength

/** The parts that this page or worker carries. */
const parts = /* @__PURE__ */ new Set<Part<unknown>>()
const lazyParts = /* @__PURE__ */ new Set<LazyPart<unknown>>()

/** A core with all capabilities that the host has given. */
interface Whole {
  createInstance(module: WebAssembly.Module): unknown
  module(): WebAssembly.Module
}

let wholeCore: Whole | undefined

/** Uses one core with all capabilities instead of the parts. */
export function useWhole(given: Whole): void {
  wholeCore = given
}

/**
 * Loads every part of the core that this page or worker imports, so that nothing is fetched or
 * compiled later. Not needed: each part is loaded when it is first used. With `turnlock/slim`,
 * needed once with a source.
 *
 * @param from all capabilities in one module (`turnlock/turnlock.wasm`) instead of the parts: a
 * compiled module, bytes, a `Response`, or a URL to fetch
 * @throws TurnlockError `core.load`, `core.unavailable`; `core.not_loaded` with `turnlock/slim`
 */
export async function init(from?: ModuleSource): Promise<void> {
  if (from === undefined) {
    await Promise.all([...lazyParts].map((part) => part.load()))
    await Promise.all([...parts].map((part) => part.prepare()))
    return
  }
  const { createInstance } = await import('../wasm/whole.js')
  let module: WebAssembly.Module
  try {
    const loaded = await (typeof from === 'string' || from instanceof URL ? fetch(from) : from)
    if (loaded instanceof Response && !loaded.ok) throw new Error(`status ${loaded.status}`)
    module = await compiled(loaded)
    if (!WebAssembly.Module.exports(module).some(({ name }) => name === 'turn_new')) {
      throw new Error('this is not turnlock.wasm')
    }
  } catch (error) {
    throw loadError(error)
  }
  useWhole({ createInstance, module: () => module })
}

async function compiled(given: unknown): Promise<WebAssembly.Module> {
  // Not `instanceof`: it may come from another realm.
  const kind: string = Object.prototype.toString.call(given)
  if (kind === '[object WebAssembly.Module]') return given as WebAssembly.Module
  const bytes = given instanceof Response ? await given.arrayBuffer() : (given as BufferSource)
  return WebAssembly.compile(bytes)
}

function loadError(error: unknown): TurnlockError {
  if (error instanceof TurnlockError) return error
  const hint =
    "the core could not be loaded; a content security policy needs 'wasm-unsafe-eval' in script-src"
  return new TurnlockError('core.load', `${hint} (${String(error)})`, undefined, error)
}

/** Returns the text of an answer of the core, or throws the error that it contains. */
export function answer(text: string): string {
  if (!text.startsWith('!')) return text
  const { code, message, details } = JSON.parse(text.slice(1)) as {
    code: string
    message: string
    details?: Record<string, unknown>
  }
  throw new TurnlockError(code, message, details)
}

/** The bytes of a host. A text would be read as zeros; bytes of another realm are bytes, too. */
export function bytesOf(given: Uint8Array): Uint8Array {
  if (given?.BYTES_PER_ELEMENT === 1) return given
  throw new TurnlockError('options.invalid', '`bytes`: expected a Uint8Array')
}

// Not at import: jsdom has none.
let encoder: TextEncoder | undefined

/** Encodes text as bytes. Bytes cross the wasm boundary faster than strings. */
export const encode = (text: string): Uint8Array => (encoder ??= new TextEncoder()).encode(text)
