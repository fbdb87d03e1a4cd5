/** A chat: its messages, and the turn that runs. */
import { takeOptions } from '../checks.js'
import { wrong } from '../errors.js'
import type { ChatOptions } from '../generated/chat.js'
import { CHAT_OPTIONS } from '../generated/rows.js'
import { quietly } from '../shared/quietly.js'
import { randomId } from '../shared/random.js'
import type { PausedTurn } from '../remote/turns.js'
import type { ShownTurn } from './turns.js'
import type { PhaseName, ToolCall, TurnEvent, TurnFailure } from '../types.js'
import { plain, shownOf, textOf, Transcript, type ChatMessage } from './message.js'

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
   * and does nothing, while another turn runs. A turn that is paused is cancelled.
   */
  send(message: string | object): boolean
  /** Decides on a call that waits. With the last decision the turn goes on. */
  approve(signature: string, approved?: boolean): void
  /** Continues a turn that is paused, with the decisions so far. */
  resume(): void
  /** Cancels the turn that runs or is paused. What it has shown stays. */
  stop(reason?: string): void
  /** Takes away the last answer and asks for it again. `false` while a turn runs, or without one. */
  regenerate(): boolean
  /** Shows a turn that runs, or has paused, elsewhere. `false` while another turn runs. */
  attach(requestId: string): boolean
  /** Replaces the options, but for `messages`. */
  configure(options: ChatOptions): void
  /**
   * Keeps the turn running for a component. When the last one has called what this returns, the
   * turn that runs is cancelled, unless another one is there at the end of the task.
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
  let history: unknown[] = [...options.messages]
  /** The messages before the answer of the last turn. */
  let before = shownOf(history)
  let transcript: Transcript | undefined
  let turn: ShownTurn | undefined
  let seq = 0
  let decisions: { signature: string; approved: boolean }[] = []
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
  let state: ChatState = { ...now, messages: before }

  function publish(): void {
    clearTimeout(timer)
    timer = undefined
    state = { ...now, messages: messagesNow() }
    // A listener that throws ends neither the turn nor the others.
    for (const listener of [...listeners]) quietly(listener)
  }

  /** All messages, with what the last turn has shown. */
  function messagesNow(): ChatMessage[] {
    const { requestId } = now as Begun
    const parts = transcript?.parts() ?? []
    const text = transcript?.text() ?? ''
    const answer: ChatMessage = { id: requestId, role: 'assistant', text, parts, requestId }
    return before.concat(parts.length ? answer : [])
  }

  /** What the last turn adds to the history and to the messages. */
  function settle(): void {
    before = messagesNow()
    history = chat.history()
    transcript = undefined
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
  }

  const run = () => {
    const requestId = randomId()
    const { turns, throttleMs: _, ...own } = options
    fresh(requestId, () => turns.run({ ...own, messages: [...history], requestId }))
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
    const rest = (reason?: string) => {
      Object.assign(now, { status: 'paused', approvals })
      if (reason !== undefined) abandon(reason)
      end()
    }
    const placeholder = { cancel: rest } as ShownTurn
    turn = placeholder
    now.approvals = []
    try {
      const next = await options.turns.answer?.(paused)
      if (turn !== placeholder) return
      if (next) return begin(requestId, () => next)
      rest()
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
    void (async () => options.turns.cancel?.({ requestId, reason }))().catch(() => {})
  }

  const chat: Chat = {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    getSnapshot: () => state,
    history: () => [...history, ...(transcript?.messages() ?? [])],
    send(message) {
      if (turn) return false
      abandon('superseded')
      settle()
      const element = typeof message === 'string' ? { role: 'user', content: message } : message
      history.push(element)
      before.push(plain(randomId(), 'user', textOf(element)))
      run()
      return true
    },
    approve(signature, approved = true) {
      if (now.status !== 'paused') return
      decisions.push({ signature, approved })
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
      publish()
    },
    regenerate() {
      const userIndex = history.findLastIndex((one) => (one as { role?: unknown })?.role === 'user')
      if (turn || userIndex < 0) return false
      abandon('superseded')
      history = history.slice(0, userIndex + 1)
      before = before.slice(0, before.findLastIndex(({ role }) => role === 'user') + 1)
      run()
      return true
    },
    attach(requestId) {
      if (turn) return false
      settle()
      fresh(requestId, () => options.turns.follow?.({ requestId }))
      return true
    },
    configure(given) {
      options = checked(given)
    },
    hold() {
      const holder = {}
      holders.add(holder)
      return () => {
        holders.delete(holder)
        setTimeout(() => holders.size || turn?.cancel('unmounted'))
      }
    },
  }
  return chat
}

function checked(given: ChatOptions) {
  const options = { messages: [], throttleMs: THROTTLE, ...takeOptions(given, CHAT_OPTIONS) }
  const { turns, messages, throttleMs } = options
  if (typeof turns?.run !== 'function') throw wrong('turns', 'what runs them')
  if (typeof (options.conversationId ?? '') !== 'string') throw wrong('conversationId', 'a string')
  if (!Array.isArray(messages)) throw wrong('messages', 'a list')
  if (!(typeof throttleMs === 'number' && throttleMs >= 0)) throw wrong('throttleMs', 'ms from 0')
  return options
}
