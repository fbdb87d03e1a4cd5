/** A mixin for classes of Durable Objects, and for `Agent` of the package `agents`. */
import { TurnlockError, wrong } from '../errors.js'
import { checkTimes, ObjectTurns, type ObjectTurnOptions, type TurnRef } from './object-turns.js'
import { isAgent, type AgentConnection, type ObjectSocket, type ObjectState } from './runtime.js'

/** A class of Durable Objects: `DurableObject`, a class with `(state, env)`, or `Agent`. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type DurableObjectClass = abstract new (...args: any[]) => object

/** The options of `withTurnlock`, in milliseconds. */
export interface WithTurnlockOptions {
  /**
   * How often an alarm looks after turns that run. After an eviction, a turn goes on at most that much
   * later. Each alarm is one row written. @defaultValue 15000
   */
  alarmMs?: number | undefined
  /** How long a turn waits for approvals; then it is cancelled. @defaultValue as long as it is stored */
  approvalMs?: number | undefined
}

/** What the mixin adds to a class. */
export interface TurnlockObject {
  /** The turns of this object. */
  readonly turnlock: ObjectTurns
  /**
   * To be overridden: the model, the tools and other options of a turn that no store can have. Called
   * for each new turn and for each that is resumed, also after an eviction.
   */
  turnOptions(turn: TurnRef): ObjectTurnOptions | Promise<ObjectTurnOptions>
  /**
   * To be overridden if sockets read turns: the tenant of a request for a WebSocket, or null for a
   * stranger. A page of another origin can open a socket with a user's cookies, so check `origin` too.
   */
  turnTenant(request: Request): string | null | Promise<string | null>
  /** Called with failures that no caller is told. Writes them to the console. */
  onTurnError(error: unknown): void
}

interface Handlers {
  alarm?(info?: unknown): unknown
  webSocketMessage?(socket: ObjectSocket, message: unknown): unknown
  onConnect?(connection: AgentConnection, context: { request: Request }): unknown
  onMessage?(connection: AgentConnection, message: unknown): unknown
}

/**
 * Gives a class of Durable Objects turns that survive evictions: in the object's SQLite storage, with
 * alarms that resume them, and WebSockets that may hibernate.
 *
 * The class needs SQLite storage (`new_sqlite_classes`). `Base` keeps its own alarm: `setAlarm`,
 * `getAlarm` and `deleteAlarm` of its storage concern that one, and its `alarm` is called for it. A
 * class that extends the mixin calls `super.webSocketMessage`, or in an agent `super.onConnect` and
 * `super.onMessage`, if it has such methods. An `Agent` is woken by its own scheduler.
 *
 * @throws TurnlockError `options.invalid`; when an object is made, `store.unsupported` without SQLite
 * @example
 * export class Chat extends withTurnlock(DurableObject) {
 *   turnOptions() {
 *     return { model: openaiChat({ apiKey: this.env.OPENAI_API_KEY, model: 'gpt-5-mini' }), tools }
 *   }
 *   async ask(messages) {
 *     const turn = await this.turnlock.run({ messages })
 *     return turn.requestId
 *   }
 * }
 */
export function withTurnlock<Base extends DurableObjectClass>(
  Base: Base,
  options: WithTurnlockOptions = {},
): Base & (abstract new (...args: any[]) => TurnlockObject) {
  const isClass = typeof Base === 'function' && typeof (Base as Function).prototype === 'object'
  if (!isClass) throw wrong('Base', 'a class')
  const times = checkTimes(options)
  const Class = Base as unknown as new (...args: any[]) => Handlers
  class WithTurns extends Class {
    readonly turnlock: ObjectTurns

    constructor(...args: any[]) {
      super(...args)
      this.turnlock = new ObjectTurns(this, args[0] as ObjectState, times)
    }

    turnOptions(_turn: TurnRef): ObjectTurnOptions | Promise<ObjectTurnOptions> {
      const message = '`turnOptions`: override it to give the model and the tools of a turn'
      throw new TurnlockError('options.invalid', message)
    }

    turnTenant(_request: Request): string | null | Promise<string | null> {
      return null
    }

    onTurnError(error: unknown): void {
      console.error(error)
    }
  }

  /** An agent takes sockets and alarms itself, by handlers that no class may have in their place. */
  class AgentWithTurns extends WithTurns {
    async turnlockAlarm(): Promise<void> {
      await this.turnlock.alarm()
    }

    override async onConnect(
      connection: AgentConnection,
      context: { request: Request },
    ): Promise<void> {
      await this.turnlock.readers.connected(connection, context.request)
      await super.onConnect?.(connection, context)
    }

    override async onMessage(connection: AgentConnection, message: unknown): Promise<void> {
      if (this.turnlock.readers.take(connection, message)) return
      await super.onMessage?.(connection, message)
    }
  }

  class ObjectWithTurns extends WithTurns {
    constructor(...args: any[]) {
      super(...args)
      if (this.alarm === ObjectWithTurns.prototype.alarm) return
      const message = '`alarm`: an own alarm belongs into the class that is given to withTurnlock'
      throw new TurnlockError('options.invalid', message)
    }

    override async alarm(info?: unknown): Promise<void> {
      const { host } = await this.turnlock.alarm()
      if (host) await super.alarm?.(info)
    }

    override async webSocketMessage(socket: ObjectSocket, message: unknown): Promise<void> {
      if (this.turnlock.readers.take(socket, message)) return
      await super.webSocketMessage?.(socket, message)
    }
  }

  const made = isAgent(Class.prototype) ? AgentWithTurns : ObjectWithTurns
  return made as unknown as Base & (abstract new (...args: any[]) => TurnlockObject)
}
