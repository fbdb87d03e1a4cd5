/**
 * Bedrock: `ConverseStream`, with binary frames of `application/vnd.amazon.eventstream`, and
 * `Converse`.
 */
import {
  argumentPieces,
  argumentsOf,
  finishOf,
  isCut,
  unknownMember,
  usageOf,
  type RequestView,
  type ScriptEntry,
} from './entry.js'

interface ToolUse {
  toolUseId?: string
  type?: string
  input?: unknown
}

interface ToolResult {
  toolUseId?: string
  type?: string
  content?: TextBlock[]
}

interface TextBlock {
  text?: string
}

interface Block extends TextBlock {
  toolUse?: ToolUse
  toolResult?: ToolResult
}

export interface BedrockBody {
  messages?: { role: string; content?: Block[] }[]
  system?: TextBlock[]
  toolConfig?: {
    tools?: { toolSpec: { name: string; inputSchema?: { json?: unknown } } }[]
    toolChoice?: object
  }
}

export const CONTENT_TYPE = 'application/vnd.amazon.eventstream'

const STOP_REASONS: Record<string, string> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'content_filtered',
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  return sum
})

function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (const byte of bytes) sum = (CRC_TABLE[(sum ^ byte) & 255] as number) ^ (sum >>> 8)
  return (sum ^ 0xffffffff) >>> 0
}

const encode = (text: string) => new TextEncoder().encode(text)

/** Returns a frame: lengths, their CRC, string headers, the payload, the CRC of all of it. */
export function frame(headers: Record<string, string>, payload: string): Uint8Array {
  const head = Object.entries(headers).flatMap(([name, value]) => {
    const [key, text] = [encode(name), encode(value)]
    return [key.length, ...key, 7, text.length >> 8, text.length & 255, ...text]
  })
  const data = encode(payload)
  const bytes = new Uint8Array(16 + head.length + data.length)
  const words = new DataView(bytes.buffer)
  words.setUint32(0, bytes.length)
  words.setUint32(4, head.length)
  words.setUint32(8, crc32(bytes.subarray(0, 8)))
  bytes.set(head, 12)
  bytes.set(data, 12 + head.length)
  words.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
  return bytes
}

const event = (type: string, data: object | string) =>
  frame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    typeof data === 'string' ? data : JSON.stringify(data),
  )

/** Returns the frames of a streamed response. */
export function stream(entry: ScriptEntry): Uint8Array[] {
  const frames = [event('messageStart', { role: 'assistant' })]
  let blockCount = 0
  const pushBlock = (deltas: object[], start?: object, isOpen = false) => {
    const position = { contentBlockIndex: blockCount++ }
    if (start) frames.push(event('contentBlockStart', { ...position, start }))
    for (const delta of deltas) frames.push(event('contentBlockDelta', { ...position, delta }))
    if (!isOpen) frames.push(event('contentBlockStop', position))
  }
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  if (reasoning.length) {
    pushBlock([
      ...reasoning.map((piece) => ({ reasoningContent: { text: piece } })),
      { reasoningContent: { signature: 'sig' } },
    ])
  }
  for (const { toolUse, toolResult } of blocks as readonly Block[]) {
    if (toolUse) {
      const { input, ...start } = toolUse
      pushBlock([{ toolUse: { input: JSON.stringify(input) } }], { toolUse: start })
    } else {
      const { content, ...start } = toolResult as ToolResult
      pushBlock([{ toolResult: content }], { toolResult: start })
    }
  }
  if (text.length) pushBlock(text.map((piece) => ({ text: piece })))
  calls.forEach((call, index) => {
    const isOpen = isCut(entry, index)
    pushBlock(
      argumentPieces(call, isOpen).map((input) => ({ toolUse: { input } })),
      { toolUse: { toolUseId: call.id, name: call.name } },
      isOpen,
    )
  })
  if (textAfter.length) pushBlock(textAfter.map((piece) => ({ text: piece })))
  if (entry.then === 'error') {
    const headers = {
      ':exception-type': 'serviceUnavailableException',
      ':content-type': 'application/json',
      ':message-type': 'exception',
    }
    return [...frames, frame(headers, '{"message":"The model is overloaded"}')]
  }
  if (entry.then === 'malformed') return [...frames, event('contentBlockDelta', '{"delta":{"te')]
  if (entry.then) return frames
  const { stopReason, usage, metrics } = responseBody(entry)
  frames.push(event('messageStop', { stopReason }))
  return [...frames, event('metadata', { usage, metrics })]
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry) {
  const { input: inputTokens, output: outputTokens } = usageOf(entry)
  return {
    output: { message: { role: 'assistant', content: contentOf(entry) } },
    stopReason: STOP_REASONS[finishOf(entry)] ?? finishOf(entry),
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
    metrics: { latencyMs: 1 },
  }
}

function contentOf({
  reasoning = [],
  blocks = [],
  text = [],
  calls = [],
  textAfter = [],
}: ScriptEntry) {
  const textBlocks = (pieces: readonly string[]) =>
    pieces.length ? [{ text: pieces.join('') }] : []
  const reasoningText = { text: reasoning.join(''), signature: 'sig' }
  const toolUses = calls.map((call) => ({
    toolUse: { toolUseId: call.id, name: call.name, input: argumentsOf(call) },
  }))
  return [
    ...(reasoning.length ? [{ reasoningContent: { reasoningText } }] : []),
    ...blocks,
    ...textBlocks(text),
    ...toolUses,
    ...textBlocks(textAfter),
  ]
}

/** Returns the body of a failed request. */
export const failure = (_: number, message: string) => ({ message })

const MEMBERS = [
  'messages',
  'system',
  'toolConfig',
  'inferenceConfig',
  'guardrailConfig',
  'additionalModelRequestFields',
  'requestMetadata',
  'performanceConfig',
  'additionalModelResponseFieldPaths',
  'promptVariables',
  'serviceTier',
]

/** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
export function violation(body: BedrockBody): string | undefined {
  const unknown = unknownMember(body, MEMBERS)
  if (unknown) return `The request has an unknown member: ${unknown}`
  const { messages = [], toolConfig } = body
  if (messages[0]?.role !== 'user') return 'A conversation must start with a user message.'
  let requested: string[] = []
  for (const [at, { role, content = [] }] of messages.entries()) {
    if (role !== (at % 2 ? 'assistant' : 'user')) {
      return 'A conversation must alternate between user and assistant roles.'
    }
    if (!content.length)
      return `The content field in the Message object at messages.${at} is empty.`
    if (content.some(({ text }) => text !== undefined && !text.trim())) {
      return `The text field in the ContentBlock object at messages.${at} is blank.`
    }
    const toolBlocks = content.filter((block) => block.toolUse ?? block.toolResult)
    if (toolBlocks.length && !toolConfig?.tools?.length) {
      return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
    }
    const results = content.flatMap((block) => clientCallId(block.toolResult))
    const open = requested.filter((id) => !results.includes(id))
    if (open.length) {
      return `Expected toolResult blocks at messages.${at}.content for the following Ids: ${open}`
    }
    if (results.length > requested.length) {
      return `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`
    }
    requested = content.flatMap((block) => clientCallId(block.toolUse))
    const inputs = content.flatMap((block) => (block.toolUse ? [block.toolUse.input] : []))
    if (inputs.some((input) => typeof input !== 'object')) {
      return `The format of the value at messages.${at}.content.toolUse.input is invalid`
    }
  }
  return messages.at(-1)?.role === 'user'
    ? undefined
    : 'The conversation must end with a user message.'
}

/** The id of a call that the client runs. Blocks of tools that the provider runs have a `type`. */
const clientCallId = (block: ToolUse | ToolResult | undefined) =>
  block?.type ? [] : (block?.toolUseId ?? [])

export function view({ messages = [], system = [], toolConfig }: BedrockBody): RequestView {
  const systemText = textOf(system)
  const [choice = null] = Object.keys(toolConfig?.toolChoice ?? {})
  return {
    tools: (toolConfig?.tools ?? []).map(({ toolSpec: { name, inputSchema } }) => ({
      name,
      schema: inputSchema?.json,
    })),
    // The API has no such choice, so the prompt says it.
    choice: systemText.includes('Tools are disabled now.') ? 'none' : choice,
    system: systemText,
    list: messages,
    messages: messages.map(({ role, content = [] }) => ({
      role,
      text: textOf(content),
      results: content.flatMap(({ toolResult }) =>
        toolResult ? [textOf(toolResult.content)] : [],
      ),
    })),
  }
}

const textOf = (blocks: readonly TextBlock[] = []) =>
  blocks.map((block) => block.text ?? '').join('\n')
