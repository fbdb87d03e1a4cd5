import { diagnoseHistory, normalizeHistory } from 'turnlock'

export const run = () => {
  const history = [
    { role: 'tool', tool_call_id: 'x', content: 'orphan' },
    { role: 'user', content: 'go' },
  ]
  const { messages, repairs } = normalizeHistory(history, { dialect: 'openai-chat' })
  return `${messages.length} ${repairs[0].code} ${diagnoseHistory(messages, { dialect: 'openai-chat' }).length}`
}
