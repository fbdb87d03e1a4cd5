// `@langchain/core`: messages coerced by the library, then what ChatOpenAI of @langchain/openai
// sends. That package brings the whole SDK of OpenAI, so it is no dependency here; without it the
// fields of the library's messages are put into OpenAI's as they are.
import {
  AIMessage,
  coerceMessageLikeToMessage,
  collapseToolCallChunks,
  trimMessages,
} from '@langchain/core/messages'
import { plain, textOf } from './read.mjs'
import { recorder } from './recorder.mjs'
import { Unfit } from './unfit.mjs'

const openai = await import('@langchain/openai').catch(() => undefined)

export const wire = openai ? '@langchain/openai' : undefined

/** The arguments as the library itself reads streamed ones. */
function toMessage(m) {
  if (m.role === 'tool') {
    const content = typeof m.result === 'string' ? m.result : JSON.stringify(m.result)
    const status = m.error ? 'error' : 'success'
    return { role: 'tool', tool_call_id: m.id, name: m.name, content, status }
  }
  if (m.role !== 'assistant') return { role: m.role, content: m.content }
  const calls = m.parts.flatMap((part) => part.call ?? [])
  if (calls.some(({ partial }) => partial)) throw new Unfit('a call that is still streaming')
  const chunks = calls.map(({ id, name, args }, index) => ({
    id,
    name,
    args,
    index,
    type: 'tool_call_chunk',
  }))
  const { tool_calls, invalid_tool_calls } = collapseToolCallChunks(chunks)
  return new AIMessage({ content: textOf(m), tool_calls, invalid_tool_calls })
}

const toMessages = (list, { shape, input }) =>
  (shape === 'langchain' ? structuredClone(input) : list.map(toMessage)).map(
    coerceMessageLikeToMessage,
  )

async function send(messages) {
  if (!openai) return plain(messages.map(fields))
  const { fetch, sent } = recorder()
  const options = { model: 'gpt-4o', apiKey: 'x', maxRetries: 0, configuration: { fetch } }
  await new openai.ChatOpenAI(options).invoke(messages)
  return sent()
}

function fields(m) {
  const content = Array.isArray(m.content)
    ? m.content.map(({ text }) => text ?? '').join('')
    : m.content
  const type = m.getType()
  if (type === 'tool') return { role: 'tool', id: m.tool_call_id, result: content }
  if (type !== 'ai') return { role: type === 'human' ? 'user' : 'system', content }
  const calls = m.tool_calls.map(({ id, name, args }) => ({ id, name, args: JSON.stringify(args) }))
  return { role: 'assistant', parts: [{ text: content }, ...calls.map((call) => ({ call }))] }
}

/** The options that the documentation of trimMessages names for a valid history. */
const TRIM = {
  maxTokens: Infinity,
  tokenCounter: (messages) => messages.length,
  strategy: 'last',
  startOn: 'human',
  endOn: ['human', 'tool'],
  includeSystem: true,
}

export const messages = {
  plainly: (list, entry) => send(toMessages(list, entry)),
  'with trimMessages': async (list, entry) =>
    send(await trimMessages(toMessages(list, entry), TRIM)),
}
