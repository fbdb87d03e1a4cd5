/** OpenAI's Chat Completions: the history of a request. */
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import { list, object, stringify, text, type Members } from './json.js'
import type { RememberedCall } from './conversation.js'
import { INTERRUPTED, rowEnds, SAID_IN_BODY, type Wire } from './wire.js'

/** The name and the arguments of a call: of a function, or of a custom tool. */
function callOf(value: unknown): Call {
  const call = object(value)
  const [called, custom] = [object(call.function), object(call.custom)]
  const args = called.arguments ?? custom.input ?? ''
  const isText = !isFull(called) && isFull(custom) && typeof args === 'string'
  // Some servers send an object.
  const json = typeof args === 'string' ? args : stringify(args)
  return { name: text(called.name ?? custom.name), args: json, ...(isText && { isText }) }
}

function turn(history: readonly unknown[], before: readonly RememberedCall[] = []): PastCall[] {
  let calls = new Map<string, PastCall>(before.map((call) => [call.id, call]))
  let earlier: PastCall[] = [...before]
  for (const message of history.map(object)) {
    const { role, content } = message
    if (isSpoken(message)) [calls, earlier] = [new Map(), []]
    for (const call of list(message.tool_calls).map(object)) {
      const made: PastCall = { ...callOf(call), result: undefined }
      calls.set(text(call.id), made)
      earlier.push(made)
    }
    const called = role === 'tool' ? calls.get(text(message.tool_call_id)) : undefined
    if (called) called.result = resultText(content)
  }
  return earlier
}

const isSpoken = ({ role, content }: Members): boolean => role === 'user' && saysSomething(content)

/** Pictures and sounds are the user's words too. */
export const saysSomething = (content: unknown): boolean =>
  typeof content === 'string'
    ? isSaid(content)
    : list(content).some((part) => {
        const { type, text: said } = object(part)
        return /text$/.test(text(type)) ? isSaid(said) : true
      })

const isFull = (value: Members): boolean => Object.keys(value).length > 0

export const chat: Wire = {
  name: 'chat',
  dialect: 'openai-chat',
  history: 'messages',
  noTools: (body) => [list(body.functions).length ? 'function_call' : 'tool_choice', '"none"'],
  isWhole: () => true,
  ...SAID_IN_BODY,
  orphans: () => [],
  mend(elements, history, repairs, result = INTERRUPTED) {
    const ends = rowEnds(history, (message) => object(message).role === 'tool')
    for (const { code, index, toolCallId } of repairs) {
      if (code === 'TOOL_RESULT_ORPHAN') elements.set(index, [])
      else {
        const made = { role: 'tool', tool_call_id: toolCallId, content: result }
        elements.add(ends[index] ?? index, JSON.stringify(made))
      }
    }
  },
  isSpoken,
  turn,
  ping: ': keep-alive\n\n',
  failure(code, message) {
    const error = { message, type: 'api_error', code, param: null }
    return `data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`
  },
}
