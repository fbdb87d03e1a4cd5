// `ai`: what generateText sends through @ai-sdk/openai-compatible, seen by a fetch that records.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { convertToModelMessages, generateText, pruneMessages } from 'ai'
import { textOf } from './read.mjs'
import { recorder } from './recorder.mjs'
import { Unfit } from './unfit.mjs'

/** System messages stay where the history has them; the option for it is documented. */
async function send(messages) {
  const { fetch, sent } = recorder()
  const provider = createOpenAICompatible({ name: 'x', baseURL: 'http://x/v1', fetch })
  await generateText({ model: provider('m'), messages, allowSystemInMessages: true, maxRetries: 0 })
  return sent()
}

const role = (m) => (m.role === 'developer' ? 'system' : m.role)

/** As `ai` reads the arguments of a call itself: none are {}, what is no JSON stays a text. */
function input(args) {
  if (!args.trim()) return {}
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}

function output({ result, error }) {
  if (typeof result === 'string') return { type: error ? 'error-text' : 'text', value: result }
  return { type: error ? 'error-json' : 'json', value: result }
}

/** One ModelMessage for each entry. A result names its tool: that of the call with its id. */
function toModelMessages(list) {
  const calls = list.flatMap((m) => (m.parts ?? []).flatMap((part) => part.call ?? []))
  const nameOf = (id) => calls.find((call) => call.id === id)?.name ?? 'unknown'
  return list.map((m) => {
    if (m.role === 'tool') {
      const { id, name = nameOf(id) } = m
      const part = { type: 'tool-result', toolCallId: id, toolName: name, output: output(m) }
      return { role: 'tool', content: [part] }
    }
    if (m.role !== 'assistant') return { role: role(m), content: m.content }
    if (m.parts.every(({ text }) => text !== undefined)) return { role: m.role, content: textOf(m) }
    const content = m.parts.map(({ text, reasoning, call }) => {
      if (call?.partial) throw new Unfit('a call that is still streaming')
      if (text !== undefined) return { type: 'text', text }
      if (reasoning !== undefined) return { type: 'reasoning', text: reasoning }
      const { id, name, args } = call
      return { type: 'tool-call', toolCallId: id, toolName: name, input: input(args) }
    })
    return { role: 'assistant', content }
  })
}

/**
 * One UIMessage for each entry but results: those are the state of a part in this shape, so a
 * result goes to the last part with its id, an unanswered one first; one that finds none does
 * not fit.
 */
function toUIMessages(list) {
  const parts = []
  const messages = []
  for (const m of list) {
    if (m.role === 'tool') {
      const own = parts.filter((part) => part.toolCallId === m.id)
      const part = own.findLast(({ state }) => state === 'input-available') ?? own.at(-1)
      if (!part) throw new Unfit('a result without a call before it')
      Object.assign(part, m.error ? failed(m) : { state: 'output-available', output: m.result })
    } else if (m.role === 'assistant') {
      const own = m.parts.map(uiPart)
      parts.push(...own)
      messages.push({ role: 'assistant', parts: [{ type: 'step-start' }, ...own] })
    } else {
      const text = (content) => ({ type: 'text', text: content })
      const { content } = m
      messages.push({ role: role(m), parts: Array.isArray(content) ? content : [text(content)] })
    }
  }
  return messages
}

const failed = ({ result }) => ({ state: 'output-error', errorText: String(result) })

function uiPart({ text, reasoning, call }) {
  if (text !== undefined) return { type: 'text', text }
  if (reasoning !== undefined) return { type: 'reasoning', text: reasoning }
  const state = call.partial ? 'input-streaming' : 'input-available'
  return { type: `tool-${call.name}`, toolCallId: call.id, state, input: input(call.args) }
}

// With `toolCalls: 'all'` pruneMessages would throw every call and result away; the default only
// drops messages without content.
export const modelMessages = {
  plainly: (list) => send(toModelMessages(list)),
  'with pruneMessages': (list) => send(pruneMessages({ messages: toModelMessages(list) })),
}

const fromUI = (list, { shape, input }, options) =>
  convertToModelMessages(
    shape === 'uimessage' ? structuredClone(input) : toUIMessages(list),
    options,
  )

const IGNORE = { ignoreIncompleteToolCalls: true }

export const uiMessages = {
  plainly: async (list, entry) => send(await fromUI(list, entry)),
  'with ignoreIncompleteToolCalls': async (list, entry) => send(await fromUI(list, entry, IGNORE)),
  'with ignoreIncompleteToolCalls and pruneMessages': async (list, entry) =>
    send(pruneMessages({ messages: await fromUI(list, entry, IGNORE) })),
}
