// @ts-nocheck
// One scripted response as Bedrock's `ConverseStream` streams it: binary frames of
// `application/vnd.amazon.eventstream`; or whole, as `Converse` gives it.
import { argumentPieces, argumentsOf, finishOf, isCut, unknown, usageOf } from './entry.js'

export const TYPE = 'application/vnd.amazon.eventstream'

const STOP = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens' }
STOP.content_filter = 'content_filtered'

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  return sum
})

function crc32(bytes) {
  let sum = 0xffffffff
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8)
  return (sum ^ 0xffffffff) >>> 0
}

/** One frame: lengths, their CRC, headers of texts, the payload, the CRC of it all. */
export function frame(headers, payload) {
  const encode = (text) => new TextEncoder().encode(text)
  const head = Object.entries(headers).flatMap(([name, value]) => {
    const [key, text] = [encode(name), encode(value)]
    return [key.length, ...key, 7, text.length >> 8, text.length & 255, ...text]
  })
  const data = encode(payload)
  const bytes = new Uint8Array(16 + head.length + data.length)
  const at = new DataView(bytes.buffer)
  at.setUint32(0, bytes.length)
  at.setUint32(4, head.length)
  at.setUint32(8, crc32(bytes.subarray(0, 8)))
  bytes.set(head, 12)
  bytes.set(data, 12 + head.length)
  at.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
  return bytes
}

const event = (type, data) =>
  frame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    typeof data === 'string' ? data : JSON.stringify(data),
  )

/**
 * Frames.
 * @param {import('./entry.js').Entry} entry
 */
export function stream(entry) {
  const frames = [event('messageStart', { role: 'assistant' })]
  let contentBlockIndex = 0
  const block = (deltas, start, open) => {
    const at = { contentBlockIndex: contentBlockIndex++ }
    if (start) frames.push(event('contentBlockStart', { ...at, start }))
    for (const delta of deltas) frames.push(event('contentBlockDelta', { ...at, delta }))
    if (!open) frames.push(event('contentBlockStop', at))
  }
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const thought = (own) => ({ reasoningContent: own })
  if (reasoning.length) {
    block([...reasoning.map((piece) => thought({ text: piece })), thought({ signature: 'sig' })])
  }
  for (const { toolUse, toolResult } of blocks) {
    const { input, content, ...own } = toolUse ?? toolResult
    if (toolUse) block([{ toolUse: { input: JSON.stringify(input) } }], { toolUse: own })
    else block([{ toolResult: content }], { toolResult: own })
  }
  if (text.length) block(text.map((piece) => ({ text: piece })))
  calls.forEach((call, index) => {
    const cut = isCut(entry, index)
    const pieces = argumentPieces(call, cut)
    const toolUse = { toolUseId: call.id, name: call.name }
    block(
      pieces.map((input) => ({ toolUse: { input } })),
      { toolUse },
      cut,
    )
  })
  if (textAfter.length) block(textAfter.map((piece) => ({ text: piece })))
  if (entry.then === 'error') {
    const headers = {
      ':exception-type': 'serviceUnavailableException',
      ...{ ':content-type': 'application/json', ':message-type': 'exception' },
    }
    return [...frames, frame(headers, '{"message":"The model is overloaded"}')]
  }
  if (entry.then === 'malformed') return [...frames, event('contentBlockDelta', '{"delta":{"te')]
  if (entry.then) return frames
  const { stopReason, usage, metrics } = whole(entry)
  frames.push(event('messageStop', { stopReason }))
  return [...frames, event('metadata', { usage, metrics })]
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 */
export function whole(entry) {
  const { input: inputTokens, output: outputTokens } = usageOf(entry)
  return {
    ...{ output: { message: { role: 'assistant', content: contentOf(entry) } } },
    stopReason: STOP[finishOf(entry)] ?? finishOf(entry),
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
    metrics: { latencyMs: 1 },
  }
}

function contentOf({ reasoning = [], blocks = [], text = [], calls = [], textAfter = [] }) {
  const said = (pieces) => (pieces.length ? [{ text: pieces.join('') }] : [])
  const reasoningText = { text: reasoning.join(''), signature: 'sig' }
  const thoughts = reasoning.length ? [{ reasoningContent: { reasoningText } }] : []
  const asked = calls.map((call) => ({
    toolUse: { toolUseId: call.id, name: call.name, input: argumentsOf(call) },
  }))
  return [...thoughts, ...blocks, ...said(text), ...asked, ...said(textAfter)]
}

/** The body of a failed request. */
export const failure = (_, message) => ({ message })

const KNOWN = ['messages', 'system', 'toolConfig', 'inferenceConfig', 'guardrailConfig']
KNOWN.push('additionalModelRequestFields', 'requestMetadata', 'performanceConfig')
KNOWN.push('additionalModelResponseFieldPaths', 'promptVariables', 'serviceTier')

/** What the API says to a request that breaks its rules; undefined for a good one. */
export function violation(body) {
  const strange = unknown(body, KNOWN)
  if (strange) return `The request has an unknown member: ${strange}`
  const { messages = [], toolConfig } = body
  if (messages[0]?.role !== 'user') return 'A conversation must start with a user message.'
  let asked = []
  for (const [at, { role, content = [] }] of messages.entries()) {
    if (role !== (at % 2 ? 'assistant' : 'user')) {
      return 'A conversation must alternate between user and assistant roles.'
    }
    if (!content.length)
      return `The content field in the Message object at messages.${at} is empty.`
    if (content.some(({ text }) => text !== undefined && !text.trim())) {
      return `The text field in the ContentBlock object at messages.${at} is blank.`
    }
    const tools = content.filter((block) => block.toolUse ?? block.toolResult)
    if (tools.length && !toolConfig?.tools?.length) {
      return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
    }
    const own = (block) => (block?.type ? [] : (block?.toolUseId ?? []))
    const results = content.flatMap((block) => own(block.toolResult))
    const open = asked.filter((id) => !results.includes(id))
    if (open.length) {
      return `Expected toolResult blocks at messages.${at}.content for the following Ids: ${open}`
    }
    if (results.length > asked.length) {
      return `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`
    }
    asked = content.flatMap((block) => own(block.toolUse))
    const inputs = content.flatMap((block) => (block.toolUse ? [block.toolUse.input] : []))
    if (inputs.some((input) => typeof input !== 'object')) {
      return `The format of the value at messages.${at}.content.toolUse.input is invalid`
    }
  }
  return messages.at(-1).role === 'user'
    ? undefined
    : 'The conversation must end with a user message.'
}

/** @returns {import('./entry.js').View} */
export function view({ messages = [], system = [], toolConfig }) {
  const text = (blocks = []) => blocks.map((block) => block.text ?? '').join('\n')
  const told = text(system)
  const [choice = null] = Object.keys(toolConfig?.toolChoice ?? {})
  return {
    tools: (toolConfig?.tools ?? []).map(({ toolSpec: { name, inputSchema } }) => ({
      ...{ name, schema: inputSchema?.json },
    })),
    // There is no such choice; it is said in words.
    choice: told.includes('Tools are disabled now.') ? 'none' : choice,
    system: told,
    list: messages,
    messages: messages.map(({ role, content = [] }) => ({
      role,
      text: text(content),
      results: content.flatMap(({ toolResult }) => (toolResult ? [text(toolResult.content)] : [])),
    })),
  }
}
