/**
 * Sessions of Codex: `~/.codex/sessions/…/rollout-*.jsonl`, a line for each item of Responses.
 *
 * Source: `RolloutItem` and `ResponseItem` in github.com/openai/codex, codex-rs/history and
 * codex-rs/protocol (CLI 0.146, read 2026-11-30). Files from before September 2025 have the items
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
