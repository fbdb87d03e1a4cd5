/** OpenAI's Responses: the history of a request. */
import { saysSomething } from './chat.js'
import { resultText, type Call, type PastCall } from './judge.js'
import { joinedText, list, object, stringify, text, type Members } from './json.js'
import type { RememberedCall } from './conversation.js'
import { INTERRUPTED, rowEnds, SAID_IN_BODY, type Wire } from './wire.js'

/** Calls that the provider runs itself. */
const OWN =
  /^(web_search|file_search|code_interpreter|image_generation|mcp|tool_search)(_preview)?_call$/

/** Whether the client is asked to run something, or to approve it: whatever is no call of the provider. */
function isCall({ type, execution, environment }: Members): boolean {
  const kind = joinedText(type)
  if (kind === 'mcp_approval_request' || execution === 'client') return true
  // A shell in a container of the provider.
  const isShell = /shell_call$/.test(kind)
  if (isShell && /^container/.test(text(object(environment).type))) return false
  return /_call$/.test(kind) && !OWN.test(kind)
}

/** What a call does, where it is no function: the members of any of the other types. */
const DOES = ['action', 'actions', 'operation', 'arguments', 'server_label']

function callOf(item: Members): Call {
  const name = text(item.name)
  const json = (args: unknown) => (typeof args === 'string' ? args : stringify(args))
  const { arguments: args = '', input = '' } = item
  if (item.type === 'function_call') return { name, args: json(args) }
  if (item.type === 'custom_tool_call') return { name, args: json(input), isText: true }
  const does = DOES.flatMap((member) => (item[member] == null ? [] : [[member, item[member]]]))
  return { name: name || text(item.type), args: stringify(Object.fromEntries(does)) }
}

/** Whether an item refers to one that only the provider has. Its `type` is optional. */
const isReference = (item: Members): boolean =>
  item.type === 'item_reference' ||
  (item.type === undefined && item.role === undefined && typeof item.id === 'string')

const idOf = ({ call_id, id }: Members): string => text(call_id) || text(id)

const isSpoken = ({ role, content }: Members): boolean => role === 'user' && saysSomething(content)

function turn(history: readonly unknown[], before: readonly RememberedCall[] = []): PastCall[] {
  let calls = new Map<string, PastCall>(before.map((call) => [call.id, call]))
  let earlier: PastCall[] = [...before]
  for (const item of history.map(object)) {
    if (isSpoken(item)) [calls, earlier] = [new Map(), []]
    if (isCall(item)) {
      const made: PastCall = { ...callOf(item), result: undefined }
      // The result of a call of a shell has the id of the item.
      calls.set(text(item.id), made).set(idOf(item), made)
      earlier.push(made)
    }
    const { type, approval_request_id: asked } = item
    const called = /_call_output$/.test(text(type))
      ? calls.get(idOf(item))
      : type === 'mcp_approval_response' && calls.get(text(asked))
    if (called) called.result = resultText(item.output ?? item.approve)
  }
  return earlier
}

export const responses: Wire = {
  name: 'responses',
  dialect: 'openai-responses',
  history: 'input',
  noTools: () => ['tool_choice', '"none"'],
  isWhole: (body) => !list(body.input).some((item) => isReference(object(item))),
  ...SAID_IN_BODY,
  orphans(history) {
    const calls = new Set(
      history.flatMap((value) => {
        const { type, call_id } = object(value)
        return /call$/.test(text(type)) ? [call_id] : []
      }),
    )
    return history.flatMap((value, index) => {
      const { type, call_id } = object(value)
      if (!/call_output$/.test(text(type)) || calls.has(call_id)) return []
      const about = { index, toolCallId: text(call_id), detail: 'no call has this result' }
      return [{ code: 'TOOL_RESULT_ORPHAN', action: 'dropped', ...about }]
    })
  },
  mend(elements, history, repairs, result = INTERRUPTED) {
    // Behind the calls that were made together.
    const ends = rowEnds(history, (item) => /call(_output)?$/.test(text(object(item).type)))
    for (const { code, index, toolCallId } of repairs) {
      if (code === 'TOOL_RESULT_ORPHAN') elements.set(index, [])
      else {
        const kind = object(history[index]).type === 'custom_tool_call' ? 'custom_tool' : 'function'
        const made = { type: `${kind}_call_output`, call_id: toolCallId, output: result }
        elements.add(ends[index] ?? index, JSON.stringify(made))
      }
    }
  },
  isSpoken,
  turn,
  ping: ': keep-alive\n\n',
  failure(code, message) {
    const error = { code, message }
    const response = { object: 'response', status: 'failed', error, output: [] }
    const json = { type: 'response.failed', response }
    return `event: response.failed\ndata: ${JSON.stringify(json)}\n\n`
  },
}
