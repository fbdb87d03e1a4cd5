// A model for `runTurn` from any chat model of LangChain.
import { customModel } from 'turnlock'

/** `reason` of Turnlock for what providers call the end of a response. */
const REASONS = {
  stop: 'stop',
  end_turn: 'stop',
  STOP: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  content_filter: 'content_filter',
}

export const langchainModel = (llm) =>
  customModel(async function* ({ messages, tools, tool_choice }, { signal }) {
    const choice = tool_choice && { tool_choice }
    // Messages and tools have the shapes of OpenAI Chat, which LangChain takes from anybody.
    const bound = tools?.length ? llm.bindTools(tools, choice) : llm
    const open = new Set()
    const usage = { inputTokens: 0, outputTokens: 0 }
    // Notices come as instructions, which some providers take at the beginning only. For these use
    // `policy: { resultsAs: 'native' }`, so that results are messages of tools.
    const taken = messages.map((message, at) =>
      at > 0 && message.role === 'system' ? { ...message, role: 'user' } : message,
    )
    for await (const chunk of await bound.stream(taken, { signal })) {
      const text = typeof chunk.content === 'string' ? chunk.content : textOf(chunk.content)
      if (text) yield { type: 'text', text }
      for (const { index = 0, id, name, args } of chunk.tool_call_chunks ?? []) {
        if (!open.has(index)) yield { type: 'tool_call_start', index, id: id ?? '', name }
        open.add(index)
        if (args) yield { type: 'tool_call_arguments', index, text: args }
      }
      // What the chunks say adds up.
      if (chunk.usage_metadata) {
        usage.inputTokens += chunk.usage_metadata.input_tokens
        usage.outputTokens += chunk.usage_metadata.output_tokens
        yield { type: 'usage', usage: { ...usage } }
      }
      const { finish_reason, stop_reason } = {
        ...chunk.additional_kwargs,
        ...chunk.response_metadata,
      }
      const raw = finish_reason ?? stop_reason
      if (raw) {
        for (const index of open) yield { type: 'tool_call_end', index }
        open.clear()
        yield { type: 'finish', reason: REASONS[raw] ?? 'other', raw }
      }
    }
  })

const textOf = (parts) =>
  parts.map((part) => (part.type?.startsWith('text') ? (part.text ?? '') : '')).join('')
