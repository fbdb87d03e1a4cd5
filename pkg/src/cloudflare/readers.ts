/**
 * WebSockets that read turns. A socket outlives the object in memory: what it reads, and the last event
 * that it was sent, are in its attachment, and the events come from the store.
 *
 * @module
 */
import { isObject } from '../checks.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import { hidden } from '../server/hidden.js'
import { isOurs, shownError, wordsOf } from '../server/failures.js'
import { turnKey } from '../turn/kept.js'
import type { Approval } from '../turn/resume.js'
import type { TurnEvent } from '../types.js'
import type { ObjectTurns, TurnHost } from './object-turns.js'
import { isAgent, type AgentConnection, type ObjectSocket, type ObjectState } from './runtime.js'

/** What is known of a socket. */
interface Reading {
  tenant: string
  /** The turn that it reads, and `seq` of the last event that it was sent. */
  requestId?: string
  after?: number
}

/** A socket of a Durable Object, or a connection of an agent. */
type Socket = ObjectSocket | AgentConnection

const TAG = 'turnlock'

/** Failures of a resume that the turn does not store. */
const REFUSED = /^(turn\.(not_found|conflict|cancelled)|tool\.(no_|missing)|store\.)/

/** Where the attachment, or the state of a connection, has it. */
const MEMBER = 'turnlock'

export class Readers {
  readonly #host: TurnHost
  readonly #state: ObjectState
  readonly #turns: ObjectTurns
  /** Sockets that are sent events now. */
  readonly #reading = new WeakMap<Socket, AbortController>()

  constructor(host: TurnHost, state: ObjectState, turns: ObjectTurns) {
    this.#host = host
    this.#state = state
    this.#turns = turns
  }

  async connect(request: Request): Promise<Response> {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response('expected a WebSocket', {
        status: 426,
        headers: { upgrade: 'websocket' },
      })
    }
    const tenant = await this.#host.turnTenant(request)
    if (tenant === null) return new Response(null, { status: 401 })
    const { WebSocketPair } = globalThis as unknown as {
      WebSocketPair: new () => Record<0 | 1, ObjectSocket>
    }
    const { 0: client, 1: socket } = new WebSocketPair()
    this.#state.acceptWebSocket(socket, [TAG])
    this.#begin(socket, tenant, request)
    return new Response(null, { status: 101, webSocket: client } as ResponseInit)
  }

  /** A connection that an agent has accepted. One without a tenant reads nothing. */
  async connected(connection: AgentConnection, request: Request): Promise<void> {
    const tenant = await this.#host.turnTenant(request)
    if (tenant !== null) this.#begin(connection, tenant, request)
  }

  #begin(socket: Socket, tenant: string, request: Request): void {
    const { searchParams } = new URL(request.url)
    const requestId = searchParams.get('requestId')
    write(socket, { tenant })
    if (requestId !== null) {
      const after = Number(searchParams.get('after') ?? 0)
      this.#answer(socket, { type: 'turnlock:follow', requestId, after })
    }
  }

  /** Takes a message if it is ours. */
  take(socket: Socket, message: unknown): boolean {
    if (typeof message !== 'string') return false
    let parsed: unknown
    try {
      parsed = JSON.parse(message)
    } catch {
      return false
    }
    if (!isObject(parsed) || typeof parsed['type'] !== 'string') return false
    if (!parsed['type'].startsWith('turnlock:')) return false
    this.#answer(socket, parsed)
    return true
  }

  /** Sends the events of a turn that was written to all who read it. */
  begin(turn: string): void {
    const sockets: Iterable<Socket> = isAgent(this.#host)
      ? this.#host.getConnections()
      : this.#state.getWebSockets(TAG)
    for (const socket of sockets) {
      const reading = read(socket)
      if (reading?.requestId === undefined || this.#reading.has(socket)) continue
      if (turnKey(reading.tenant, reading.requestId) === turn) this.#send(socket)
    }
  }

  /** Does what a message asks for. What fails is told to the socket. */
  #answer(socket: Socket, message: Record<string, unknown>): void {
    const work = this.#perform(socket, message).catch((error: unknown) => {
      const known = isTurnlockError(error) ? error : undefined
      if (!known) this.#host.onTurnError(error)
      const code = known?.code ?? 'core.fault'
      const text = known && !isOurs(known) ? known.message : wordsOf(code)
      send(socket, { type: 'turnlock:error', requestId: message['requestId'], code, message: text })
    })
    this.#state.waitUntil(work)
  }

  async #perform(socket: Socket, message: Record<string, unknown>): Promise<void> {
    const { type, requestId, after = 0, approvals, toolBatchId } = message
    const reading = read(socket)
    if (!reading)
      return void send(socket, { type: 'turnlock:error', requestId, code: 'turn.not_found' })
    const ref = { tenant: reading.tenant, requestId: requestId as string }
    turnKey(ref.tenant, requestId)
    await this.#turns.recover()
    switch (type) {
      case 'turnlock:follow':
        // Checked before it is written down.
        this.#turns.follow({ ...ref, after: after as number })
        write(socket, { ...ref, after: after as number })
        return this.#send(socket)
      case 'turnlock:resume': {
        const batch = toolBatchId === undefined ? {} : { toolBatchId: toolBatchId as number }
        const turn = await this.#turns.resume({
          ...ref,
          approvals: approvals as Approval[],
          ...batch,
        })
        const { error } = await turn.result
        // Other failures are events of the turn.
        if (error && REFUSED.test(error.code)) throw new TurnlockError(error.code, error.message)
        return
      }
      case 'turnlock:stop':
        await this.#turns.cancel({ ...ref, reason: 'stopped by the user' })
        return
      default:
        send(socket, { type: 'turnlock:error', requestId, code: 'options.invalid' })
    }
  }

  #send(socket: Socket): void {
    this.#reading.get(socket)?.abort()
    const stop = new AbortController()
    this.#reading.set(socket, stop)
    const sending = this.#sendEvents(socket, stop.signal).catch((error: unknown) => {
      // A socket that is closed takes no events; it reads on from its last one when it is back.
      if (!stop.signal.aborted) this.#host.onTurnError(error)
    })
    this.#state.waitUntil(
      sending.then(() => {
        if (this.#reading.get(socket) === stop) this.#reading.delete(socket)
      }),
    )
  }

  async #sendEvents(socket: Socket, signal: AbortSignal): Promise<void> {
    const { tenant, requestId, after = 0 } = read(socket) ?? {}
    if (tenant === undefined || requestId === undefined) return
    const ref = { tenant, requestId }
    const { redact } = await this.#host.turnOptions(ref)
    const open = (from: number) => this.#turns.follow({ ...ref, after: from, signal })
    const key = turnKey(tenant, requestId)
    const events: AsyncIterable<TurnEvent> = redact
      ? hidden(redact, open, this.#turns.store, key, after)
      : open(after)
    for await (const event of events) {
      if (signal.aborted) return
      const shown = event.type === 'error' ? shownError(event) : event
      if (!send(socket, { type: 'turnlock:event', event: shown })) return
      write(socket, { ...ref, after: event.seq })
    }
  }
}

/** Sends a message. Returns whether the socket is open. */
function send(socket: Socket, message: object): boolean {
  try {
    socket.send(JSON.stringify(message))
    return true
  } catch {
    return false
  }
}

function read(socket: Socket): Reading | undefined {
  const held = 'setState' in socket ? socket.state : socket.deserializeAttachment()
  return isObject(held) ? (held[MEMBER] as Reading | undefined) : undefined
}

function write(socket: Socket, reading: Reading): void {
  if (!('setState' in socket)) return socket.serializeAttachment({ [MEMBER]: reading })
  const { state } = socket
  socket.setState({ ...(isObject(state) && state), [MEMBER]: reading })
}
