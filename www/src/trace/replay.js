// The trace again, through Turnlock: a model that says what was said, tools that return what they
// returned. Nothing is asked and nothing runs.
import { customModel, defineTool, runTurn, signature } from 'turnlock'

/** The texts and calls of the last user turn that has a call, and the messages before them. */
function script({ calls, steps, messages }) {
  const { turn } = calls.at(-1)
  const own = steps.filter((step) => step.turn === turn)
  const before = messages.slice(0, messages.indexOf(own[0].message))
  return { before, own, calls: calls.filter((call) => call.turn === turn) }
}

const RECORDED = {
  description: 'Returns what it returned in the trace.',
  inputSchema: { type: 'object' },
  readOnly: true,
}

/**
 * Replays; gives each event as it comes.
 * @param {ReturnType<import('./calls.js').callsOf>} found
 * @param {import('../dock/log.js').Log} log gets what a test case of it needs
 */
export async function replay(found, maxTools, log, onEvent) {
  const { before, own, calls } = script(found)
  const answer = own.map(({ message }) => message).findLast((one) => !one.tool_calls)?.content
  let step = 0
  const deltas = []
  const say = function* ({ tools, tool_choice: choice }) {
    const message = own[step++]?.message
    const mayCall = tools?.length && choice !== 'none'
    if (!mayCall || !message?.tool_calls) {
      const text = answer || 'The trace has no answer; here the model would write it.'
      return yield { type: 'text', text: String(text) }
    }
    if (message.content) yield { type: 'text', text: String(message.content) }
    for (const [index, { id, function: call }] of message.tool_calls.entries()) {
      yield { type: 'tool_call_start', index, id, name: call.name }
      yield { type: 'tool_call_arguments', index, text: call.arguments }
      yield { type: 'tool_call_end', index }
    }
  }
  const model = customModel(async function* (request) {
    const own = []
    deltas.push(own)
    for (const delta of say(request)) {
      own.push(delta)
      yield delta
    }
  })
  const given = new Map()
  for (const { signed, result } of calls) given.set(signed, result ?? given.get(signed))
  const tools = {}
  for (const { name } of calls) {
    tools[name] ??= defineTool({
      ...RECORDED,
      execute(args) {
        const signed = signature({ tool: name, args })
        const result = given.get(signed)
        if (result !== undefined || !given.has(signed)) return result ?? null
        throw new Error('the trace has no result of this call')
      },
    })
  }
  const [mode, policy] = ['two_stage', { maxTools }]
  const declared = Object.keys(tools).map((name) => ({ name, ...RECORDED }))
  log.turn = { mode, policy, messages: before, tools: declared, deltas }
  const turn = runTurn({ model, tools, messages: before, policy })
  for await (const event of turn) onEvent(event)
  return turn.result
}
