/**
 * Sessions of gemini-cli (`~/.gemini/tmp/…/chats/session-*.json` and `.jsonl`) and of qwen-code
 * (`~/.qwen/projects/…/chats/*.jsonl`). Both keep what they send in the form of Gemini.
 *
 * Sources, read 2026-11-30: `ConversationRecord` and `convertSessionToClientHistory` in
 * github.com/google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts and
 * utils/sessionUtils.ts (2026-08); `ChatRecord` and `SessionApiHistoryAccumulator` in
 * github.com/QwenLM/qwen-code, packages/core/src/services (2026-11).
 */
import { isObject } from '../../checks.js'
import { listOf, type JsonObject, type Reader } from './recording.js'

const isHeader = ({ sessionId, projectHash }: JsonObject) =>
  typeof sessionId === 'string' && typeof projectHash === 'string'

export const readGeminiCli: Reader = (records) => {
  if (!records.some(isHeader)) return undefined
  const messages = new Map<unknown, JsonObject>()
  const restart = (list: readonly unknown[]) => {
    messages.clear()
    for (const message of list.filter(isObject)) messages.set(message['id'], message)
  }
  for (const record of records) {
    const { $rewindTo: rewound, $set: update, messages: all, id } = record
    if (rewound !== undefined) {
      const ids = [...messages.keys()]
      for (const later of ids.slice(Math.max(ids.indexOf(rewound), 0))) messages.delete(later)
    } else if (isObject(update)) {
      if (Array.isArray(update['messages'])) restart(update['messages'])
    } else if (Array.isArray(all) && isHeader(record)) {
      restart(all)
    } else if (id !== undefined) {
      messages.set(id, record)
    }
  }
  return {
    format: 'gemini-cli session',
    history: [...messages.values()].flatMap(contentsOf),
    dialect: 'gemini',
  }
}

const partsOf = (content: unknown): JsonObject[] =>
  listOf(content).map((part) => (typeof part === 'string' ? { text: part } : part))

/** What gemini-cli does not send of the user's messages: commands and its own context. */
const isLocal = (parts: readonly JsonObject[]) => {
  const text = parts.map((part) => part['text'] ?? '').join('')
  return parts.every((part) => 'text' in part) && (!text.trim() || /^\s*[/?]/.test(text))
}

/** A message as Gemini's contents: what was said, and the results of its calls. */
function contentsOf({ type, content, toolCalls }: JsonObject): JsonObject[] {
  const parts = partsOf(content)
  if (type === 'user') return isLocal(parts) ? [] : [{ role: 'user', parts }]
  if (type !== 'gemini') return []
  const calls: JsonObject[] = listOf(toolCalls).filter(isObject)
  // Newer versions keep the calls in `content` too, with their thought signatures.
  const isWhole = parts.some((part) => part['functionCall'])
  const callParts = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))
  const answer = isWhole ? parts : [...parts, ...callParts]
  const results = calls.flatMap(resultsOf)
  return [
    ...(answer.length ? [{ role: 'model', parts: answer }] : []),
    ...(results.length ? [{ role: 'user', parts: results }] : []),
  ]
}

function resultsOf({ id, name, result }: JsonObject): JsonObject[] {
  if (typeof result === 'string') {
    return [{ functionResponse: { id, name, response: { output: result } } }]
  }
  return partsOf(result)
}

const isQwen = ({ uuid, parentUuid, type, message }: JsonObject) =>
  typeof uuid === 'string' &&
  parentUuid !== undefined &&
  ['user', 'assistant', 'tool_result'].includes(type) &&
  isObject(message) &&
  Array.isArray(message['parts'])

/** A checkpoint of qwen-code, which replaces the history before it. */
const compressedIn = ({ subtype, systemPayload }: JsonObject): unknown =>
  subtype === 'chat_compression' ? systemPayload?.compressedHistory : undefined

export const readQwenCode: Reader = (records) => {
  if (!records.some(isQwen)) return undefined
  let history: JsonObject[] = []
  const main = records.filter(({ isSidechain }) => !isSidechain)
  for (const record of chain(main.some(isQwen) ? main : records)) {
    const compressed = compressedIn(record)
    if (Array.isArray(compressed)) history = compressed.filter(isObject)
    else if (isQwen(record) && record['subtype'] !== 'realtime_message') {
      history.push(record['message'])
    }
  }
  return { format: 'qwen-code session', history }
}

/** Records from the root to the last one: a rewind begins another branch. */
function chain(records: readonly JsonObject[]): JsonObject[] {
  const places = new Map(records.map(({ uuid }, at) => [uuid, at]))
  const selection = new Set<number>()
  let at = records.length - 1
  while (at >= 0 && !selection.has(at)) {
    selection.add(at)
    const { parentUuid: parent } = records[at] as JsonObject
    at = parent ? (places.get(parent) ?? at - 1) : -1
  }
  return records.filter((_, place) => selection.has(place))
}
