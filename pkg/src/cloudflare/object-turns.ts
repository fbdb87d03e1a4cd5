/** The turns of an object: what they have in common, and what goes on when the object is woken. */
import { TurnlockError, wrong } from '../errors.js'
import { guardTools } from '../guard/guard-tools.js'
import type { GuardToolsOptions } from '../generated/tools.js'
import type {
  CancelTurnOptions,
  FollowTurnOptions,
  ListTurnsOptions,
  PauseTurnOptions,
  ResumeTurnOptions,
} from '../generated/turn.js'
import { randomId } from '../shared/random.js'
import { durableObjectStore } from '../stores/durable-object.js'
import { openTurns } from '../stores/open-turns.js'
import type { Store } from '../stores/store.js'
import type { OpenTurn } from '../turn/beside.js'
import { followTurn, type FollowedTurn } from '../turn/follow.js'
import { eventsIn, stateOf, turnKey } from '../turn/kept.js'
import { cancelTurn, listTurns, pauseTurn, resumeTurn } from '../turn/resume.js'
import { runTurn, type RunTurnOptions, type Turn } from '../turn/turn.js'
import { AgentAlarms, ObjectAlarms, type Alarms } from './alarms.js'
import { Readers } from './readers.js'
import { isAgent, type ObjectState } from './runtime.js'

/** The name of a turn of an object. */
export interface TurnRef {
  tenant: string
  requestId: string
}

/** What a turn needs wherever it goes on: the part of its options that no store can have. */
export type ObjectTurnOptions = Pick<
  ResumeTurnOptions,
  'model' | 'fallbacks' | 'tools' | 'answerSchema' | 'boxSecret' | 'redact' | 'onTrace'
>

/** The options of a new turn. The others are those of `turnOptions`, and the object's store. */
export type ObjectRunOptions = Omit<RunTurnOptions, keyof ObjectTurnOptions | 'store'>

/** The options of a turn that goes on. */
export type ObjectResumeOptions = Omit<ResumeTurnOptions, keyof ObjectTurnOptions | 'store'>

type WithoutStore<Options> = Omit<Options, 'store'>

/** What an object has for its turns. */
export interface TurnHost {
  turnOptions(turn: TurnRef): ObjectTurnOptions | Promise<ObjectTurnOptions>
  turnTenant(request: Request): string | null | Promise<string | null>
  onTurnError(error: unknown): void
}

/** Times of an object's turns, in milliseconds. */
export interface Times {
  alarmMs: number
  approvalMs: number | undefined
}

/**
 * Times that alarms resume a turn, one after the other. A turn that ends its object each time would be
 * resumed forever.
 *
 * Limit | resumes of a turn by alarms of its Durable Object | resumes | the turn is cancelled
 */
const RESUMES = 5

/**
 * Open turns that an alarm looks at.
 *
 * Limit | open turns of a Durable Object that an alarm looks at | turns | the oldest
 */
const LOOKED_AT = 1_000

const RESUMED =
  'CREATE TABLE IF NOT EXISTS turnlock_resumed (turn TEXT PRIMARY KEY, times INTEGER) WITHOUT ROWID'

/** The turns of a Durable Object, in its own storage. `this.turnlock` of a class with turns. */
export class ObjectTurns {
  /**
   * The object's store. Turns of others, such as `createHandler`, survive with it as those of `run`;
   * `turnOptions` has what they need.
   */
  readonly store: Store
  readonly #host: TurnHost
  readonly #state: ObjectState
  readonly #times: Times
  readonly #alarms: Alarms
  readonly #readers: Readers
  /** Turns that are being resumed here, until they have ended. */
  readonly #resuming = new Set<string>()
  #woken: Promise<void> | undefined

  /** @internal */
  constructor(host: TurnHost, state: ObjectState, times: Times) {
    this.#host = host
    this.#state = state
    this.#times = times
    this.store = this.#attended(durableObjectStore(state))
    this.#alarms = isAgent(host) ? new AgentAlarms(host, 'turnlockAlarm') : new ObjectAlarms(state)
    this.#readers = new Readers(host, state, this)
  }

  /**
   * Starts a turn, as `runTurn`. If the object is evicted while it runs, an alarm resumes it.
   *
   * @throws TurnlockError as `runTurn`; what `turnOptions` throws
   */
  async run(options: ObjectRunOptions): Promise<Turn> {
    const { requestId = randomId(), tenant = '' } = options
    turnKey(tenant, requestId)
    const common = await this.#host.turnOptions({ tenant, requestId })
    return runTurn({ ...options, ...common, requestId, store: this.store })
  }

  /**
   * Goes on with a turn, as `resumeTurn`.
   *
   * @throws TurnlockError as `resumeTurn`; what `turnOptions` throws
   */
  async resume(options: ObjectResumeOptions): Promise<Turn> {
    const { requestId, tenant = '' } = options
    const key = turnKey(tenant, requestId)
    const common = await this.#host.turnOptions({ tenant, requestId })
    const turn = resumeTurn({ ...options, ...common, store: this.store })
    // Until the first commit it seems abandoned.
    this.#resuming.add(key)
    void turn.result.then(() => this.#resuming.delete(key))
    return turn
  }

  /** As `followTurn`, of turns of this object. */
  follow(options: WithoutStore<FollowTurnOptions>): FollowedTurn {
    return followTurn({ ...options, store: this.store })
  }

  /** As `cancelTurn`, of turns of this object. */
  cancel(options: WithoutStore<CancelTurnOptions>): ReturnType<typeof cancelTurn> {
    return cancelTurn({ ...options, store: this.store })
  }

  /** As `pauseTurn`, of turns of this object. */
  pause(options: WithoutStore<PauseTurnOptions>): ReturnType<typeof pauseTurn> {
    return pauseTurn({ ...options, store: this.store })
  }

  /** As `listTurns`, of turns of this object. */
  list(options: WithoutStore<ListTurnsOptions> = {}): Promise<OpenTurn[]> {
    return listTurns({ ...options, store: this.store })
  }

  /** As `guardTools` of `turnlock/guard`, with the object's store: give the `conversationId`. */
  guardTools<const Tools extends object>(tools: Tools, options: GuardToolsOptions): Tools {
    return guardTools(tools, { store: this.store, ...options })
  }

  /**
   * Accepts a WebSocket of a reader, for `fetch` of a Durable Object. `?requestId=` and `?after=` of its
   * URL name the turn that it reads. An agent accepts its connections itself.
   *
   * @returns 101; 401 if `turnTenant` gives null; 426 for a request of another kind
   */
  connect(request: Request): Promise<Response> {
    return this.#readers.connect(request)
  }

  /** Sockets and their messages. @internal */
  get readers(): Readers {
    return this.#readers
  }

  /** Resumes what an earlier instance of the object has left, once. @internal */
  recover(): Promise<void> {
    return (this.#woken ??= this.wake())
  }

  /** An alarm has come. @internal */
  async alarm(): Promise<{ host: boolean }> {
    const alarms = this.#alarms
    const due = alarms instanceof ObjectAlarms ? await alarms.take() : { host: false, own: true }
    if (alarms instanceof AgentAlarms) alarms.taken()
    if (due.own) await this.wake()
    return due
  }

  /**
   * Resumes turns whose owners are gone, cancels those that wait for approvals for too long, and sets
   * the next alarm. Never rejects. @internal
   */
  async wake(): Promise<void> {
    let next = Infinity
    for (const { turn, at } of openTurns(this.#state, LOOKED_AT)) {
      try {
        next = Math.min(next, await this.#attend(turn, at))
      } catch (error) {
        this.#host.onTurnError(error)
      }
    }
    try {
      if (next < Infinity) await this.#alarms.wakeAt(next)
    } catch (error) {
      this.#host.onTurnError(error)
    }
  }

  /** The store, which sets the alarm as a turn begins or goes on, and lets sockets read it. */
  #attended(store: Store): Store {
    const commit: Store['commit'] = async (turn, commit) => {
      const isNew = commit.open && (commit.revision === 1 || commit.takeOver)
      // Not awaited, so that the runtime writes both as one.
      if (isNew) this.#alarms.wakeAt(Date.now() + this.#times.alarmMs).catch(this.#report)
      const answer = await store.commit(turn, commit)
      if (answer.ok) this.#readers.begin(turn)
      return answer
    }
    return { ...store, commit }
  }

  readonly #report = (error: unknown): void => this.#host.onTurnError(error)

  /** Does what is due with an open turn. Returns when to look at it again. */
  async #attend(key: string, at: number): Promise<number> {
    const { alarmMs, approvalMs } = this.#times
    const [tenant, requestId] = JSON.parse(key) as [string, string]
    const stored = await this.store.read(key)
    if (!stored?.open) return Infinity
    const { status, seq } = stateOf(stored)
    if (status === 'running') {
      const isGone = stored.idleMs === Infinity && !this.#resuming.has(key)
      if (isGone) await this.#resumeAgain(key, { tenant, requestId })
      return Date.now() + alarmMs
    }
    if (status !== 'paused' || approvalMs === undefined) return Infinity
    const [group] = await this.store.events(key, seq - 1, 1)
    const last = group && eventsIn(group.text).at(-1)
    if (last?.type !== 'paused' || !last.approvals?.length) return Infinity
    if (Date.now() < at + approvalMs) return at + approvalMs
    const reason = `no approval within ${approvalMs} ms`
    await this.cancel({ tenant, requestId, reason })
    return Infinity
  }

  /** Resumes a turn that an earlier instance of the object ran. */
  async #resumeAgain(key: string, ref: TurnRef): Promise<void> {
    const { sql } = this.#state.storage
    sql.exec(RESUMED)
    const query = 'SELECT times FROM turnlock_resumed WHERE turn = ?'
    const [before] = [...sql.exec(query, key)] as { times: number }[]
    const forget = () => void sql.exec('DELETE FROM turnlock_resumed WHERE turn = ?', key)
    if ((before?.times ?? 0) >= RESUMES) {
      await this.cancel({ ...ref, reason: `interrupted ${RESUMES} times` })
      return forget()
    }
    sql.exec('INSERT OR REPLACE INTO turnlock_resumed VALUES (?, ?)', key, (before?.times ?? 0) + 1)
    const turn = await this.resume(ref)
    void turn.result.then(({ error }) => {
      // Of a conflict, its other owner tells the end.
      if (error?.code !== 'turn.conflict') forget()
      if (error) this.#host.onTurnError(new TurnlockError(error.code, error.message))
    })
  }
}

/** @throws TurnlockError `options.invalid` */
export function checkTimes({
  alarmMs = 15_000,
  approvalMs,
}: {
  [Name in keyof Times]?: Times[Name] | undefined
}): Times {
  for (const [name, value] of Object.entries({ alarmMs, approvalMs })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) {
      throw wrong(name, 'milliseconds, a whole number from 1')
    }
  }
  return { alarmMs, approvalMs }
}
