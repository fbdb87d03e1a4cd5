/** Passes, bundles and chains that a handler serves. The host starts them. */
import type { RunningBundle } from '../evidence/bundle.js'
import type { Chain } from '../chain/chain.js'
import { TurnlockError, wrong } from '../errors.js'
import { closed } from '../shared/events.js'
import type { Method } from '../options.js'
import type { RunningPass } from '../planning/running.js'
import type { PassTraceEvent } from '../planning/types.js'
import { formatEvent, type Numbered } from '../shared/sse.js'
import { failureOf, isOurs, wordsOf } from './failures.js'
import type { Environment } from './two-stage.js'

/** What a function of the host is told of the request that it serves. */
export interface RunContext<S> {
  tenant: string
  session: S
  /** Of the body, if it has one: a text of at most 256 characters. */
  conversationId?: string
  /** Is aborted when the client leaves. The handler then cancels the run, too. */
  signal: AbortSignal
  request: Request
  env: Environment | undefined
}

/** What such a function returns: the run, a function that starts it, or a response to be sent. */
export type Started<Run> = Run | (() => Run) | Response

/**
 * Starts a run from the JSON object of a request's body, which is untrusted. An `async` function
 * returns a function that starts a pass, because a pass is a promise.
 */
export type Start<Run, S> = Method<
  [body: Record<string, unknown>, context: RunContext<S>],
  Started<Run> | Promise<Started<Run>>
>

/** Passes by name. */
export type Passes<S> = Readonly<Record<string, Start<RunningPass, S>>>
/** Bundles by name. */
export type Bundles<S> = Readonly<Record<string, Start<RunningBundle, S>>>
/** Chains by name. */
export type Chains<S> = Readonly<Record<string, Start<Chain, S>>>

/** An event of any run. */
export interface RunEvent extends Numbered {
  type: string
}

/** What the runs have in common. */
export interface Run extends AsyncIterable<RunEvent> {
  cancel(reason?: string): void
  toReadableStream(): ReadableStream<RunEvent>
  toResponse(): Response
}

/** Throws unless these are functions by names that a path can have. */
export function checkRuns(option: string, given: unknown): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) throw wrong(option, 'functions by name')
  for (const [name, start] of Object.entries(given)) {
    if (!/^\w[\w.-]{0,63}$/.test(name)) {
      throw wrong(`${option}.${name}`, 'a name of 1 to 64 of A-Z a-z 0-9 _ . -')
    }
    if (typeof start !== 'function') throw wrong(`${option}.${name}`, 'a function that starts it')
  }
}

/**
 * Starts a run, or gives the response that the host sends instead. In an object: a pass that an
 * `async` function returns is its plan.
 */
export async function begin<S>(
  start: Start<unknown, S>,
  body: Record<string, unknown>,
  context: RunContext<S>,
): Promise<{ made: Run | Response }> {
  let made: unknown = start(body, context)
  if (!isRun(made)) made = await made
  if (typeof made === 'function') made = (made as () => unknown)()
  if (isRun(made) || made instanceof Response) return { made }
  if (made instanceof Promise) made.catch(() => {})
  const what = 'expected a run; an async function returns `() => runPlanning(…)`'
  throw new TurnlockError(
    'options.invalid',
    `what \`passes\`, \`bundles\`, \`chains\` give: ${what}`,
  )
}

function isRun(value: unknown): value is Run {
  const run = value as Partial<Run> | null | undefined
  return typeof run?.toResponse === 'function' && typeof run.cancel === 'function'
}

/** Failures of a run that are the client's, or its model's answer. */
const NOT_OURS = /^(request|plan|json|message)\./

/**
 * Reads a run to its end, beside its client.
 *
 * @param keep receives the trace events of a pass, one after the other
 * @param report receives the failures that are the server's
 * @param over is called at the end of the run
 * @returns settles when the last trace event is kept. Never rejects
 */
export async function watch(
  run: Run,
  keep: ((event: PassTraceEvent) => unknown) | undefined,
  report: (error: unknown) => void,
  over: () => void,
): Promise<void> {
  let stored = Promise.resolve()
  for await (const event of closed(run)) {
    for (const failure of failuresOf(event)) report(failureOf(failure))
    // A run does not wait for what its events are kept in.
    if (keep && isTrace(event)) {
      const { seq, ...traced } = event
      stored = stored.then(async () => void (await keep(traced))).catch(report)
    }
  }
  over()
  return stored
}

const isTrace = (event: RunEvent): event is RunEvent & PassTraceEvent => 'plan_id' in event

interface Failure {
  code: string
  message: string
}

function failuresOf(event: RunEvent): Failure[] {
  const { type, code, message, error, fellBack, quality } = event as RunEvent & {
    [name: string]: unknown
  }
  if (type === 'error') return NOT_OURS.test(code as string) ? [] : [{ code, message } as Failure]
  const lines = (quality as { errors?: string[] } | undefined)?.errors ?? []
  const failures = lines.map((line) => {
    const [, name = '', words = ''] = LINE.exec(line) ?? []
    return { code: name, message: words }
  })
  return [error, fellBack, ...failures].filter(
    (one): one is Failure => isFailure(one) && isOurs(one),
  )
}

/** A failure as a line of a replicate's errors. */
const LINE = /^((?:model|store|core)\.\w+): ([^]*)/

const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && typeof (value as Failure).code === 'string'

/** An event as text, with words of ours for failures that are the server's; see `turnEventText`. */
export const runEventText = (event: RunEvent): string => formatEvent(event, replacer)

function replacer(name: string, value: unknown): unknown {
  // The event itself, and the failures in it.
  if (name === '' || name === 'error' || name === 'fellBack') {
    const hides = isFailure(value) && 'message' in value && isOurs(value)
    return hides ? { ...value, message: wordsOf(value.code) } : value
  }
  if (name !== 'errors' || !Array.isArray(value)) return value
  return value.map((line: unknown) =>
    typeof line === 'string'
      ? line.replace(LINE, (_, code: string) => `${code}: ${wordsOf(code)}`)
      : line,
  )
}
