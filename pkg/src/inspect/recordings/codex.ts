/**
 * Sessions of Codex: `~/.codex/sessions/…/rollout-*.jsonl`, a line for each item of Responses; and
 * what `codex exec --json` prints.
 *
 * Source: `RolloutItem` and `ResponseItem` in github.com/openai/codex, codex-rs/history and
 * codex-rs/protocol (CLI 0.146), and `ThreadEvent` in codex-rs/exec (read 2026-11-30). Files from before September 2025 have the items
 * without an envelope, after a line with `id`, `timestamp` and `instructions`.
 */
import { isObject } from '../../checks.js'
import { listOf, type JsonObject, type Reader } from './recording.js'

const RECORDS = [
  'session_meta',
  'response_item',
  'turn_context',
  'event_msg',
  'compacted',
  'world_state',
]
/** Items that Codex keeps for itself and does not send. */
const LOCAL = ['ghost_snapshot', 'compaction_trigger', 'other']
/** Members of items that Codex keeps for itself. */
const LOCAL_MEMBERS = ['internal_chat_message_metadata_passthrough', 'ghost_commit']

const isRecord = ({ type, payload }: JsonObject) => RECORDS.includes(type) && isObject(payload)
const isOldHeader = ({ type, timestamp, id, instructions, git, record_type: kind }: JsonObject) =>
  type === undefined &&
  (kind === 'state' ||
    (typeof timestamp === 'string' &&
      typeof id === 'string' &&
      (instructions !== undefined || git !== undefined)))

export const readCodex: Reader = (records) => {
  const isOld = isObject(records[0]) && isOldHeader(records[0])
  if (!isOld && !records.some(isRecord)) return undefined
  let history: JsonObject[] = []
  for (const record of records) {
    const { type, payload } = isOld && !isRecord(record) ? old(record) : record
    if (!isObject(payload)) continue
    if (type === 'response_item') history.push(...itemsOf([payload]))
    if (type === 'compacted') history = compacted(history, payload)
    if (payload['type'] === 'thread_rolled_back') {
      history = rolledBack(history, Number(payload['num_turns']))
    }
  }
  return { format: 'Codex session', history, dialect: 'openai-responses' }
}

const old = (item: JsonObject): JsonObject =>
  isOldHeader(item) ? {} : { type: 'response_item', payload: item }

/** Items as Codex sends them. */
const itemsOf = (items: readonly JsonObject[]): JsonObject[] =>
  items
    .filter((item) => isObject(item) && !LOCAL.includes(String(item['type'])))
    .map((item) => {
      const { output, ...rest } = item
      for (const name of LOCAL_MEMBERS) delete rest[name]
      if (output === undefined) return rest
      // Until 2025-08 a failure was written as an object; the provider was sent its text.
      const isWrapped = isObject(output) && typeof output['content'] === 'string'
      return { ...rest, output: isWrapped ? output['content'] : output }
    })

/** A checkpoint replaces the history. Old ones have a summary only, and what the user said stays. */
function compacted(history: readonly JsonObject[], checkpoint: JsonObject): JsonObject[] {
  const { replacement_history: replaced, message } = checkpoint
  if (Array.isArray(replaced)) return itemsOf(replaced)
  const summary = { type: 'output_text', text: String(message ?? '') }
  return [
    ...history.filter(({ role }) => role === 'user' || role === 'developer'),
    { type: 'message', role: 'assistant', content: [summary] },
  ]
}

/** Without the last turns that the user took back. */
function rolledBack(history: readonly JsonObject[], turns: number): JsonObject[] {
  const begins = history.flatMap((item, at) => (isPrompt(item) ? [at] : []))
  if (!(turns > 0)) return [...history]
  return history.slice(0, begins.at(-turns) ?? begins[0] ?? history.length)
}

/** Whether the user wrote it: Codex adds its context as messages of the user, too. */
function isPrompt({ role, content }: JsonObject): boolean {
  const [first] = listOf(content)
  const text = String(isObject(first) ? (first['text'] ?? '') : (first ?? ''))
  return role === 'user' && !/^\s*(<[a-z_]+>|# AGENTS\.md)/.test(text)
}

/** Events of `codex exec --json`, without the prompt: an item for each text and each call. */
export const readCodexEvents: Reader = (records) => {
  if (!records.some(({ type }) => type === 'thread.started')) return undefined
  // Later events about an item replace earlier ones; ids begin anew with a thread.
  const items = new Map<string, JsonObject>()
  let thread = 0
  for (const { type, item } of records) {
    if (type === 'thread.started') thread++
    if (/^item\./.test(type) && isObject(item)) items.set(`${thread} ${item['id']}`, item)
  }
  return { format: 'Codex exec events', history: [...items.values()].flatMap(messagesOf) }
}

/** An item as messages of the AI SDK: a text, or a call and its result. */
function messagesOf(item: JsonObject): JsonObject[] {
  const { id, item_type: olderType, type = olderType, status, text, ...rest } = item
  if (/^(agent|assistant)_message$|^reasoning$/.test(type)) {
    const kind = type === 'reasoning' ? type : 'text'
    return [{ role: 'assistant', content: [{ type: kind, text: String(text ?? '') }] }]
  }
  const { command, aggregated_output: printed, server, tool, arguments: args, result, error } = rest
  const calls: Record<string, [name: string, input: unknown, value: unknown]> = {
    command_execution: [type, { command }, printed],
    mcp_tool_call: [`${server}__${tool}`, args, result],
    file_change: [type, rest, status],
    web_search: [type, rest, status],
    collab_tool_call: [type, rest, status],
  }
  const call = Object.hasOwn(calls, type) ? calls[type] : undefined
  if (!call) return []
  const [toolName, input, value] = call
  const names = { toolCallId: String(id), toolName }
  const callPart = { type: 'tool-call', ...names, input: input ?? {} }
  const messages: JsonObject[] = [{ role: 'assistant', content: [callPart] }]
  if (status === 'in_progress') return messages
  const isFailed = status === 'failed' || status === 'declined'
  const reason = isObject(error) ? error['message'] : value
  const output = isFailed
    ? { type: 'error-text', value: String(reason ?? status) }
    : { type: 'json', value: value ?? null }
  messages.push({ role: 'tool', content: [{ type: 'tool-result', ...names, output }] })
  return messages
}
