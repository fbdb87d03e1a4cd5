/** The operations on turns of a handler. */
import { takeOptions } from '../checks.js'
import { wrong } from '../errors.js'
import type {
  RemoteFollowOptions,
  RemoteResumeOptions,
  RemoteRunOptions,
  RemoteTurnsOptions,
} from '../generated/remote.js'
import {
  REMOTE_FOLLOW_OPTIONS,
  REMOTE_POLICY,
  REMOTE_RESUME_OPTIONS,
  REMOTE_RUN_OPTIONS,
  REMOTE_TURNS_OPTIONS,
} from '../generated/rows.js'
import { reading } from '../options.js'
import { randomId } from '../shared/random.js'
import { describe } from '../shared/serialize.js'
import type { OpenTurn } from '../turn/beside.js'
import type { TurnEvent } from '../types.js'
import { remoteTurn, type RemoteTurn } from './turn.js'
import { wireTo } from './wire.js'

/** Where a turn stands behind a `pause` or a `cancel`. */
export interface RemoteState {
  requestId: string
  status: string
  /** A pause has no effect: the turn is in its answer phase, and completes. */
  ended?: 'answering'
}

/** The `paused` event of a turn that waits for a page. */
export type PausedTurn = Pick<Extract<TurnEvent, { type: 'paused' }>, 'resume' | 'calls'>

/** The turns of a handler. */
export interface RemoteTurns {
  /** Runs a turn. Leaving its iteration cancels it. */
  run(options: RemoteRunOptions): RemoteTurn
  /**
   * Continues a turn that paused or was interrupted, with the events that follow. Its result is that of
   * the whole turn, as `resumeTurn` gives it: where it is asked for, the handler is asked for the events
   * before.
   */
  resume(options: RemoteResumeOptions): RemoteTurn
  /**
   * The events of a turn that runs, or ran, elsewhere, behind `after`. Leaving the iteration does not end
   * it. The result is that of the whole turn.
   */
  follow(options: RemoteFollowOptions): RemoteTurn
  /**
   * Runs the calls of a turn that waits for this page, with `tools`: claims them, so that no other
   * page starts them too, runs those that were granted, and resumes the turn with their outcomes.
   * `undefined` where nothing was granted: another page runs them. `signal` aborts the tools, which
   * settles their calls with an error. Rejects with the handler's error.
   */
  answer(paused: PausedTurn, options?: { signal?: AbortSignal }): Promise<RemoteTurn | undefined>
  /**
   * The turns of this client that are open, of a conversation if one is named, so that a page that was
   * reloaded follows or resumes them. Rejects with the handler's error.
   */
  list(options?: { conversationId?: string }): Promise<OpenTurn[]>
  /** Asks for a pause behind the tools. Rejects with the handler's error. */
  pause(options: { requestId: string }): Promise<RemoteState>
  /** Cancels a turn. Rejects with the handler's error. */
  cancel(options: { requestId: string; reason?: string }): Promise<RemoteState>
}

/** Options of a resume that are lists. */
const LISTS = ['approvals', 'results', 'outcomes'] as const

/**
 * How many turns are remembered, so that a resume goes on behind the last event read.
 *
 * Limit | turns of which a page knows the last event | turns | the oldest is forgotten
 */
const REMEMBERED = 256

/**
 * Turns that `createHandler` runs at `url`.
 *
 * Behind a broken connection, a turn attaches again by itself: no event is lost or repeated, and
 * nothing runs twice. If a gateway answers 408, 429, 5xx or a page of its own although the request has
 * arrived, `run` and `resume` follow the turn. A handler that has dropped events in between ends it with
 * `turn.events_gone`; one that cannot be reached in `maxRetries` attempts with
 * `remote.unreachable`. Refusals of the handler are terminal `error` events with its code.
 *
 * A result has what the events of the whole turn say: `repairs` is empty. Events that the handler has
 * dropped make it `partial`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function remoteTurns(options: RemoteTurnsOptions): RemoteTurns {
  options = takeOptions(options, REMOTE_TURNS_OPTIONS)
  const wire = wireTo(options)
  const lastSeq = new Map<string, number>()
  const onSeq = (requestId: string, seq: number) => {
    lastSeq.delete(requestId)
    lastSeq.set(requestId, seq)
    if (lastSeq.size > REMEMBERED) lastSeq.delete(lastSeq.keys().next().value as string)
  }
  const turns: RemoteTurns = {
    run(own) {
      const { signal, ...asked } = takeOptions(own, REMOTE_RUN_OPTIONS)
      checkList('messages', asked.messages)
      if (asked.policy) takeOptions(asked.policy, REMOTE_POLICY, 'policy.')
      const body = { ...asked, requestId: asked.requestId ?? randomId() }
      const { requestId, conversationId } = body
      checkId(requestId)
      const opening = { path: '', body: textOf('messages', body) }
      const isFresh = asked.requestId === undefined
      const about = { requestId, conversationId, opening, isFresh, after: 0, signal, onSeq }
      return remoteTurn(wire, about)
    },
    resume(own) {
      const { signal, after, ...body } = takeOptions(own, REMOTE_RESUME_OPTIONS)
      const { requestId } = body
      checkId(requestId)
      countOf('toolBatchId', body.toolBatchId)
      for (const name of LISTS) checkList(name, body[name] ?? [])
      const opening = { path: '/resume', body: textOf('outcomes', body) }
      const seq = countOf('after', after) ?? lastSeq.get(requestId)
      return remoteTurn(wire, { requestId, opening, after: seq, signal, onSeq })
    },
    follow(own) {
      const { requestId, signal, after } = takeOptions(own, REMOTE_FOLLOW_OPTIONS)
      checkId(requestId)
      return remoteTurn(wire, { requestId, after: countOf('after', after) ?? 0, signal, onSeq })
    },
    async answer(paused, given) {
      if (!paused) throw wrong('paused', 'the result of a turn that waits')
      const { answer } = await import('./answer.js')
      return answer(turns, wire, paused, options.tools, describe, given?.signal)
    },
    async list(of) {
      const conversationId = of?.conversationId
      const query =
        conversationId === undefined ? '' : `?${new URLSearchParams({ conversationId })}`
      const { turns } = (await wire.ask(`/turns${query}`)) as unknown as { turns: OpenTurn[] }
      return turns
    },
    async pause(turn) {
      checkId(turn?.requestId)
      return wire.ask('/pause', { requestId: turn.requestId })
    },
    async cancel(turn) {
      checkId(turn?.requestId)
      return wire.ask('/cancel', { requestId: turn.requestId, reason: turn.reason })
    },
  }
  return turns
}

/** As a handler takes it. Others, such as `..`, would lead to another path. */
const ID = /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}$/

function checkId(requestId: unknown): void {
  if (typeof requestId === 'string' && ID.test(requestId)) return
  throw wrong('requestId', 'an id of 1 to 128 of A-Z a-z 0-9 . _ : -')
}

function countOf(name: string, given: number | undefined): number | undefined {
  if (given === undefined || (Number.isSafeInteger(given) && given >= 0)) return given
  throw wrong(name, 'a number from 0')
}

function checkList(name: string, given: unknown): void {
  if (!Array.isArray(given)) throw wrong(name, 'a list')
}

/** At the call: the host may go on with what it gave, and a request may be sent again. */
const textOf = (name: string, body: object) => reading(name, () => JSON.stringify(body))
