/** A message of a chat, from the events of a turn or from a history. */
import type { TurnMessage } from '../generated/turn.js'
import { resultMessage } from '../turn/result-message.js'
import type { ToolResult, TurnEvent } from '../types.js'

/** Text or reasoning, in one piece as long as nothing else comes between. */
export interface TextPart {
  type: 'text' | 'reasoning'
  text: string
  /** The number of its first event; 0 where it is of no turn. */
  seq: number
}

/** A call of a tool. */
export interface CallPart {
  type: 'call'
  id: string
  name: string
  args: unknown
  signature: string
  toolBatchId: number
  /** `running` until its result is there, `waiting` where the user must approve it first. */
  status: ToolResult['status'] | 'running' | 'waiting'
  /** The data of its last report of progress. */
  progress?: unknown
  result?: ToolResult
}

/** A part of a message: text, or a call with what became of it. */
export type ChatPart = TextPart | CallPart

/** A message, as it is shown. */
export interface ChatMessage {
  /** Stays the same as long as the message is there. */
  id: string
  role: 'user' | 'assistant'
  /** Its text without reasoning: of the user, or of everything that the turn has shown. */
  text: string
  /** Text, reasoning and calls in their order. */
  parts: readonly ChatPart[]
  /** The turn that wrote it. */
  requestId?: string
  /** Where there are other versions of this message and what followed: which one this is, from 0. */
  version?: { index: number; count: number }
}

/** What the events of one turn have shown so far. */
export class Transcript {
  #parts: ChatPart[] = []
  /** Whether the last part may go on. */
  #open = false

  take(event: TurnEvent): void {
    const { seq, toolBatchId } = event
    switch (event.type) {
      case 'text':
      case 'reasoning':
        return this.#say(event.type, event.chunk, seq)
      case 'phase_start':
        // The text of an inference that is made again. A part never is of two inferences: between
        // them is an event of another type.
        this.#parts = this.#parts.filter(
          (part) => part.type === 'call' || part.seq < (event.voidFrom ?? Infinity),
        )
        break
      case 'tool_calls':
      case 'approval_required':
        for (const call of event.toolCalls) {
          const status = event.type === 'tool_calls' ? 'running' : 'waiting'
          this.#call({ ...call, toolBatchId, type: 'call', status })
        }
        break
      case 'refused':
        for (const { id } of event.toolCalls)
          this.#change(having(id, 'waiting'), { status: 'blocked' })
        break
      case 'tool_progress':
        this.#change(having(event.toolCallId, 'running'), { progress: event.data })
        break
      case 'tool_results':
        for (const result of event.toolResults) {
          const { toolCallId: id, name, args, signature, status } = result
          this.#call({ type: 'call', id, name, args, signature, toolBatchId, status, result })
        }
    }
    this.#open = false
  }

  /** A copy: a part that changes is replaced. */
  parts(): ChatPart[] {
    return this.#parts.slice()
  }

  text(): string {
    return this.#parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  }

  /** What the turn adds to the history: calls with their results, and the answer. */
  messages(): TurnMessage[] {
    const messages: TurnMessage[] = []
    let text = ''
    let batch: number | undefined
    let place: TurnMessage | undefined
    for (const part of this.#parts) {
      if (part.type === 'text') text += part.text
      // Neither went well nor failed: has no result yet, or did not run.
      if (part.type !== 'call' || (part.status !== 'ok' && !part.result?.error)) continue
      const { id, name, args, toolBatchId } = part
      if (toolBatchId !== batch) {
        place = { role: 'assistant', content: text, toolCalls: [] }
        messages.push(place)
        batch = toolBatchId
        text = ''
      }
      place?.toolCalls?.push({ id, name, args })
      messages.push(resultMessage(part.result!))
    }
    if (text.trim()) messages.push({ role: 'assistant', content: text })
    return messages
  }

  /** Nothing that waits or runs is told of any more. */
  close(): void {
    this.#parts = this.#parts.map((part) =>
      part.type === 'call' && (part.status === 'waiting' || part.status === 'running')
        ? { ...part, status: 'cancelled' }
        : part,
    )
  }

  #say(type: TextPart['type'], chunk: string, seq: number): void {
    const last = this.#open ? this.#parts.at(-1) : undefined
    this.#open = true
    if (last?.type !== type) this.#parts.push({ type, text: chunk, seq })
    else this.#parts.splice(-1, 1, { ...last, text: last.text + chunk })
  }

  /** A new call, or what became of one. */
  #call(call: CallPart): void {
    const isSame = ({ id, signature, result }: CallPart) =>
      id === call.id && signature === call.signature && (!result || call.result?.revised)
    const { toolBatchId: _, ...news } = call
    if (!this.#change(isSame, news)) this.#parts.push(call)
  }

  #change(isMeant: (call: CallPart) => unknown, news: Partial<CallPart>): boolean {
    const at = this.#parts.findLastIndex((part) => part.type === 'call' && isMeant(part))
    if (at >= 0) this.#parts[at] = { ...(this.#parts[at] as CallPart), ...news }
    return at >= 0
  }
}

const having = (id: string, status: CallPart['status']) => (call: CallPart) =>
  call.id === id && call.status === status

/** What is shown of an element of a history: text of the user and the assistant. */
export function shownOf(element: unknown, at: number): ChatMessage[] {
  const { role } = (element ?? {}) as { role?: unknown }
  const text = textOf(element)
  if ((role !== 'user' && role !== 'assistant') || !text) return []
  return [plain(`history-${at}`, role, text)]
}

/** A message that is of no turn. */
export const plain = (id: string, role: ChatMessage['role'], text: string): ChatMessage => ({
  id,
  role,
  text,
  parts: [{ type: 'text', text, seq: 0 }],
})

/** The text of an element of a history; empty where it has none. */
export function textOf(element: unknown): string {
  const { content, parts } = (element ?? {}) as { content?: unknown; parts?: unknown }
  const within = content ?? parts
  if (typeof within === 'string') return within
  if (!Array.isArray(within)) return ''
  return within.map((part: { text?: unknown }) => String(part?.text ?? '')).join('')
}
