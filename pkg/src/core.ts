/**
 * The wasm core: the source of its module, its live instance, and its traps. An instance cannot
 * be used after a trap, so it is discarded: every turn on it settles with `core.fault`, and the
 * next call runs on a new one.
 *
 * @module
 */
import { TurnlockError } from './errors.js'
import { createInstance, type Glue } from './glue.js'

/** A source from which the core can be loaded. */
export type ModuleSource =
  WebAssembly.Module | BufferSource | Response | URL | string | Promise<Response>

/** One instance of the core. */
export interface Core {
  readonly glue: Glue
  /** Called once when this instance has trapped. */
  readonly onFault: Set<(error: TurnlockError) => void>
}

let source: (() => WebAssembly.Module) | undefined
let module: WebAssembly.Module | undefined
let live: Core | undefined

/** Registers the embedded core; called by the entry points. */
export function provide(embedded: () => WebAssembly.Module): void {
  source ??= embedded
}

/**
 * Loads the core from a source that the host chooses. Not needed with the default entry, which
 * embeds the core; needed once with `turnlock/slim`.
 *
 * @param from a compiled module, bytes, a `Response`, or a URL to fetch; without it, the
 * embedded core is compiled now instead of at the first use.
 */
export async function init(from?: ModuleSource): Promise<void> {
  if (from === undefined) {
    module ??= embedded()
    return
  }
  const given = typeof from === 'string' || from instanceof URL ? fetch(from) : from
  const got: unknown = await given
  module =
    got instanceof WebAssembly.Module
      ? got
      : await guard(async () =>
          WebAssembly.compile(
            got instanceof Response ? await got.arrayBuffer() : (got as BufferSource),
          ),
        )
  live = undefined
}

async function guard(compile: () => Promise<WebAssembly.Module>): Promise<WebAssembly.Module> {
  try {
    return await compile()
  } catch (error) {
    throw loadError(error)
  }
}

function embedded(): WebAssembly.Module {
  if (!source) {
    throw new TurnlockError(
      'core.not_loaded',
      'turnlock/slim has no embedded core: call `await init(…)` with turnlock/turnlock.wasm first',
    )
  }
  try {
    return source()
  } catch (error) {
    throw loadError(error)
  }
}

function loadError(error: unknown): TurnlockError {
  const hint =
    "the core could not be compiled; a content security policy needs 'wasm-unsafe-eval' in script-src"
  return new TurnlockError('core.load', `${hint} (${String(error)})`, undefined, error)
}

/** Returns the live instance. Creates it if there is none. */
export function core(): Core {
  if (!live) {
    module ??= embedded()
    live = { glue: createInstance(module), onFault: new Set() }
  }
  return live
}

/** Calls into `on`. A trap discards that instance. */
export function call<T>(on: Core, work: (glue: Glue) => T): T {
  try {
    return work(on.glue)
  } catch (error) {
    throw fault(on, error)
  }
}

function fault(on: Core, error: unknown): TurnlockError {
  const message = `the core trapped: ${error instanceof Error ? error.message : String(error)}`
  const failure = new TurnlockError('core.fault', message, undefined, error)
  if (live === on) live = undefined
  const listeners = [...on.onFault]
  on.onFault.clear()
  for (const listener of listeners) listener(failure)
  return failure
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

const encoder = /* @__PURE__ */ new TextEncoder()

/** Encodes text as bytes. Bytes cross the wasm boundary faster than strings. */
export const encode = (text: string): Uint8Array => encoder.encode(text)
