/** Guards calls of tools: the call guard judges them, claims start them once, outcomes are recorded. */
import { checkFunctions } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import type { GuardedTool } from '../generated/guard.js'
import { GUARD_TOOLS_OPTIONS } from '../generated/rows.js'
import type { RefusalReason } from '../generated/turn.js'
import type { GuardedToolOptions, GuardPolicy, GuardToolsOptions } from '../generated/tools.js'
import { readOptions } from '../options.js'
import { abortReason } from '../shared/serialize.js'
import { guarded as guardedRedact, type Redact } from '../shared/redact.js'
import { quietly } from '../shared/quietly.js'
import { randomId } from '../shared/random.js'
import { checkStore } from '../stores/store.js'
import { callSignature } from './machine.js'
import { createCallGuard, createRecordingGuard, sign, type RecordingGuard } from './call-guard.js'
import { claimCall, type Claim } from './claim.js'
import {
  failed,
  lost,
  reconciledOutcome,
  record,
  type GuardOutcome,
  type Settled,
} from './outcome.js'
import type { GuardTraceEvent } from './trace.js'

/** A call, and what a framework shows of it to its tools. */
export interface ToolCallSite {
  tool: string
  args: object
  /** The id of the call; undefined if the framework has none. */
  id: string | undefined
  /** The unique id of the framework's run, or an object that lives as long; undefined without one. */
  run: object | string | undefined
  /** A name of the user's message, which is the same in each retry; undefined if none is shown. */
  turn: string | undefined
  /** The calls of the user's turn that the history has; undefined if the history is not shown. */
  past?: readonly HistoryCall[] | undefined
  /** The names of the tools whose results the whole history has. */
  returned?: readonly string[] | undefined
  /** Whether the user has approved the call; undefined if nobody was asked. */
  approved?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** A call of a history, with its result if it has one. */
export interface HistoryCall {
  id: string | undefined
  name: string
  args: object
  result?: unknown
}

/** What a tool gets with its call. */
export interface GuardedContext {
  /** Aborted when the framework aborts the call, or at its time limit. */
  signal: AbortSignal
  /** The same whenever this call is started again. */
  idempotencyKey: string
}

/** What becomes of a call: it starts, or its outcome is known or will be. */
export type Begun =
  | { starts: true; call: RunningCall }
  | { starts: false; outcome: GuardOutcome | Promise<GuardOutcome> }

/** Calls of this process that run or have settled, by name. */
type LocalCalls = Map<string, Promise<Settled>>

/** Those of each store, and of guards without one. */
const storedCalls = new WeakMap<object, LocalCalls>()
const storeless = {}

/** How the names of calls begin in a store. */
const CALLS = 'turnlock:guard'

/**
 * Calls that are remembered here, beside those of runs.
 *
 * Limit | calls of guarded tools in memory, for each store | calls | the oldest is forgotten
 */
const MAX_LOCAL = 1_000

/** A run of a framework, and its calls: they are forgotten with its object. */
interface Run {
  name: string
  calls: LocalCalls
}

const runs = new WeakMap<object, Run>()

/**
 * Windows whose guards are kept.
 *
 * Limit | windows of a guarded set of tools in memory | windows | the oldest is forgotten
 */
const MAX_WINDOWS = 1_000

/** A call that ran in this process. */
interface LocalCall {
  outcome: Promise<Settled>
  isSettled: boolean
  /** How many calls with its id and signature have settled. */
  times: number
}

/** Within which calls are compared. */
interface Window {
  name: string
  /** Whether the name is the same in another process. */
  isStable: boolean
  guard: RecordingGuard<unknown>
  /** The calls that guards of the same window share. */
  local: LocalCalls
  /** The calls that were judged or recorded, by id and signature. */
  known: Set<string>
  /** The calls that a framework has paused, by id and signature. */
  paused: Set<string>
  /** The calls that ran here, by id and signature. */
  calls: Map<string, LocalCall>
  /** The last outcome of a signature, of this process or of the history. */
  outcomes: Map<string, Promise<Settled> | Settled>
}

export class ToolGuard {
  readonly options: GuardToolsOptions
  readonly #policy: Omit<GuardPolicy, 'window'>
  readonly #tools: Record<string, GuardedToolOptions>
  readonly #windows = new Map<string, Window>()
  readonly #runWindows = new WeakMap<Run, Window>()
  readonly #stored: LocalCalls
  /** Signatures by arguments and tool: a history is read at each of its calls. */
  readonly #signatures = new WeakMap<object, Map<string, string>>()
  /** Whether a tool with `untrusted` has returned in this conversation. */
  #isUntrusted = false
  readonly #redact: Redact
  readonly #window: 'turn' | 'user_turn' | 'session'
  /** Whether it guards the calls of one page, whose ids are unique. */
  readonly #isPage: boolean
  /** The name of the window of calls of which nothing is shown. */
  readonly #ownName = randomId()

  /**
   * @param isPage whether it guards the calls of one user, whose ids are unique
   * @throws TurnlockError `options.invalid`
   */
  constructor(given: GuardToolsOptions, isPage = false) {
    const options = readOptions(given, GUARD_TOOLS_OPTIONS)
    const { store, tenant, conversationId, turnId, policy = {}, redact, onTrace } = options
    if (store !== undefined) checkStore(store)
    for (const [name, value] of Object.entries({ tenant, conversationId, turnId })) {
      if (value !== undefined && typeof value !== 'string') throw wrong(name, 'a string')
    }
    if (conversationId === undefined && !isPage) {
      for (const [name, value] of Object.entries({ store, turnId })) {
        if (value === undefined) continue
        throw wrong('conversationId', `the id of the conversation, which \`${name}\` requires`)
      }
    }
    checkFunctions({ onTrace })
    if (redact !== undefined && typeof redact !== 'function') throw wrong('redact', 'a function')
    checkMs(options.timeoutMs, 'timeoutMs')
    checkMs(options.leaseMs, 'leaseMs', 100)
    checkMs(options.ttlMs, 'ttlMs')
    const { tools = {}, window = 'user_turn', ...rules } = policy
    this.options = options
    this.#isPage = isPage
    this.#stored = storedCalls.get(store ?? storeless) ?? new Map()
    storedCalls.set(store ?? storeless, this.#stored)
    this.#tools = tools
    this.#window = window
    this.#redact = redact ? guardedRedact(redact) : (text) => text
    const flags = Object.entries(tools).map(([name, tool]) => {
      const at = `policy.tools.${name}`
      if (typeof tool !== 'object' || tool === null) throw wrong(at, 'a tool')
      const { idempotent: _, timeoutMs, action, reconcile, ...known } = tool
      checkMs(timeoutMs, `${at}.timeoutMs`)
      checkFunctions({ [`${at}.action`]: action, [`${at}.reconcile`]: reconcile })
      return [name, known]
    })
    // Every tool exists, so flags stand in `perTool`, where those that the host lists there win.
    const perTool: Record<string, GuardedTool> = Object.fromEntries(flags)
    for (const [name, own] of Object.entries(rules.perTool ?? {})) {
      const limits = typeof own === 'number' ? { maxCalls: own } : own
      perTool[name] = { ...perTool[name], ...limits }
    }
    // The framework has parsed the arguments by a schema of its own.
    for (const own of Object.values(perTool)) delete own.inputSchema
    this.#policy = { ...rules, perTool }
    // Refuses what is wrong with the policy here, not at the first call.
    createCallGuard({ ...this.#policy, window })
  }

  /** What is known of a tool. */
  toolOptions(name: string): GuardedToolOptions {
    return { ...this.#tools[name], ...this.#perTool(name) }
  }

  /** Whether calls of a tool may need an approval: always, or after an untrusted result. */
  mayAsk(name: string): { always: boolean; ever: boolean } {
    const { needsApproval, readOnly } = this.toolOptions(name)
    const always = needsApproval === true
    return { always, ever: always || (this.#policy.afterUntrusted === 'ask' && !readOnly) }
  }

  /** Whether the user must approve a call before it runs. It is not judged, and counts nowhere. */
  asks(site: ToolCallSite): boolean {
    const window = this.#windowOf(site)
    if (window.calls.has(this.#keyOf(site))) return false
    this.#recordHistory(window, site)
    const state = window.guard.state()
    const copy = createCallGuard({ ...this.#policy, window: 'session', state })
    return copy.judge(this.#guardedCall(site)).action === 'ask'
  }

  /**
   * Begins a call. If no store is asked, the answer is there at once, so that a tool that streams may
   * stream.
   */
  begin(site: ToolCallSite): Begun | Promise<Begun> {
    const started = Date.now()
    const window = this.#windowOf(site)
    const key = this.#keyOf(site)
    const same = window.calls.get(key)
    if (same && this.#isSameCall(site, same, key)) return this.#repeat(site, same.outcome, started)
    this.#recordHistory(window, site)
    window.known.add(key)
    const signature = this.#signatureOf(site)
    if (window.paused.delete(key)) return this.#run(site, window, signature, started)
    const verdict = window.guard.judge({ ...this.#guardedCall(site), approved: site.approved })
    if (verdict.action === 'ask') return this.#notApproved(site, window)
    const known = window.outcomes.get(signature)
    if (verdict.action === 'block') {
      if (verdict.reason === 'duplicate' && known && !this.#isShown(site, signature)) {
        return this.#repeat(site, known, started)
      }
      return this.#refusal(site, verdict.reason, verdict.notice)
    }
    if (verdict.action === 'replay') return this.#repeat(site, known ?? unrecorded, started)
    return this.#run(site, window, signature, started)
  }

  #run(site: ToolCallSite, window: Window, signature: string, started: number) {
    this.#trace(site, { type: 'tool_call' })
    const { readOnly, dedupe } = this.toolOptions(site.tool)
    if (readOnly) return this.#start(site, window, undefined, started)
    // A tool whose repeats are allowed is started once for each id of a call.
    const key = this.#keyOf(site)
    const times = site.past ? this.#shownTimes(site.past, key) : window.calls.get(key)?.times
    const place = [window.name, ...(dedupe === 'allow' ? [key, String(times ?? 0)] : [signature])]
    const name = this.#nameOf(place)
    const local = window.local.get(name)
    if (local) return this.#adopt(site, window, local, started)
    if (!this.options.store) return this.#start(site, window, { name }, started)
    const claimName = window.isStable ? name : this.#nameOf([key])
    return this.#claim(site, window, name, claimName, started)
  }

  /** The outcome of a call whose tool is `run`. */
  async perform(
    site: ToolCallSite,
    run: (context: GuardedContext) => unknown,
  ): Promise<GuardOutcome> {
    const begun = await this.begin(site)
    if (!begun.starts) return begun.outcome
    return begun.call.finish(() => run(begun.call.context))
  }

  async #claim(
    site: ToolCallSite,
    window: Window,
    name: string,
    claimName: string,
    started: number,
  ): Promise<Begun> {
    const { store, leaseMs = 15_000, ttlMs = 86_400_000 } = this.options
    const { idempotent = false, reconcile } = this.toolOptions(site.tool)
    const deferred = new Deferred<Settled>()
    this.#keepLocal(window, name, deferred.promise)
    this.#register(site, window, this.#keyOf(site), deferred.promise)
    try {
      const claim = await claimCall(claimName, {
        store: store!,
        leaseMs,
        ttlMs,
        repeatable: idempotent,
        signal: site.signal,
        reconcile: reconcile && (() => this.#reconcile(site, claimName)),
      })
      if (!('status' in claim)) {
        return this.#start(site, window, { name, claimName, claim, deferred }, started)
      }
      deferred.resolve(this.#withNotice(site, claim))
    } catch (error) {
      // Without a claim, the call does not run.
      deferred.resolve(failed(error, 'error'))
    }
    return this.#adopt(site, window, deferred.promise, started)
  }

  async #reconcile(site: ToolCallSite, name: string): Promise<Settled | undefined> {
    const { reconcile } = this.toolOptions(site.tool)
    const { signal, stop } = this.#limited(site)
    try {
      const { id = '', tool, args } = site
      const pending = { id, name: tool, args, signature: this.#signatureOf(site) }
      const asked = Promise.resolve(
        reconcile?.(pending, { idempotencyKey: idempotencyKey(name), signal }),
      )
      return reconciledOutcome(await Promise.race([asked, aborted(signal)]))
    } catch {
      return undefined
    } finally {
      stop()
    }
  }

  #start(site: ToolCallSite, window: Window, claimed: Claimed | undefined, started: number): Begun {
    const { signal, stop } = this.#limited(site)
    const { name, claim, deferred = new Deferred<Settled>() } = claimed ?? {}
    const key = this.#keyOf(site)
    const signature = this.#signatureOf(site)
    if (name !== undefined) this.#keepLocal(window, name, deferred.promise)
    this.#register(site, window, key, deferred.promise)
    const place = claimed?.claimName ?? name ?? this.#nameOf([window.name, key])
    const call = new RunningCall(
      { signal, idempotencyKey: idempotencyKey(place) },
      async (settled) => {
        stop()
        if (settled === 'paused') {
          // The framework starts the same call again when the run goes on.
          if (name !== undefined) window.local.delete(name)
          window.calls.delete(key)
          window.outcomes.delete(signature)
          window.paused.add(key)
          await claim?.release()
          deferred.resolve(waiting)
          return
        }
        await claim?.settle(settled)
        this.#settle(site, window, settled)
        deferred.resolve(settled)
        this.#traceResult(site, settled, started, false)
      },
    )
    return { starts: true, call }
  }

  /** The outcome of a call that runs or ran elsewhere, as the outcome of this one. */
  #adopt(site: ToolCallSite, window: Window, outcome: Promise<Settled>, started: number): Begun {
    this.#register(site, window, this.#keyOf(site), outcome)
    const settled = outcome.then((settled) => {
      this.#settle(site, window, settled)
      return settled
    })
    return this.#repeat(site, settled, started)
  }

  #settle(site: ToolCallSite, window: Window, settled: Settled): void {
    window.guard.settle(this.#guardedCall(site), comparable(settled))
    // Without a conversation, the next window may be another user's.
    const { conversationId } = this.options
    this.#isUntrusted ||= conversationId !== undefined && this.#isMarked(site.tool)
  }

  #isMarked(tool: string): boolean {
    return this.toolOptions(tool).untrusted === true
  }

  #repeat(site: ToolCallSite, outcome: Settled | Promise<Settled>, started: number): Begun {
    this.#trace(site, { type: 'duplicate_tool_call' })
    const repeated = Promise.resolve(outcome).then((settled) => {
      this.#traceResult(site, settled, started, true)
      return asReplay(settled)
    })
    return { starts: false, outcome: repeated }
  }

  #keepLocal({ local }: Window, name: string, outcome: Promise<Settled>): void {
    local.set(name, outcome)
    const [oldest] = local.keys()
    if (local.size > MAX_LOCAL && oldest !== undefined) local.delete(oldest)
  }

  /**
   * Whether a call with the id and the arguments of an earlier one is that call, delivered again. Some
   * providers give the same id to each call of a tool.
   */
  #isSameCall({ past }: ToolCallSite, same: LocalCall, key: string): boolean {
    if (!same.isSettled || this.#isPage) return true
    return past !== undefined && this.#shownTimes(past, key) < same.times
  }

  /** How often the history has a call with its result. */
  #shownTimes(past: readonly HistoryCall[], key: string): number {
    const shown = past.filter((call) => 'result' in call)
    return shown.filter((call) => this.#keyOf({ ...siteOf(call), id: call.id }) === key).length
  }

  /** Records the outcome that equal calls of the window wait for. */
  #register(site: ToolCallSite, window: Window, key: string, outcome: Promise<Settled>): void {
    window.outcomes.set(this.#signatureOf(site), outcome)
    const earlier = window.calls.get(key)
    if (earlier?.outcome === outcome) return
    const times = (earlier?.times ?? 0) + 1
    const call: LocalCall = { outcome, isSettled: false, times }
    window.calls.set(key, call)
    void outcome.then(() => (call.isSettled = true))
  }

  /** Whether the model reads the result of the same call in its history, as far as it is known. */
  #isShown({ past }: ToolCallSite, signature: string): boolean {
    if (!past) return true
    return past.some((call) => 'result' in call && this.#signatureOf(siteOf(call)) === signature)
  }

  /** Records the calls of the history that are not known yet. */
  #recordHistory(window: Window, { past = [] }: ToolCallSite): void {
    const calls = past.filter((call) => {
      const key = this.#keyOf({ ...siteOf(call), id: call.id })
      const isNew = 'result' in call && !window.known.has(key)
      if (isNew) window.known.add(key)
      return isNew
    })
    if (calls.length === 0) return
    for (const call of calls) {
      const settled: Settled = { status: 'ok', result: call.result, replayed: true }
      window.outcomes.set(this.#signatureOf(siteOf(call)), settled)
    }
    const recorded = calls.map((call) => {
      return { ...this.#guardedCall(siteOf(call)), result: call.result ?? null }
    })
    window.guard.record(recorded)
  }

  #windowOf({ run, turn, id, returned = [] }: ToolCallSite): Window {
    const { conversationId, turnId } = this.options
    const isNamed = conversationId !== undefined
    const byTurn = turnId ?? (isNamed ? turn : undefined)
    const mayBeRun = this.#window !== 'session' && (this.#window === 'turn' || byTurn === undefined)
    if (mayBeRun && typeof run === 'object') {
      const known = runOf(run)
      const window = this.#runWindows.get(known) ?? this.#newWindow(known.name, false, returned)
      this.#runWindows.set(known, window)
      window.local = known.calls
      return window
    }
    let name = mayBeRun && run !== undefined ? `run ${run as string}` : byTurn
    if (this.#window === 'session') name = isNamed ? 'session' : this.#ownName
    // Of a call alone, nothing is known but its id.
    else if (name === undefined) name = this.#isPage ? `call ${id}` : this.#ownName
    const found = this.#windows.get(name)
    if (found) return found
    const made = this.#newWindow(name, isNamed && name !== this.#ownName, returned)
    this.#windows.set(name, made)
    const [oldest] = this.#windows.keys()
    if (this.#windows.size > MAX_WINDOWS && oldest !== undefined) this.#windows.delete(oldest)
    return made
  }

  #newWindow(name: string, isStable: boolean, returned: readonly string[]): Window {
    const untrusted = this.#isUntrusted || returned.some((name) => this.#isMarked(name))
    return {
      name,
      isStable,
      guard: createRecordingGuard({ ...this.#policy, window: 'session', state: { untrusted } }),
      local: this.#stored,
      known: new Set(),
      paused: new Set(),
      calls: new Map(),
      outcomes: new Map(),
    }
  }

  #nameOf(place: readonly string[]): string {
    const { tenant = '', conversationId = '' } = this.options
    // Names of turns begin with their tenant, so `listTurns` lists no calls.
    return JSON.stringify([CALLS, tenant, conversationId, ...place])
  }

  #keyOf(site: Pick<ToolCallSite, 'tool' | 'args' | 'id'>): string {
    return `${site.id ?? randomId()} ${this.#signatureOf(site)}`
  }

  #guardedCall({ tool, args }: Pick<ToolCallSite, 'tool' | 'args'>) {
    const { action } = this.toolOptions(tool)
    return { name: tool, args: signable(args), action: action ? String(action(args)) : null }
  }

  /** The signature of a call; empty if its arguments have none. */
  #signatureOf(site: Pick<ToolCallSite, 'tool' | 'args'>): string {
    const known = this.#signatures.get(site.args)?.get(site.tool)
    if (known !== undefined) return known
    const { name, args, action } = this.#guardedCall(site)
    const signature = sign(name, args, action, this.#policy.projectId ?? null) ?? ''
    const byTool = this.#signatures.get(site.args) ?? new Map<string, string>()
    this.#signatures.set(site.args, byTool.set(site.tool, signature))
    return signature
  }

  #perTool(name: string): GuardedToolOptions {
    const own = this.#policy.perTool?.[name]
    return typeof own === 'object' ? own : {}
  }

  #notApproved(site: ToolCallSite, window: Window): Begun {
    const { notice = '' } = window.guard.judge({ ...this.#guardedCall(site), approved: false })
    return this.#refusal(site, 'not_approved', notice)
  }

  #refusal(site: ToolCallSite, reason: RefusalReason, notice: string): Begun {
    if (reason === 'duplicate') this.#trace(site, { type: 'duplicate_tool_call' })
    this.#trace(site, { type: 'tool_refused', reason })
    return { starts: false, outcome: { status: 'blocked', reason, notice } }
  }

  /** With the notice of the core for a call whose outcome is not known. */
  #withNotice(site: ToolCallSite, outcome: Settled): Settled {
    if (outcome.status !== 'unknown' || outcome.notice !== lost.notice) return outcome
    const calls = [{ signature: this.#signatureOf(site), accepted: 1, running: 1 }]
    const guard = createCallGuard({ projectId: this.#policy.projectId, state: { calls } })
    return { ...outcome, notice: guard.judge(this.#guardedCall(site)).notice ?? outcome.notice }
  }

  #limited({ tool, signal }: ToolCallSite): { signal: AbortSignal; stop: () => void } {
    const ms = this.toolOptions(tool).timeoutMs ?? this.options.timeoutMs ?? 300_000
    const abort = new AbortController()
    const onAbort = () => abort.abort(signal?.reason)
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort)
    const late = new TurnlockError('tool.timeout', `the tool did not finish in ${ms} ms`)
    const timer = setTimeout(() => abort.abort(late), Math.min(ms, 2 ** 31 - 1))
    const stop = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    return { signal: abort.signal, stop }
  }

  #traceResult(site: ToolCallSite, settled: Settled, started: number, isReplay: boolean): void {
    const { status } = settled
    this.#trace(site, {
      type: 'tool_result',
      status,
      duration_ms: Date.now() - started,
      replayed: isReplay,
      ...('error' in settled && { error: this.#redact(settled.error) }),
    })
  }

  #trace(site: ToolCallSite, event: Described): void {
    const { onTrace, conversationId } = this.options
    if (!onTrace) return
    const traced = {
      at: Date.now(),
      ...(conversationId !== undefined && { conversationId: this.#redact(conversationId) }),
      tool_name: this.#redact(site.tool),
      tool_call_id: site.id ?? '',
      signature: this.#signatureOf(site),
      ...event,
    } as GuardTraceEvent
    quietly(() => onTrace(traced))
  }
}

type Described = GuardTraceEvent extends infer Event
  ? Event extends GuardTraceEvent
    ? Omit<Event, 'at' | 'conversationId' | 'tool_name' | 'tool_call_id' | 'signature'>
    : never
  : never

/** A call that was claimed. */
interface Claimed {
  /** Its name in this process, and in the store. */
  name: string
  claimName?: string
  claim?: Claim
  /** Its outcome, for those who wait for it. */
  deferred?: Deferred<Settled>
}

class Deferred<T> {
  readonly promise: Promise<T>
  resolve: (value: T) => void = () => {}

  constructor() {
    this.promise = new Promise<T>((resolve) => (this.resolve = resolve))
  }
}

/** A call that has started. It must be settled, by {@link RunningCall.finish} or {@link RunningCall.stream}. */
export class RunningCall {
  readonly context: GuardedContext
  readonly #settle: (outcome: Settled | 'paused') => Promise<void>

  constructor(context: GuardedContext, settle: (outcome: Settled | 'paused') => Promise<void>) {
    this.context = context
    this.#settle = settle
  }

  /**
   * Runs the tool and records its outcome. The error of a framework that pauses a run is thrown.
   *
   * @param isPaused whether the tool has paused the run: what it returned is then no outcome
   */
  async finish(run: () => unknown, isPaused = () => false): Promise<GuardOutcome> {
    const { signal } = this.context
    try {
      const value = await Promise.race([Promise.resolve(run()).then(drained), aborted(signal)])
      if (isPaused()) {
        await this.#settle('paused')
        return { status: 'ok', result: value, replayed: false }
      }
      return await this.#settled({ status: 'ok', result: value, replayed: false })
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** The values of a tool that streams. Its result is what it returns, otherwise its last value. */
  async *stream(values: AsyncIterable<unknown>): AsyncGenerator<unknown, unknown, undefined> {
    const { signal } = this.context
    const iterator = values[Symbol.asyncIterator]()
    let last: unknown
    let isOver = false
    const abort = aborted(signal)
    try {
      for (;;) {
        const { done, value } = await Promise.race([iterator.next(), abort])
        if (done) {
          isOver = true
          await this.#settled({ status: 'ok', result: value ?? last, replayed: false })
          return value
        }
        last = value
        yield value
      }
    } catch (error) {
      isOver = true
      await this.#failed(error)
      throw error
    } finally {
      if (!isOver) {
        quietly(() => iterator.return?.())
        await this.#failed(new TurnlockError('tool.cancelled', 'the call was cancelled'))
      }
    }
  }

  async #settled(outcome: Settled): Promise<Settled> {
    await this.#settle(outcome)
    return outcome
  }

  async #failed(error: unknown): Promise<GuardOutcome> {
    if (isPause(error)) {
      await this.#settle('paused')
      throw error
    }
    const { signal } = this.context
    const isLate = signal.aborted && (signal.reason as { code?: unknown })?.code === 'tool.timeout'
    const isCancelled = signal.aborted || (error as { code?: unknown })?.code === 'tool.cancelled'
    const outcome = failed(error, isLate ? 'timeout' : isCancelled ? 'cancelled' : 'error')
    thrown.set(outcome, error)
    return this.#settled(outcome)
  }
}

/** What a tool threw, so that its caller gets the same error. */
export const thrown = new WeakMap<object, unknown>()

/** LangGraph's interrupts: the run stops and starts the call again when it goes on. */
const isPause = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  (error as { is_bubble_up?: unknown }).is_bubble_up === true

/** The last value of an iterable; any other value as it is. */
async function drained(value: unknown): Promise<unknown> {
  if (!isAsyncIterable(value)) return value
  let last: unknown
  for await (const each of value) last = each
  return last
}

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'

/** Rejects when a signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  const reason = () =>
    signal.reason instanceof Error
      ? signal.reason
      : new TurnlockError('tool.cancelled', abortReason(signal))
  const rejected = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(reason())
    else signal.addEventListener('abort', () => reject(reason()), { once: true })
  })
  rejected.catch(() => {})
  return rejected
}

function runOf(object: object): Run {
  let run = runs.get(object)
  if (!run) runs.set(object, (run = { name: randomId(), calls: new Map() }))
  return run
}

/**
 * Arguments as JSON text: a schema may have made dates, sets or large numbers of them, which a call must
 * not be blocked for.
 */
function signable(args: object): unknown {
  try {
    const text = JSON.stringify(args, (_, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`
      return value instanceof Map || value instanceof Set ? [...value] : value
    })
    return text.replace(LONE_ESCAPE, (escape) => (escape === '\\\\' ? escape : '\\ufffd'))
  } catch {
    return args
  }
}

/** An escaped backslash, or the escape of a lone surrogate. */
const LONE_ESCAPE = /\\(?:\\|ud[89a-f][\da-f]{2})/g

/** What the results of equal calls are compared by. */
const comparable = (settled: Settled): unknown =>
  settled.status === 'ok' && typeof settled.result === 'string' ? settled.result : record(settled)

const siteOf = ({ name, args }: HistoryCall) => ({ tool: name, args })

const asReplay = (outcome: Settled): Settled =>
  'replayed' in outcome && !outcome.replayed ? { ...outcome, replayed: true } : outcome

const idempotencyKey = (name: string): string => callSignature({ tool: '', args: { name } })

/** The outcome that others get of a call that a framework has paused. */
const waiting: Settled = {
  status: 'unknown',
  notice: 'This call waits for an answer. It goes on when the run is resumed.',
}

/** The outcome of a repeat of which nothing is recorded here. */
const unrecorded: Settled = { status: 'ok', result: null, replayed: true }

function checkMs(value: unknown, path: string, least = 1): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return
  throw wrong(path, `a whole number from ${least}`)
}
