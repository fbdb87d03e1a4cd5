// `@tanstack/ai`: what `chat` hands to a provider's adapter, then what the adapters for OpenAI's
// chat API make of it. Those are in @tanstack/openai-base, which brings the whole SDK of OpenAI,
// so it is no dependency here; without it the fields are put into OpenAI's as they are.
import { chat } from '@tanstack/ai'
import { BaseTextAdapter } from '@tanstack/ai/adapters'
import { textOf } from './read.mjs'
import { Unfit } from './unfit.mjs'

const base = await import('@tanstack/openai-base').catch(() => undefined)

export const wire = base ? '@tanstack/openai-base' : undefined

class Recorder extends BaseTextAdapter {
  kind = 'text'
  name = 'x'

  async *chatStream(options) {
    this.sent = toWire(options)
    const ids = { runId: 'r', threadId: 't', model: this.model, timestamp: 0 }
    yield { type: 'RUN_STARTED', ...ids }
    yield { type: 'RUN_FINISHED', ...ids, finishReason: 'stop' }
  }
}

function toWire(options) {
  if (base) {
    class Adapter extends base.OpenAIBaseChatCompletionsTextAdapter {}
    return new Adapter('m', 'x', {}).mapOptionsToRequest(options).messages
  }
  const { systemPrompts: system = [], messages } = options
  return [...system.map((content) => ({ role: 'system', content })), ...messages.map(fields)]
}

const fields = ({ role, content, toolCalls, toolCallId }) => ({
  role,
  content: toolCalls?.length ? content || null : content,
  ...(toolCalls?.length && { tool_calls: toolCalls }),
  ...(toolCallId && { tool_call_id: toolCallId }),
})

async function send(list, toShape) {
  const adapter = new Recorder({}, 'm')
  const first = list.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const rest = first < 0 ? list.length : first
  const systemPrompts = list.slice(0, rest).map(({ content }) => content)
  const options = { adapter, messages: toShape(list.slice(rest)), systemPrompts, debug: false }
  for await (const event of chat(options)) {
    if (event.type === 'RUN_ERROR') throw new Error(event.message)
  }
  if (!adapter.sent) throw new Error('no request was made')
  return adapter.sent
}

const text = (result) => (typeof result === 'string' ? result : JSON.stringify(result))

function toModelMessages(list) {
  return list.map((m) => {
    if (m.role === 'tool') return { role: 'tool', toolCallId: m.id, content: text(m.result) }
    if (m.role !== 'assistant') return { role: m.role, content: m.content }
    const calls = m.parts.flatMap((part) => part.call ?? [])
    if (calls.some(({ partial }) => partial)) throw new Unfit('a call that is still streaming')
    const toolCalls = calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }))
    return { role: 'assistant', content: textOf(m) || null, ...(toolCalls.length && { toolCalls }) }
  })
}

/** A result is a part of the message that holds its call: the last one with its id. */
function toUIMessages(list) {
  const messages = []
  list.forEach((m, index) => {
    const id = `m${index}`
    if (m.role === 'tool') {
      const holds = ({ parts }) =>
        parts.some((part) => part.type === 'tool-call' && part.id === m.id)
      const message = messages.findLast(holds)
      if (!message) throw new Unfit('a result without a call before it')
      const state = m.error ? 'error' : 'complete'
      const content = text(m.result)
      message.parts.push({ type: 'tool-result', toolCallId: m.id, content, state })
    } else if (m.role === 'assistant') {
      messages.push({ id, role: 'assistant', parts: m.parts.map(uiPart) })
    } else {
      const { role, content } = m
      const parts = Array.isArray(content) ? content : [{ type: 'text', content }]
      messages.push({ id, role: role === 'developer' ? 'system' : role, parts })
    }
  })
  return messages
}

function uiPart({ text: content, reasoning, call }) {
  if (content !== undefined) return { type: 'text', content }
  if (reasoning !== undefined) return { type: 'thinking', content: reasoning }
  const state = call.partial ? 'input-streaming' : 'input-complete'
  return { type: 'tool-call', id: call.id, name: call.name, arguments: call.args, state }
}

export const modelMessages = { plainly: (list) => send(list, toModelMessages) }
export const uiMessages = { plainly: (list) => send(list, toUIMessages) }
