/** What clients of AG-UI send, and how they read a turn. */
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
import { jsonExcess } from '../../server/json-density.js'
import { AgUiStream, formatAgUi, type AgUiEvent } from './stream.js'

/** AG-UI over HTTP, as `HttpAgent` speaks it. */
export const agUiFormat: Format = { read, writer }

/** What a client keeps for itself. */
const OWN_ROLES = ['activity', 'reasoning']

/**
 * `RunAgentInput`: the thread is the conversation; its tools, state and context are not used: the
 * host has the definitions of its page's tools.
 */
function read(body: Fields): Asked {
  const about = {
    ...optional('conversationId', body.name('threadId')),
    ...optional('run', body.name('runId')),
  }
  const answers = body.list('resume') ?? []
  if (answers.length > 0) return { ...about, resume: resumeOf(answers) }
  const messages = needed(body.list('messages'), 'messages').filter(
    (message) => !(isObject(message) && OWN_ROLES.includes(textIn(message['role']))),
  )
  const results = resultsOf(messages)
  const requestId = results.at(-1)?.requestId
  if (requestId === undefined) return { ...about, messages }
  const outcomes = outcomesOf(results.filter((result) => result.requestId === requestId)) ?? []
  return { ...about, messages, resume: { requestId, approvals: [], outcomes } }
}

/**
 * The results behind the last call, by which a client says what its page has run. The id of a call
 * begins with that of its turn, a UUID: this format names no turns by itself.
 */
function resultsOf(messages: unknown[]) {
  const isResult = (message: unknown) => isObject(message) && message['role'] === 'tool'
  const from = messages.findLastIndex((message) => !isResult(message)) + 1
  return messages.slice(from).flatMap((message) => {
    const { toolCallId, content, error } = message as Record<string, unknown>
    const [, requestId, id] = /^([0-9a-f-]{36}):([^]+)$/.exec(textIn(toolCallId)) ?? []
    if (requestId === undefined) return []
    const outcome = error ? { error: { message: textIn(error) } } : { result: valueOf(content) }
    return [{ requestId, toolCallId: id, ...outcome }]
  })
}

/** A result is text in this protocol; that of a tool which returns JSON is JSON. */
function valueOf(content: unknown): unknown {
  // A text within the body's JSON, whose length bounds it as little.
  if (jsonExcess(new TextEncoder().encode(textIn(content)))) return content
  try {
    return JSON.parse(content as string)
  } catch {
    return content
  }
}

/** The answers to interrupts of one turn. */
function resumeOf(answers: unknown[]) {
  const turns = new Set<string>()
  const approvals = answers.map((answer, at) => {
    const { interruptId, status, payload } = isObject(answer) ? answer : {}
    const [, requestId, signature] = /^(.+):([0-9a-f]{64})$/.exec(textIn(interruptId)) ?? []
    if (!requestId) throw invalid(`resume.${at}.interruptId`, 'the id of an interrupt')
    turns.add(turnIdOf(requestId, `resume.${at}.interruptId`))
    const { approved, reason } = isObject(payload) ? payload : {}
    return { signature, approved: status === 'resolved' && approved === true, reason }
  })
  const [requestId = '', ...more] = turns
  if (more.length > 0) throw invalid('resume', 'answers to the interrupts of one run')
  return { requestId, approvals: approvalsOf(approvals) ?? [], outcomes: [] }
}

function writer({ requestId, conversationId, run, isVoid }: WriterOf): Writer {
  const threadId = conversationId ?? requestId
  const stream = new AgUiStream({ requestId, threadId, runId: run ?? requestId }, isVoid)
  const text = (events: AgUiEvent[]) => events.map(formatAgUi).join('')
  return {
    seen: (events) => stream.seen(events),
    text: (event) => text(stream.take(event)),
    end: () => text(stream.finish()),
    headers: {},
  }
}
