/** What `useChat` of the AI SDK sends, and how it reads a turn. */
import { isObject } from '../../checks.js'
import {
  approvalsOf,
  optional,
  invalid,
  needed,
  outcomesOf,
  textIn,
  turnIdOf,
  type Fields,
} from '../../server/body.js'
import type { Asked, Format, Writer, WriterOf } from '../../server/format.js'
import { chats } from './chats.js'
import { DONE, formatChunk, UI_HEADERS, UiMessageStream, type UiChunk } from './stream.js'

/** The UI message stream, as AI SDK 6 and 7 both speak it. */
export const aiSdkFormat: Format = { read, writer, chats }

/** `{ id, messages, trigger, messageId }`; other members are the host's own. */
function read(body: Fields): Asked {
  const messages = needed(body.list('messages'), 'messages')
  const about = optional('conversationId', body.name('id'))
  const last: unknown = messages.at(-1)
  if (!isObject(last) || last['role'] !== 'assistant') return { ...about, messages }
  // A client that has answered the approvals or the calls of a turn sends its message, whose id
  // names the turn.
  const approvals = approvalsOf(answersOf(last['parts'])) ?? []
  const outcomes = outcomesOf(resultsOf(last['parts'])) ?? []
  const at = `messages.${messages.length - 1}`
  if (approvals.length + outcomes.length === 0) {
    throw invalid(at, "the user's message, or an answer of the page")
  }
  const requestId = turnIdOf(last['id'], `${at}.id`)
  return { ...about, resume: { requestId, approvals, outcomes } }
}

/** The answers in the parts of a message. The id of an approval is the signature of its call. */
function answersOf(parts: unknown): unknown[] {
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part: unknown) => {
    const approval = isObject(part) && part['state'] === 'approval-responded' && part['approval']
    if (!isObject(approval)) return []
    const { id: signature, approved, reason } = approval
    return [{ signature, approved, reason }]
  })
}

/** What the calls of a message came to, in the page or here. */
function resultsOf(parts: unknown): unknown[] {
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part: unknown): object[] => {
    const { toolCallId, state, output, errorText, preliminary } = isObject(part) ? part : {}
    if (state === 'output-available' && !preliminary) return [{ toolCallId, result: output }]
    return state === 'output-error'
      ? [{ toolCallId, error: { message: textIn(errorText).slice(0, 65_536) } }]
      : []
  })
}

function writer({ requestId, isVoid }: WriterOf): Writer {
  const stream = new UiMessageStream(requestId, isVoid)
  const text = (chunks: UiChunk[]) => chunks.map(formatChunk).join('')
  return {
    seen: (events) => stream.seen(events),
    text: (event) => text(stream.take(event)),
    end: () => text(stream.finish()) + DONE,
    headers: UI_HEADERS,
  }
}
