/** The parts of workerd's interface, and of the class `Agent`, that are used. */
import type { DurableObjectStateLike } from '../stores/durable-object.js'

/** `DurableObjectState`. */
export interface ObjectState extends DurableObjectStateLike {
  storage: DurableObjectStateLike['storage'] & AlarmStorage
  acceptWebSocket(socket: ObjectSocket, tags: string[]): void
  getWebSockets(tag: string): ObjectSocket[]
  waitUntil(promise: Promise<unknown>): void
}

/** The alarm of an object. */
export interface AlarmStorage {
  getAlarm(options?: unknown): Promise<number | null>
  setAlarm(time: number | Date, options?: unknown): Promise<void>
  deleteAlarm(options?: unknown): Promise<void>
}

/** A WebSocket that outlives the object in memory. */
export interface ObjectSocket {
  send(text: string): void
  serializeAttachment(value: unknown): void
  deserializeAttachment(): unknown
}

/** A `Connection` of an agent. */
export interface AgentConnection {
  send(text: string): void
  readonly state: unknown
  setState(state: unknown): unknown
}

/** The members of `Agent` that are used. */
export interface AgentLike {
  schedule(when: Date, callback: string, payload: unknown): Promise<unknown>
  getConnections(): Iterable<AgentConnection>
}

export const isAgent = (host: object): host is AgentLike =>
  ['schedule', 'getConnections', 'setState'].every(
    (name) => typeof (host as Record<string, unknown>)[name] === 'function',
  )
