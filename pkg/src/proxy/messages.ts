/** Anthropic's Messages: the history of a request. */
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import {
  elementsOf,
  joinedText,
  list,
  membersOf,
  object,
  stringify,
  text,
  type Members,
  type Range,
} from './json.js'
import type { Repair } from '../generated/common.js'
import type { Elements } from './history.js'
import type { RememberedCall } from './conversation.js'
import { INTERRUPTED, SAID_IN_BODY, type Wire } from './wire.js'

const isSpoken = ({ role, content }: Members): boolean =>
  role === 'user' && saysSomething(content, list(content).map(object))

function turn(history: readonly unknown[], before: readonly RememberedCall[] = []): PastCall[] {
  let calls = new Map<string, PastCall>(before.map((call) => [call.id, call]))
  let earlier: PastCall[] = [...before]
  for (const message of history.map(object)) {
    const blocks = list(message.content).map(object)
    // The results of the turn before a message of the user stand in that message.
    if (isSpoken(message)) [calls, earlier] = [new Map(), []]
    for (const block of blocks) {
      if (isCall(block)) {
        const made: PastCall = { ...callOf(block), result: undefined }
        calls.set(text(block.id), made)
        earlier.push(made)
      }
      const called = block.type === 'tool_result' ? calls.get(text(block.tool_use_id)) : undefined
      if (called) called.result = `${block.is_error === true}\n${resultText(block.content)}`
    }
  }
  return earlier
}

const saysSomething = (content: unknown, blocks: readonly Members[]): boolean =>
  isSaid(content) ||
  blocks.some(({ type, text: said }) =>
    type === 'text' ? isSaid(said) : type !== 'tool_result' && type !== undefined,
  )

/** What is left out of a message, and added to it. */
interface Edit {
  /** How many results of each call are left out. */
  drops: Map<string, number>
  adds: string[]
}

/** Edits each message once, however many repairs it needs. */
function mend(
  elements: Elements,
  history: readonly unknown[],
  repairs: readonly Repair[],
  result = INTERRUPTED,
): void {
  const edits = new Map<number, Edit>()
  /** Results of a message behind which no message of the user stands. */
  const behind = new Map<number, string[]>()
  const editOf = (index: number): Edit => {
    const edit = edits.get(index) ?? { drops: new Map<string, number>(), adds: [] }
    edits.set(index, edit)
    return edit
  }
  for (const { code, index, toolCallId = '' } of repairs) {
    if (code === 'TOOL_RESULT_ORPHAN') {
      const { drops } = editOf(index)
      drops.set(toolCallId, (drops.get(toolCallId) ?? 0) + 1)
      continue
    }
    const block = { type: 'tool_result', tool_use_id: toolCallId, content: result }
    const made = JSON.stringify({ ...block, is_error: true })
    if (object(history[index + 1]).role === 'user') editOf(index + 1).adds.push(made)
    else
      behind
        .set(index, behind.get(index) ?? [])
        .get(index)
        ?.push(made)
  }
  for (const [index, edit] of edits) {
    const message = edited(elements.text(index), edit)
    elements.set(index, message === undefined ? [] : [message])
  }
  for (const [index, made] of behind) {
    elements.add(index, `{"role":"user","content":[${made.join(',')}]}`)
  }
}

/** The text of a message with an edit; `undefined` if nothing of it is left. */
function edited(message: string, { drops, adds }: Edit): string | undefined {
  const content = membersOf(message).get('content')
  if (!content) return message
  const { start, end } = content
  const contentText = message.slice(start, end)
  const isText = contentText.startsWith('"')
  const ranges = isText ? [] : elementsOf(message, start)
  /** The places of blocks that stay. */
  const remaining: number[] = []
  // Added results stand behind those that are there, in the order of their calls, and before the rest.
  let results = 0
  ranges.forEach((range, at) => {
    const { type, tool_use_id: id } = object(JSON.parse(message.slice(range.start, range.end)))
    const dropCount = type === 'tool_result' ? (drops.get(text(id)) ?? 0) : 0
    if (dropCount > 0) drops.set(text(id), dropCount - 1)
    else remaining.push(at)
    if (dropCount === 0 && type === 'tool_result') results = remaining.length
  })
  const added = adds.join(',')
  const [before, after] = [message.slice(0, start), message.slice(end)]
  if (isText) {
    return adds.length
      ? `${before}[${added},{"type":"text","text":${contentText}}]${after}`
      : message
  }
  if (remaining.length === 0) return adds.length ? `${before}[${added}]${after}` : undefined
  // What stood between two blocks stays behind the first of them.
  let made = `${before}[${adds.length && results === 0 ? `${added},` : ''}`
  made += message.slice(start + 1, ranges[0]?.start)
  remaining.forEach((at, place) => {
    const range = ranges[at] as Range
    made += message.slice(range.start, range.end)
    if (adds.length && place + 1 === results) made += `,${added}`
    if (place + 1 < remaining.length) made += message.slice(range.end, ranges[at + 1]?.start)
  })
  return made + message.slice(ranges.at(-1)?.end)
}

const isCall = ({ type }: Members): boolean => joinedText(type) === 'tool_use'

const callOf = ({ name, input }: Members): Call => ({
  name: text(name),
  args: stringify(input ?? {}),
})

export const messages: Wire = {
  name: 'messages',
  dialect: 'anthropic',
  history: 'messages',
  noTools: () => ['tool_choice', '{"type":"none"}'],
  isWhole: () => true,
  ...SAID_IN_BODY,
  orphans: () => [],
  mend,
  isSpoken,
  turn,
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  failure(code, message) {
    const error = { type: 'api_error', message, code }
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  },
}
