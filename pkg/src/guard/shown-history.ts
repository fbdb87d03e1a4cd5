/** What a framework's messages show of a user's turn: those of the AI SDK, LangChain and Mastra. */
import { isObject } from '../checks.js'
import type { HistoryCall, ToolCallSite } from './tool-guard.js'

type Shown = Pick<ToolCallSite, 'run' | 'turn' | 'past' | 'returned'>

/** Characters of the user's text that name a message. */
const NAMED = 256

/** Reads messages; nothing is known without them. */
export function shownHistory(messages: unknown): Shown {
  if (!Array.isArray(messages)) return { run: undefined, turn: undefined, past: undefined }
  const list = messages.filter(isObject)
  const at = list.findLastIndex((message) => roleOf(message) === 'user')
  const last = list[at]
  const text = last ? textOf(last['content']) : ''
  const past = list.slice(at + 1).flatMap(callsOf)
  const results = new Map(list.slice(at + 1).flatMap(resultsOf))
  return {
    returned: list.flatMap(returnedNames),
    run: last ?? list[0],
    turn:
      last && `${list.slice(0, at).filter(isUser).length} ${text.length} ${text.slice(0, NAMED)}`,
    past: past.map((call) =>
      results.has(call.id) ? { ...call, result: results.get(call.id) } : call,
    ),
  }
}

/** Whether the messages of the AI SDK have the user's approval of a call; undefined without one. */
export function approvalOf(messages: unknown, toolCallId: string | undefined): boolean | undefined {
  if (!Array.isArray(messages)) return undefined
  const parts = messages.filter(isObject).flatMap(({ content }) => partsOf(content))
  const requests = parts.filter(({ type }) => type === 'tool-approval-request')
  const ids = requests.filter((part) => part['toolCallId'] === toolCallId)
  const asked = new Set(ids.map(({ approvalId }) => approvalId))
  const responses = parts.filter(
    (part) => part['type'] === 'tool-approval-response' && asked.has(part['approvalId']),
  )
  const answer = responses.at(-1)?.['approved']
  return typeof answer === 'boolean' ? answer : undefined
}

type Message = Record<string, unknown>

/** The role of a message. LangChain's are classes with a `type`. */
function roleOf(message: Message): unknown {
  const { role, type } = message
  if (typeof role === 'string') return role
  const named: Record<string, string> = { human: 'user', ai: 'assistant', tool: 'tool' }
  return typeof type === 'string' ? named[type] : undefined
}

const isUser = (message: Message): boolean => roleOf(message) === 'user'

const partsOf = (content: unknown): Message[] =>
  Array.isArray(content) ? content.filter(isObject) : []

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsOf(content)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join('\n')

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

function callsOf(message: Message): HistoryCall[] {
  if (roleOf(message) !== 'assistant') return []
  const parts = partsOf(message['content']).filter(
    (part) => part['type'] === 'tool-call' && part['providerExecuted'] !== true,
  )
  const calls = [
    ...parts.map(({ toolCallId, toolName, input }) => [toolCallId, toolName, input]),
    ...partsOf(message['tool_calls']).map(({ id, name, args }) => [id, name, args]),
  ]
  return calls.map(([id, name, args]) => {
    return { id: stringOf(id), name: stringOf(name) ?? '', args: objectOf(args) }
  })
}

/** The tools whose results a message has. */
function returnedNames(message: Message): string[] {
  if (roleOf(message) !== 'tool') return []
  const parts = partsOf(message['content']).map(({ toolName }) => toolName)
  return [message['name'], ...parts].filter((name) => typeof name === 'string')
}

/** Arguments as an object: a text that is no JSON is that of a tool with one text. */
export function objectOf(args: unknown): object {
  if (isObject(args)) return args
  if (typeof args === 'string' && args.trim() === '') return {}
  try {
    const value: unknown = typeof args === 'string' ? JSON.parse(args) : undefined
    if (isObject(value)) return value
  } catch {
    // Not JSON.
  }
  return { input: args ?? null }
}

function resultsOf(message: Message): [id: string | undefined, result: unknown][] {
  if (roleOf(message) !== 'tool') return []
  const own = stringOf(message['tool_call_id'])
  if (own !== undefined) return [[own, message['content']]]
  return partsOf(message['content']).flatMap(({ type, toolCallId, output }) => {
    const { type: kind, value } = isObject(output) ? output : { type: '', value: output }
    // The user denied it, so it has not run.
    if (type !== 'tool-result' || kind === 'execution-denied') return []
    return [[stringOf(toolCallId), value ?? null] satisfies [string | undefined, unknown]]
  })
}
