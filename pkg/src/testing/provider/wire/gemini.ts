/**
 * Gemini: `streamGenerateContent` and `generateContent`. Calls are not divided in either.
 */
import {
  argumentPieces,
  argumentsOf,
  finishOf,
  isCut,
  unknownMember,
  usageOf,
  type Place,
  type RequestView,
  type ScriptEntry,
} from './entry.js'

interface Part {
  text?: string
  functionCall?: { args?: unknown; response?: undefined }
  functionResponse?: { args?: undefined; response: { result?: string } }
}

interface GeminiContent {
  role?: string
  parts?: Part[]
}

export interface GeminiBody {
  contents?: GeminiContent[]
  systemInstruction?: GeminiContent
  tools?: {
    functionDeclarations?: { name: string; parameters?: unknown; parametersJsonSchema?: unknown }[]
  }[]
  toolConfig?: { functionCallingConfig?: { mode?: string } }
}

const FINISH_REASONS: Record<string, string> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
}

const event = (data: object) => `data: ${JSON.stringify(data)}\r\n\r\n`

/** Returns the events of a streamed response. */
export function stream(entry: ScriptEntry, { n = 1 }: Place = {}): string[] {
  const chunk = (parts: unknown[], end?: object) => event(responseOf(entry, n, parts, end))
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const events = [
    ...reasoning.map((piece) => chunk([{ text: piece, thought: true }])),
    ...blocks.map((block) => chunk([block])),
    ...text.map((piece) => chunk([{ text: piece }])),
  ]
  for (const [index, call] of calls.entries()) {
    // An event is one line.
    const args = argumentPieces(call).join('').replaceAll('\n', ' ')
    const json = `{"functionCall":{"name":${JSON.stringify(call.name)},"args":${args || '{}'},"id":${JSON.stringify(call.id)}}}`
    const signature = index === 0 && reasoning.length ? ',"thoughtSignature":"sig"' : ''
    const part = `${json.slice(0, -1)}${signature}}`
    const callChunk = chunk(['PART']).replace('"PART"', () => part)
    events.push(
      isCut(entry, index) ? callChunk.slice(0, callChunk.indexOf('"args":') + 9) : callChunk,
    )
  }
  events.push(...textAfter.map((piece) => chunk([{ text: piece }])))
  if (entry.then === 'error') {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
    return [...events, event({ error })]
  }
  if (entry.then === 'malformed') return [...events, 'data: {"candidates":[{"content":{"pa\r\n\r\n']
  if (entry.then) return events
  return [...events, chunk([{ text: '' }], { finishReason: finishReasonOf(entry) })]
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry, { n = 1 }: Place = {}) {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const textParts = (pieces: readonly string[], members?: object) =>
    pieces.length ? [{ text: pieces.join(''), ...members }] : []
  const callParts = calls.map((call, index) => ({
    functionCall: { name: call.name, args: argumentsOf(call), id: call.id },
    ...(index === 0 && reasoning.length && { thoughtSignature: 'sig' }),
  }))
  const parts = [
    ...textParts(reasoning, { thought: true }),
    ...blocks,
    ...textParts(text),
    ...callParts,
    ...textParts(textAfter),
  ]
  return responseOf(entry, n, parts, { finishReason: finishReasonOf(entry) })
}

const finishReasonOf = (entry: ScriptEntry) => FINISH_REASONS[finishOf(entry)] ?? finishOf(entry)

/** `end`: the members of the candidate at the end of a response. */
function responseOf(entry: ScriptEntry, n: number, parts: unknown[], end?: object) {
  const { input, output } = usageOf(entry)
  const outputSoFar = end ? output : 1
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...end }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: outputSoFar,
      totalTokenCount: input + outputSoFar,
    },
    modelVersion: 'scripted',
    responseId: `r_${n}`,
  }
}

const ERROR_STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
}

/** Returns the body of a failed request. */
export function failure(status: number, message: string) {
  return { error: { code: status, message, status: ERROR_STATUSES[status] ?? 'UNAVAILABLE' } }
}

const MEMBERS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
]
const PART_MEMBERS = [
  'text',
  'functionCall',
  'functionResponse',
  'inlineData',
  'fileData',
  'thought',
  'thoughtSignature',
  'executableCode',
  'codeExecutionResult',
]

/** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
export function violation(
  body: GeminiBody,
  { search = '?alt=sse', streams = true }: { search?: string; streams?: boolean } = {},
): string | undefined {
  if (streams && new URLSearchParams(search).get('alt') !== 'sse') {
    return 'the scripted provider streams SSE only: ?alt=sse'
  }
  const unknown = unknownMember(body, MEMBERS)
  if (unknown) return unknownName(unknown)
  const { contents = [] } = body
  if (!contents.length) return 'GenerateContentRequest.contents: contents is not specified'
  let calls = 0
  for (const [at, { role, parts = [] }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (!parts.length) {
      return `GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`
    }
    for (const part of parts) {
      const unknownOfPart = unknownMember(part, PART_MEMBERS)
      if (unknownOfPart) return unknownName(unknownOfPart)
      const { args, response } = part.functionCall ?? part.functionResponse ?? { args: {} }
      if (typeof (args ?? response) !== 'object') return 'Invalid value at args or response'
    }
    const results = parts.filter((part) => part.functionResponse).length
    if (results && !calls) {
      return 'Please ensure that function response turn comes immediately after a function call turn.'
    }
    if (results !== calls) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    }
    calls = parts.filter((part) => part.functionCall).length
    if (calls && at === 0) {
      return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    }
  }
  if (calls || contents.at(-1)?.role !== 'user') {
    return 'Please ensure that single turn requests end with a user role.'
  }
  return undefined
}

const unknownName = (name: string) =>
  `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`

export function view({
  contents = [],
  systemInstruction,
  tools = [],
  toolConfig,
}: GeminiBody): RequestView {
  const declarations = tools.flatMap((tool) => tool.functionDeclarations ?? [])
  return {
    tools: declarations.map(({ name, parameters, parametersJsonSchema: schema = parameters }) => ({
      name,
      schema,
    })),
    choice: toolConfig?.functionCallingConfig?.mode?.toLowerCase() ?? null,
    system: textOf(systemInstruction),
    list: contents,
    messages: contents.map((content) => ({
      role: content.role === 'model' ? 'assistant' : (content.role ?? ''),
      text: textOf(content),
      results: (content.parts ?? []).flatMap(({ functionResponse }) =>
        functionResponse
          ? [functionResponse.response.result ?? JSON.stringify(functionResponse.response)]
          : [],
      ),
    })),
  }
}

const textOf = ({ parts = [] }: GeminiContent = {}) =>
  parts.map((part) => part.text ?? '').join('\n')
