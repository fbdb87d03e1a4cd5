/**
 * The wasm core: where its module comes from, its live instance, and what happens when it
 * traps. A trap poisons an instance for ever, so the instance is thrown away whole: every turn
 * on it settles with `core.fault`, and the next call runs on a fresh one.
 *
 * @module
 */
import { TurnlockError } from './errors.js'
import { createInstance, type Glue } from './glue.js'

/** Where a host may get the core from. */
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

/** Tells where the core is embedded; done by the entry points. */
export function provide(embedded: () => WebAssembly.Module): void {
  source ??= embedded
}

/**
 * Loads the core from where the host wants it. Not needed with the default entry, which
 * embeds it; needed once with `turnlock/slim`.
 *
 * @param from a compiled module, bytes, a `Response`, or an address to fetch; without it, the
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

/** The live instance, made when there is none. */
export function core(): Core {
  if (!live) {
    module ??= embedded()
    live = { glue: createInstance(module), onFault: new Set() }
  }
  return live
}

/** Calls into `on`; a trap ends that instance. */
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

/** The text of an answer of the core; throws what it says is an error. */
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

/** Bytes of a text. Bytes cross the boundary faster than strings. */
export const encode = (text: string): Uint8Array => encoder.encode(text)
