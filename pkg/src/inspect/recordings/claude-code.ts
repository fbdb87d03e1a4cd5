/**
 * Sessions of Claude Code (`~/.claude/projects/…/*.jsonl`), and what it prints with
 * `--output-format stream-json`; messages of the Claude Agent SDK are the same.
 *
 * Source of `stream-json`: code.claude.com/docs/en/agent-sdk/typescript (read 2026-11-30). Session
 * files have no published schema; their form is that of version 2.1 (2026-11), where each line is an
 * entry of a tree (`uuid`, `parentUuid`), and each block of a response has a line of its own with the
 * response's `message.id`.
 */
import { isObject } from '../../checks.js'
import { listOf, type JsonObject, type Reader } from './recording.js'

const isTurn = ({ type, message }: JsonObject): boolean =>
  (type === 'user' || type === 'assistant') &&
  isObject(message) &&
  message['role'] === type &&
  message['content'] !== undefined

/** Whether the line has a member that Claude Code alone writes. */
const isOwn = (line: JsonObject): boolean =>
  ['sessionId', 'session_id', 'parentUuid', 'parent_tool_use_id', 'uuid'].some((key) => key in line)

/** A response that Claude Code wrote itself, such as the error of the provider. */
const isSynthetic = ({ isApiErrorMessage, message }: JsonObject): boolean =>
  Boolean(isApiErrorMessage) || message.model === '<synthetic>'

const idsOf = (line: JsonObject, type: string, id: string): string[] =>
  listOf(line['message']?.content).flatMap((block) =>
    isObject(block) && block['type'] === type && block[id] ? [String(block[id])] : [],
  )

export const readClaudeCode: Reader = (records) => {
  const turns = records.filter(isTurn)
  if (!turns.length || !turns.some(isOwn)) return undefined
  const isSession = records.some((line) => 'parentUuid' in line || 'sessionId' in line)
  // The file of a subagent has nothing but its lines; elsewhere they are of another conversation.
  const isMain = (line: JsonObject) => !line['isSidechain'] && !line['parent_tool_use_id']
  const main = turns.some(isMain) ? records.filter(isMain) : records
  const lines = (isSession ? branch(main) : main).filter(isTurn)
  return {
    format: isSession ? 'Claude Code session' : 'Claude Code stream-json',
    history: messagesOf(lines.filter((line) => !isSynthetic(line))),
    dialect: 'anthropic',
  }
}

/**
 * Lines of the branch that ends with the last line, in their order. Of a response with several calls,
 * each block and each result hangs on a line of its own, beside the chain.
 */
function branch(lines: readonly JsonObject[]): readonly JsonObject[] {
  const places = new Map<string, number>()
  lines.forEach(({ uuid }, at) => uuid && places.set(String(uuid), at))
  // Some tools write the lines without links.
  if (!lines.some(({ parentUuid: parent }) => places.has(String(parent)))) return lines
  const selection = new Set<number>()
  let at = lines.findLastIndex((line) => isTurn(line))
  while (at >= 0 && !selection.has(at)) {
    selection.add(at)
    const { parentUuid: parent } = lines[at] as JsonObject
    // Where the file lacks the parent, the conversation goes on with the line before.
    at = parent === null ? -1 : (places.get(String(parent)) ?? at - 1)
  }
  const responses = new Set<string>()
  for (const place of selection) {
    const id = lines[place]?.['message']?.id
    if (id) responses.add(String(id))
  }
  const isBlock = ({ type, message }: JsonObject) =>
    type === 'assistant' && responses.has(String(message?.id))
  lines.forEach((line, place) => isBlock(line) && selection.add(place))
  const calls = new Set(
    [...selection].flatMap((place) => idsOf(lines[place] ?? {}, 'tool_use', 'id')),
  )
  const last = lines.findLastIndex((_, place) => selection.has(place))
  lines.forEach((line, place) => {
    const results = idsOf(line, 'tool_result', 'tool_use_id')
    if (place < last && results.some((id) => calls.has(id))) selection.add(place)
  })
  return lines.filter((_, place) => selection.has(place))
}

/** Joins the lines of a response, and messages of the user that follow each other. */
function messagesOf(lines: readonly JsonObject[]): JsonObject[] {
  const messages: Message[] = []
  const responses = new Map<string, Message>()
  for (const { message } of lines) {
    const { role, id, content } = message
    const last = messages.at(-1)
    // Results of calls may stand between the lines of a response.
    const response = id ? responses.get(String(id)) : undefined
    if (response) response.addNew(content)
    else if (role === 'user' && last?.role === 'user') last.add(content)
    else {
      const added = new Message(role, content)
      messages.push(added)
      if (id) responses.set(String(id), added)
    }
  }
  return messages.map(({ role, content }) => ({ role, content }))
}

const blocksOf = (content: unknown): unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)

/** A message of several lines. Content of one line stays as it is. */
class Message {
  readonly role: unknown
  readonly #first: unknown
  #blocks: unknown[] | undefined
  #seen: Set<string> | undefined

  constructor(role: unknown, content: unknown) {
    this.role = role
    this.#first = content
  }

  get content(): unknown {
    return this.#blocks ?? this.#first
  }

  add(content: unknown): void {
    this.#blocks ??= [...blocksOf(this.#first)]
    for (const block of blocksOf(content)) this.#blocks.push(block)
  }

  /** Adds the blocks that are not there yet: a line may repeat the blocks before it. */
  addNew(content: unknown): void {
    const blocks = (this.#blocks ??= [...blocksOf(this.#first)])
    const seen = (this.#seen ??= new Set(blocks.map((block) => JSON.stringify(block))))
    for (const block of blocksOf(content)) {
      const text = JSON.stringify(block)
      if (seen.has(text)) continue
      seen.add(text)
      blocks.push(block)
    }
  }
}
