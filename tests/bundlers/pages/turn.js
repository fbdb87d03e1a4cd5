import { customModel, defineTool, runTurn } from 'turnlock'

const model = customModel(async function* ({ messages }) {
  if (JSON.stringify(messages).includes('TOOL RESULT')) return yield { type: 'text', text: 'seen' }
  yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
  yield { type: 'tool_call_end', index: 0 }
  yield { type: 'finish', reason: 'tool_calls', raw: '' }
})
const look = defineTool({ description: '', inputSchema: {}, readOnly: true, execute: () => 'x' })
const messages = [{ role: 'user', content: 'go' }]

export const run = async () => {
  const { status, text, toolResults, error } = await runTurn({ model, messages, tools: { look } })
    .result
  return error?.code ?? `${status} ${text} ${toolResults.length}`
}
