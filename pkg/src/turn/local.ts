/** The turns of a page that runs them itself, as `remoteTurns` gives those of a handler. */
import { TurnlockError } from '../errors.js'
import { LOCAL_TURNS_OPTIONS } from '../generated/rows.js'
import type { LocalTurnsOptions, ResumeTurnOptions, RunTurnOptions } from '../generated/turn.js'
import { present, readOptions } from '../options.js'
import { remoteTurn, type RemoteTurn } from '../remote/turn.js'
import type { RemoteState } from '../remote/turns.js'
import type { Wire } from '../remote/wire.js'
import { memoryStore } from '../stores/memory.js'
import { checkStore, type Store } from '../stores/store.js'
import type { TurnEvent } from '../types.js'
import type { OpenTurn } from './beside.js'
import { followTurn } from './follow.js'
import { cancelTurn, listTurns, pauseTurn, resumeTurn } from './resume.js'
import { checkModel, runTurn, type Turn } from './turn.js'

export type { LocalTurnsOptions }

/** The options of one turn of `localTurns`, as in `runTurn`. */
export type LocalRunOptions = Pick<RunTurnOptions, 'messages'> &
  Partial<
    Pick<
      RunTurnOptions,
      'requestId' | 'projectId' | 'conversationId' | 'policy' | 'system' | 'signal'
    >
  >

/** The options of a turn of `localTurns` that is resumed, as in `resumeTurn`. */
export type LocalResumeOptions = Pick<ResumeTurnOptions, 'requestId'> &
  Partial<Pick<ResumeTurnOptions, 'toolBatchId' | 'approvals' | 'results' | 'signal'>>

/** Turns that this page runs. */
export interface LocalTurns {
  /** Runs a turn. Leaving its iteration cancels it. */
  run(options: LocalRunOptions): Turn
  /** Continues a turn that paused, whose model failed, or whose page is gone. */
  resume(options: LocalResumeOptions): Turn
  /**
   * The events of a turn behind `after` (0), and those that follow, whoever runs it. If its page is
   * gone, such as after a reload in mid-answer, it goes on here. `signal`, or leaving the iteration,
   * ends the reading; the turn goes on. The result is that of the whole turn.
   */
  follow(options: { requestId: string; after?: number; signal?: AbortSignal }): RemoteTurn
  /** The turns that are open, of a conversation if one is named. */
  list(options?: { conversationId?: string }): Promise<OpenTurn[]>
  /** Asks for a pause behind the tools. */
  pause(options: { requestId: string }): Promise<RemoteState>
  /** Cancels a turn, in whichever tab it runs. */
  cancel(options: { requestId: string; reason?: string }): Promise<RemoteState>
}

/**
 * Turns of this page with everything that `useTurn` and `createChat` need: run, resume, follow after a
 * reload or in a second tab, cancel. What survives is what `store` keeps.
 *
 * @throws TurnlockError `options.invalid`, `store.unsupported`; what `runTurn` throws when a turn is run
 */
export function localTurns(options: LocalTurnsOptions): LocalTurns {
  const { store = memoryStore(), ...base } = readOptions(options, LOCAL_TURNS_OPTIONS)
  checkModel(base.model)
  checkStore(store)
  const { model, fallbacks, repairOnError, answerSchema, boxSecret, tools, tenant } = base
  const { onTrace, redact } = base
  const again = present({
    ...{ model, fallbacks, repairOnError, answerSchema, boxSecret, tools, store, tenant },
    ...{ onTrace, redact },
  }) as Omit<ResumeTurnOptions, 'requestId'>
  const at = { store, ...present({ tenant }) }
  const resume = (own: LocalResumeOptions) => resumeTurn({ ...again, ...own })
  const wire = wireOf(at, (requestId) => resume({ requestId }))
  return {
    run: (own) => runTurn({ ...base, store, ...(own && present(own)) }),
    resume,
    follow(own) {
      const { requestId, after = 0, signal } = Object(own) as Parameters<LocalTurns['follow']>[0]
      // Throws for misuse, and reads nothing yet.
      followTurn({ ...at, requestId, after })
      return remoteTurn(wire, { requestId, after, signal, onSeq: () => {} })
    },
    list: async (own) => listTurns({ ...at, ...present({ conversationId: own?.conversationId }) }),
    pause: async (own) => pauseTurn({ ...at, requestId: own?.requestId }),
    cancel: async (own) =>
      cancelTurn({ ...at, requestId: own?.requestId, ...present({ reason: own?.reason }) }),
  }
}

/** The store in the place of a handler. */
function wireOf(at: { store: Store; tenant?: string }, resume: (requestId: string) => Turn): Wire {
  return {
    maxRetries: 1,
    open: () => Promise.reject(new TurnlockError('core.fault', 'turns are run here')),
    async follow(requestId, after, signal) {
      const events = following(at, resume, requestId, after, signal)
      const first = await events.next()
      // The reader has the last event of a turn that has ended.
      return first.done ? undefined : chained(first.value, events)
    },
    ask(path, body) {
      const { requestId, reason } = body as { requestId: string; reason?: string }
      if (path === '/pause') return pauseTurn({ ...at, requestId })
      return cancelTurn({ ...at, requestId, ...present({ reason }) })
    },
  }
}

async function* chained(
  first: TurnEvent,
  rest: AsyncGenerator<TurnEvent>,
): AsyncGenerator<TurnEvent> {
  yield first
  yield* rest
}

/** The events of a turn from its store, and, once its owner is gone, from the turn as it goes on here. */
async function* following(
  at: { store: Store; tenant?: string },
  resume: (requestId: string) => Turn,
  requestId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let seq = after
  const isOf = (event: TurnEvent, code: string) => event.type === 'error' && event.code === code
  for (;;) {
    let interrupted = false
    for await (const event of followTurn({ ...at, requestId, after: seq, signal })) {
      interrupted = isOf(event, 'turn.interrupted')
      if (interrupted) break
      seq = event.seq
      yield event
    }
    if (!interrupted || signal.aborted) return
    // Read by hand: leaving the iteration would cancel the turn.
    const events = resume(requestId)[Symbol.asyncIterator]()
    let conflict = false
    for (;;) {
      const next = await events.next()
      if (next.done) break
      // Another tab goes on with it.
      conflict = isOf(next.value, 'turn.conflict')
      if (conflict) break
      seq = next.value.seq
      yield next.value
    }
    if (!conflict) return
  }
}
