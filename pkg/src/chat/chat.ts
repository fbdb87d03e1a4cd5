/** A chat: its messages, and the turn that runs. */
import { takeOptions } from '../checks.js'
import { wrong } from '../errors.js'
import type { ChatOptions } from '../generated/chat.js'
import { CHAT_OPTIONS } from '../generated/rows.js'
import { quietly } from '../shared/quietly.js'
import { randomId } from '../shared/random.js'
import { describe } from '../shared/serialize.js'
import type { PausedTurn } from '../remote/turns.js'
import type { Approval } from '../turn/resume.js'
import type { ShownTurn } from './turns.js'
import type { PhaseName, ToolCall, TurnEvent, TurnFailure } from '../types.js'
import { Transcript, type ChatMessage } from './message.js'
import {
  add,
  historyOf,
  isBeginningOf,
  messagesOf,
  pathOf,
  roundOf,
  roundsOf,
  saidNow,
  type Round,
} from './rounds.js'
import type { ChatStorage, Saved } from './saved.js'

/** `idle` before the first turn, `running`, or how the last turn ended. */
export type ChatStatus = 'idle' | 'running' | 'paused' | 'complete' | 'cancelled' | 'failed'

/** The state of a chat. Never changed: each change makes another one. */
export interface ChatState {
  messages: readonly ChatMessage[]
  status: ChatStatus
  /** The phase of the turn that runs. */
  phase: PhaseName | undefined
  /** Calls that wait for a decision. */
  approvals: readonly ToolCall[]
  /** Why the last turn failed. */
  error: TurnFailure | undefined
  /** The id of the last turn. */
  requestId: string | undefined
  /** The answer of the last turn as a value, in a turn with `answerSchema` that is complete. */
  object: unknown
}

/** A chat. Its functions need no receiver. */
export interface Chat {
  /** Calls `listener` when there is another state. Returns what ends this. */
  subscribe(listener: () => void): () => void
  /** The state: the same object until it changes. */
  getSnapshot(): ChatState
  /** The history for a next turn: what was said, called and answered so far. */
  history(): unknown[]
  /**
   * Runs a turn with a message of the user: its text, or an element of a history. Returns `false`,
   * and does nothing, while another turn runs or the chat that was kept is being read. A turn that is
   * paused is cancelled.
   */
  send(message: string | object): boolean
  /**
   * Says something else in place of a message of the user, by its id, and runs a turn. What followed
   * stays as another version. `false` as for `send`, and for an id that is not a user's.
   */
  edit(id: string, message: string | object): boolean
  /**
   * Shows another version of a message of the user, by its id and the number of the version, with what
   * followed it. `false` as for `send`, and where there is none.
   */
  show(id: string, index: number): boolean
  /**
   * Decides on a call that waits: `true` (default), `false`, or with the reason of a denial. After
   * the last decision the turn resumes.
   */
  approve(signature: string, decision?: boolean | Omit<Approval, 'signature'>): void
  /** Continues a turn that is paused, with the decisions so far. */
  resume(): void
  /** Cancels the turn that runs or is paused. What it has shown stays. */
  stop(reason?: string): void
  /**
   * Asks for the last answer again. The one before stays as another version of the message of the
   * user. `false` as for `send`, and without such a message.
   */
  regenerate(): boolean
  /**
   * Shows a turn that runs, has paused or has ended elsewhere, in place of what the chat has of it.
   * `false` as for `send`, and where the chat shows what followed that turn.
   */
  attach(requestId: string): boolean
  /** Replaces the options, but for `messages`. */
  configure(options: ChatOptions): void
  /**
   * Keeps the turn running for a component. When the last one has called what this returns, the
   * turn that runs is cancelled, unless another one is there at the end of the task. A turn that the
   * chat is attached to goes on: only its reading ends.
   */
  hold(): () => void
}

/** Whether a value is a chat, and not the options of one. */
export const isChat = (value: unknown): value is Chat =>
  typeof (value as Partial<Chat> | null | undefined)?.getSnapshot === 'function'

/** Behind the first turn. */
type Begun = ChatState & { requestId: string }

/** Milliseconds between two states while text arrives. */
const THROTTLE = 50

/**
 * Makes a chat. Nothing runs until `send`.
 *
 * Failures are part of the state; no function of a chat throws or rejects, except for options that
 * are wrong.
 *
 * @throws TurnlockError `options.invalid`
 */
export function createChat(given: ChatOptions): Chat {
  let options = checked(given)
  let root = roundsOf(options.messages)
  /** Where the chat is kept, once it was read. */
  let saved: Saved | undefined
  /** Whether the chat that was kept has been read, or is being read. */
  let loaded: 'no' | 'reading' | 'yes' = options.persist === undefined ? 'yes' : 'no'
  /** Ends the reading of a turn that the chat is attached to. */
  let reading: AbortController | undefined
  /** Ends the page's tools. */
  let running: AbortController | undefined
  let transcript: Transcript | undefined
  let turn: ShownTurn | undefined
  let seq = 0
  let decisions: Approval[] = []
  let toolBatchId = 0
  const holders = new Set<object>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const listeners = new Set<() => void>()
  const now: Omit<ChatState, 'messages'> = {
    status: 'idle',
    phase: undefined,
    approvals: [],
    error: undefined,
    requestId: undefined,
    object: undefined,
  }
  let state: ChatState = { ...now, messages: messagesOf(root) }

  function publish(): void {
    clearTimeout(timer)
    timer = undefined
    state = { ...now, messages: messagesNow() }
    // A listener that throws ends neither the turn nor the others.
    for (const listener of [...listeners]) quietly(listener)
  }

  const lastRound = () => pathOf(root).at(-1) as Round

  /** Whether the last round has, from the host, the beginning of what the turn is about to add. */
  const isToldTwice = ({ requestId, elements }: Round) =>
    requestId === undefined && elements.length > 0 && isBeginningOf(elements, elementsNow())

  /** A list of all rounds without what the turn tells again of the last one. */
  function untold<T>(list: T[], member: 'elements' | 'answer'): T[] {
    const round = lastRound()
    return isToldTwice(round) ? list.slice(0, list.length - round[member].length) : list
  }

  /** What the last turn has shown. */
  function answerNow(): ChatMessage[] {
    const { requestId } = now as Begun
    const parts = transcript?.parts() ?? []
    if (!transcript || !parts.length) return []
    return [{ id: requestId, role: 'assistant', text: transcript.text(), parts, requestId }]
  }

  const elementsNow = () => transcript?.messages() ?? []

  const messagesNow = () => [...untold(messagesOf(root), 'answer'), ...answerNow()]

  /** What the last turn adds to the history and to the messages. */
  function settle(): void {
    if (!transcript) return
    const { requestId } = now as Begun
    let round = lastRound()
    if (isToldTwice(round)) round.elements = []
    // Behind an answer that is the host's or another turn's.
    if (round.requestId !== requestId && round.elements.length) round = add(round, roundOf([], []))
    Object.assign(round, { requestId, elements: elementsNow(), answer: answerNow() })
    transcript = undefined
  }

  /** Keeps the chat as it is now. */
  function keep(): void {
    if (!saved) return
    const { requestId, status } = now
    const isOpen = status === 'running' || status === 'paused'
    void saved.write(root, isOpen ? requestId : undefined).catch(notKept)
  }

  function notKept(error: unknown): void {
    // Why a turn failed says more.
    now.error ??= { code: 'store.unavailable', message: describe(error) }
    publish()
  }

  /** Reads the chat that is kept, and goes on with the turn that was open. */
  async function load(): Promise<void> {
    const { persist, conversationId } = options
    if (persist === undefined || loaded !== 'no') return
    loaded = 'reading'
    let kept
    try {
      // Loaded by the chats that are kept alone.
      const { Saved } = await import('./saved.js')
      saved = new Saved(persist, conversationId)
      kept = await saved.read()
    } catch (error) {
      notKept(error)
    }
    loaded = 'yes'
    if (!kept) return
    root = kept.root
    if (kept.open === undefined || !chat.attach(kept.open)) publish()
  }

  function begin(requestId: string, open: () => ShownTurn | undefined): void {
    Object.assign(now, { requestId, status: 'running', approvals: [], error: undefined })
    decisions = []
    void read(open)
    publish()
  }

  function fresh(requestId: string, open: () => ShownTurn | undefined): void {
    transcript = new Transcript()
    seq = 0
    now.object = now.phase = undefined
    begin(requestId, open)
    keep()
  }

  const run = () => {
    const requestId = randomId()
    reading = undefined
    const { turns, throttleMs: _, persist: __, ...own } = options
    const messages = historyOf(root)
    fresh(requestId, () => turns.run({ ...own, messages, requestId }))
  }

  /** Whether something new can be said: no turn runs, and what was kept is there. */
  function isFree(): boolean {
    void load()
    return !turn && loaded === 'yes'
  }

  /** Puts a round behind another one, and runs its turn. */
  function ask(before: Round, round: Round): true {
    add(before, round)
    run()
    return true
  }

  /** A chat of which nothing runs or waits any more: what it shows is a part of its rounds. */
  function rest(): void {
    abandon('superseded')
    settle()
  }

  async function read(open: () => ShownTurn | undefined): Promise<void> {
    let current: ShownTurn | undefined
    try {
      current = turn = open()
      if (!current) throw wrong('turns', 'what resumes them')
      // To its end: leaving the iteration would cancel a turn that is over, too.
      // A turn that went on behind a pause or a failure is read with it: only the last one counts.
      let lastEvent: TurnEvent | undefined
      for await (const event of current) {
        if (turn !== current) continue
        if (event.type === 'paused' || event.type === 'error') lastEvent = event
        else take(event)
      }
      if (lastEvent && turn === current) take(lastEvent)
      if (turn === current) throw new Error('no end')
    } catch (error) {
      if (turn === current) fail(error)
    }
  }

  /** The turn has shown its last event. */
  function end(): void {
    turn = undefined
    if (now.status !== 'paused') {
      transcript?.close()
      settle()
    }
    keep()
    publish()
  }

  function take(event: TurnEvent): void {
    // Failures to read a turn have the number of the last event.
    if (event.seq <= seq && event.type !== 'error') return
    seq = event.seq
    transcript?.take(event)
    now.phase = event.phase
    switch (event.type) {
      case 'text':
      case 'reasoning':
      case 'tool_progress':
      case 'tool_arguments':
        timer ??= setTimeout(publish, options.throttleMs)
        return
      case 'paused':
        now.approvals = event.approvals ?? []
        toolBatchId = event.resume.toolBatchId
        if (event.calls && options.turns.answer) return void answerFor(event)
        now.status = event.type
        return end()
      case 'complete':
        now.object = event.object
      // falls through
      case 'cancelled':
        now.status = event.type
        return end()
      case 'error':
        return fail(event)
      default:
        publish()
    }
  }

  /** Runs the calls that wait for this page; the chat counts as running meanwhile. */
  async function answerFor(paused: PausedTurn): Promise<void> {
    const { requestId, approvals } = now as Begun
    const controller = (running = new AbortController())
    const pause = (reason?: string) => {
      if (reason !== undefined) controller.abort(new Error(reason))
      Object.assign(now, { status: 'paused', approvals })
      if (reason !== undefined) abandon(reason)
      end()
    }
    const placeholder = { cancel: pause } as ShownTurn
    turn = placeholder
    now.approvals = []
    try {
      const next = await options.turns.answer?.(paused, { signal: controller.signal })
      if (turn !== placeholder) return
      if (next) return begin(requestId, () => next)
      pause()
    } catch (error) {
      if (turn === placeholder) fail(error)
    }
  }

  function fail(error: unknown): void {
    const { code = 'chat.failed', message, details } = (error ?? {}) as Partial<TurnFailure>
    now.status = 'failed'
    now.error = { code, message: String(message ?? error), ...(details && { details }) }
    end()
  }

  /** Gives up a turn that is paused. */
  function abandon(reason: string): void {
    const { requestId, status } = now as Begun
    if (status !== 'paused') return
    Object.assign(now, { status: 'cancelled', approvals: [] })
    transcript?.close()
    void (async () => options.turns.cancel?.({ requestId, reason }))().catch(() => {})
  }

  const chat: Chat = {
    subscribe(listener) {
      listeners.add(listener)
      void load()
      return () => void listeners.delete(listener)
    },
    getSnapshot: () => state,
    history: () => [...untold(historyOf(root), 'elements'), ...elementsNow()],
    send(message) {
      if (!isFree()) return false
      rest()
      return ask(lastRound(), saidNow(elementOf(message)))
    },
    edit(id, message) {
      if (!isFree()) return false
      const before = beforeMessage(id)
      if (!before) return false
      rest()
      return ask(before, saidNow(elementOf(message)))
    },
    show(id, index) {
      if (!isFree()) return false
      const before = beforeMessage(id)
      if (!before?.next[index]) return false
      rest()
      before.at = index
      const { requestId } = lastRound()
      const cleared = { phase: undefined, error: undefined, object: undefined }
      Object.assign(now, { status: 'idle', requestId, ...cleared })
      keep()
      publish()
      return true
    },
    approve(signature, decision = true) {
      if (now.status !== 'paused') return
      const given = typeof decision === 'boolean' ? { approved: decision } : decision
      decisions.push({ ...given, signature })
      now.approvals = now.approvals.filter((call) => call.signature !== signature)
      if (now.approvals.length) publish()
      else chat.resume()
    },
    resume() {
      const { requestId, status } = now as Begun
      if (status !== 'paused') return
      const approvals = decisions
      const resumeOptions = { requestId, toolBatchId, ...(approvals.length && { approvals }) }
      begin(requestId, () => options.turns.resume?.(resumeOptions))
    },
    stop(reason = 'stopped') {
      turn?.cancel(reason)
      if (turn) return
      abandon(reason)
      settle()
      keep()
      publish()
    },
    regenerate() {
      if (!isFree()) return false
      rest()
      const path = pathOf(root)
      const at = path.findLastIndex(({ said }) => said.length)
      const round = path[at]
      const before = path[at - 1]
      if (!round || !before) return false
      // Without an answer, there is nothing to keep as a version.
      if (!round.elements.length && !round.answer.length && !round.next.length) {
        before.next = before.next.filter((one) => one !== round)
      }
      return ask(before, roundOf(round.said, round.shown))
    },
    attach(requestId) {
      if (!isFree()) return false
      rest()
      const path = pathOf(root)
      const known = path.findIndex((round) => round.requestId === requestId)
      const round = path[known]
      if (round) {
        if (known < path.length - 1) return false
        Object.assign(round, { elements: [], answer: [] })
      }
      const controller = (reading = new AbortController())
      fresh(requestId, () => options.turns.follow?.({ requestId, signal: controller.signal }))
      return true
    },
    configure(given) {
      options = checked(given)
    },
    hold() {
      const holder = {}
      holders.add(holder)
      // A component that was hidden is shown again.
      if (reading?.signal.aborted && now.status === 'running') chat.attach(now.requestId as string)
      return () => {
        holders.delete(holder)
        setTimeout(() => {
          if (holders.size) return
          // Tools of this page end in any case; another one's turn goes on.
          running?.abort(new Error('unmounted'))
          if (!reading) return turn?.cancel('unmounted')
          turn = undefined
          reading.abort()
        })
      }
    },
  }
  return chat

  /** The round before the one of a message of the user. */
  function beforeMessage(id: string): Round | undefined {
    const path = pathOf(root)
    const at = path.findIndex(({ shown }) => shown.some((message) => message.id === id))
    return path[at - 1]
  }
}

const elementOf = (message: string | object) =>
  typeof message === 'string' ? { role: 'user', content: message } : message

function checked(given: ChatOptions) {
  const options = { messages: [], throttleMs: THROTTLE, ...takeOptions(given, CHAT_OPTIONS) }
  const { turns, messages, throttleMs, persist } = options
  const { getItem, setItem } = Object(persist ?? {}) as Partial<ChatStorage>
  const isNamed = [undefined, 'localStorage', 'indexedDB'].includes(persist as string | undefined)
  const methods = typeof persist === 'function' ? [persist] : [getItem, setItem]
  if (!isNamed && methods.some((method) => typeof method !== 'function'))
    throw wrong('persist', '`localStorage`, `indexedDB`, a storage or a function')
  if (typeof turns?.run !== 'function') throw wrong('turns', 'what runs them')
  if (typeof (options.conversationId ?? '') !== 'string') throw wrong('conversationId', 'a string')
  if (!Array.isArray(messages)) throw wrong('messages', 'a list')
  if (!(typeof throttleMs === 'number' && throttleMs >= 0)) throw wrong('throttleMs', 'ms from 0')
  return options
}
