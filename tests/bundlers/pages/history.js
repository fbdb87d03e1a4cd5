import { diagnose, normalize } from 'turnlock'

export const run = () => {
  const history = [
    { role: 'tool', tool_call_id: 'x', content: 'orphan' },
    { role: 'user', content: 'go' },
  ]
  const { messages, repairs } = normalize(history, { dialect: 'openai-chat' })
  return `${messages.length} ${repairs[0].code} ${diagnose(messages, { dialect: 'openai-chat' }).length}`
}
