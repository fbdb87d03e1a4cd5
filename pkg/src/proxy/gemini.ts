/** Gemini's `generateContent`: the history of a request. */
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import { listed, object, stringify, text, type Members } from './json.js'
import { METHOD_EXTENSION, plainPath } from './headers.js'
import type { Wire } from './wire.js'

/** A member of a part or a body, whose name the API takes in both spellings of protocol buffers. */
const either = (holder: Members, name: string): unknown => holder[name] ?? holder[snake(name)]

const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** One part may be an object. */
const partsOf = ({ parts }: Members): Members[] => listed(parts).map(object)

const callOf = ({ name, args }: Members): Call => ({
  name: text(name),
  args: stringify(args ?? {}),
})

/** What the AI SDK writes beside the image of a result, for models before Gemini 3. */
const OF_RESULT = 'Tool executed successfully and returned this image as a response'

/**
 * Whether the user says something: images and files are the user's words too, unless they stand beside a
 * result, whose content they are then.
 */
function isSpoken(content: Members): boolean {
  if (content.role === 'model') return false
  const parts = partsOf(content)
  const hasResult = parts.some((part) => either(part, 'functionResponse') !== undefined)
  return parts.some((part) => {
    if (part.text !== undefined) return part.text !== OF_RESULT && isSaid(part.text)
    return !hasResult && Object.keys(part).length > 0
  })
}

const isMedia = (part: Members): boolean =>
  either(part, 'inlineData') !== undefined || either(part, 'fileData') !== undefined

/**
 * The texts of a result by their lines, as results are compared. Its members have any names.
 *
 * @param media images and files in it, or beside it
 */
const resultOf = (response: unknown, media: readonly unknown[]): string =>
  [
    ...Object.entries(object(response)).map(([name, value]) => `${name}\n${resultText(value)}`),
    ...(media.length > 0 ? [stringify(media)] : []),
  ].join('\n')

function turn(history: readonly unknown[]): PastCall[] {
  let earlier: PastCall[] = []
  for (const content of history.map(object)) {
    // The results of the turn before a message of the user stand in that message.
    if (isSpoken(content)) earlier = []
    const media = partsOf(content).filter(isMedia)
    for (const part of partsOf(content)) {
      const call = either(part, 'functionCall')
      if (call !== undefined) {
        const { id } = object(call)
        earlier.push({ ...callOf(object(call)), id: text(id), result: undefined })
      }
      const result = either(part, 'functionResponse')
      if (result === undefined) continue
      const { id, name, response, parts } = object(result)
      const open = earlier.filter((one) => one.result === undefined)
      // Results have an id, or are in the order of the calls with their name.
      const called =
        (text(id) ? open.find((one) => one.id === text(id)) : undefined) ??
        open.find((one) => one.name === text(name))
      if (called) called.result = resultOf(response, [...listed(parts), ...media])
    }
  }
  return earlier
}

export const gemini: Wire = {
  name: 'gemini',
  dialect: 'gemini',
  history: 'contents',
  noTools(body) {
    const name = body.tool_config === undefined ? 'toolConfig' : 'tool_config'
    const { function_calling_config: _, functionCallingConfig: __, ...others } = object(body[name])
    return [name, JSON.stringify({ ...others, functionCallingConfig: { mode: 'NONE' } })]
  },
  isWhole: () => true,
  isStream: (_body, path) => plainPath(path, METHOD_EXTENSION).endsWith(':streamgeneratecontent'),
  choices: (body) =>
    Number(either(object(either(body, 'generationConfig')), 'candidateCount') ?? 1),
  orphans: () => [],
  isSpoken,
  turn,
  // Google's older JavaScript client stops at a comment. Gemini itself sends empty texts.
  ping: `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] })}\n\n`,
  failure(code, message) {
    return `data: ${JSON.stringify({ error: geminiError(500, code, message) })}\n\n`
  },
}

/** `google.rpc.Code` of an HTTP status. */
const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** The `error` of a response (AIP-193). `reason` is the stable code. */
export function geminiError(status: number, code: string, message: string) {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code }
  return {
    code: status,
    message,
    status: STATUSES[status] ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL'),
    details: [{ ...info, domain: 'turnlock' }],
  }
}
