/** Gemini's `generateContent`: the history of a request. */
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import { either, listed, object, stringify, text, type Members } from './json.js'
import { METHOD_EXTENSION, plainPath } from './headers.js'
import type { Wire } from './wire.js'

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

const mediaOf = (part: Members): unknown => either(part, 'inlineData') ?? either(part, 'fileData')

/** Calls by their ids and names, in their order; `next` is the place of the first without a result. */
type OpenCalls = Map<string, { calls: PastCall[]; next: number }>

function firstOpen(open: OpenCalls, key: string): PastCall | undefined {
  const row = open.get(key)
  while (row?.calls[row.next]?.result !== undefined) row.next += 1
  return row?.calls[row.next]
}

/** The keys of a call or a result: its id, if it has one, and its name. */
const keysOf = ({ id, name }: Members): string[] => [
  ...(text(id) ? [`id ${text(id)}`] : []),
  `name ${text(name)}`,
]

function turn(history: readonly unknown[]): PastCall[] {
  let [earlier, open]: [PastCall[], OpenCalls] = [[], new Map()]
  /** Numbers of images and files, so that no result repeats their bytes. */
  const numbers = new Map<string, number>()
  const numberOf = (media: readonly unknown[]): number => {
    const json = stringify(media)
    const number = numbers.get(json) ?? numbers.size
    numbers.set(json, number)
    return number
  }
  for (const content of history.map(object)) {
    // The results of the turn before a message of the user stand in that message.
    if (isSpoken(content)) [earlier, open] = [[], new Map()]
    const all = partsOf(content)
    const beside = numberOf(all.filter(mediaOf))
    for (const part of all) {
      const call = object(either(part, 'functionCall'))
      if (text(call.name)) {
        const made: PastCall = { ...callOf(call), result: undefined }
        earlier.push(made)
        for (const key of keysOf(call)) {
          const row = open.get(key) ?? { calls: [], next: 0 }
          row.calls.push(made)
          open.set(key, row)
        }
      }
      const given = either(part, 'functionResponse')
      if (given === undefined) continue
      const result = object(given)
      // Results have an id, or are in the order of the calls with their name.
      const [first = '', second = ''] = keysOf(result)
      const called = firstOpen(open, first) ?? firstOpen(open, second)
      const media = `media ${beside} ${numberOf(listed(result.parts))}`
      if (called) called.result = resultOf(result.response, media)
    }
  }
  return earlier
}

/** The texts of a result by their lines, as results are compared. Its members have any names. */
const resultOf = (response: unknown, media: string): string =>
  Object.entries(object(response))
    .map(([name, value]) => `${name}\n${resultText(value)}\n`)
    .join('') + media

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

/** `google.rpc.Code` of an HTTP status; `INVALID_ARGUMENT` or `UNAVAILABLE` for others. */
const STATUSES: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  504: 'DEADLINE_EXCEEDED',
}

/** The `error` of a response (AIP-193). `reason` is the stable code. */
export function geminiError(status: number, code: string, message: string) {
  return {
    code: status,
    message,
    status: STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE'),
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'turnlock' },
    ],
  }
}
