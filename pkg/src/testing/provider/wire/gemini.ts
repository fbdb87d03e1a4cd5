// @ts-nocheck
// One scripted response as Gemini's `streamGenerateContent` streams it, or as `generateContent` gives
// it whole. Calls come whole in both.
import { argumentPieces, argumentsOf, finishOf, isCut, unknown, usageOf } from './entry.js'

const STOP = { stop: 'STOP', tool_calls: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' }

const event = (data) => `data: ${JSON.stringify(data)}\r\n\r\n`

/**
 * SSE events, one string each.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { n = 1 } = {}) {
  const chunk = (parts, own) => event(responseOf(entry, n, parts, own))
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const events = [
    ...reasoning.map((piece) => chunk([{ text: piece, thought: true }])),
    ...blocks.map((block) => chunk([block])),
    ...text.map((piece) => chunk([{ text: piece }])),
  ]
  for (const [index, call] of calls.entries()) {
    // It is one line.
    const args = argumentPieces(call).join('').replaceAll('\n', ' ')
    const raw = `{"functionCall":{"name":${JSON.stringify(call.name)},"args":${args || '{}'},"id":${JSON.stringify(call.id)}}}`
    const signature = index === 0 && reasoning.length ? ',"thoughtSignature":"sig"' : ''
    const part = `${raw.slice(0, -1)}${signature}}`
    const whole = chunk(['PART']).replace('"PART"', () => part)
    events.push(isCut(entry, index) ? whole.slice(0, whole.indexOf('"args":') + 9) : whole)
  }
  events.push(...textAfter.map((piece) => chunk([{ text: piece }])))
  if (entry.then === 'error') {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
    return [...events, event({ error })]
  }
  if (entry.then === 'malformed') return [...events, 'data: {"candidates":[{"content":{"pa\r\n\r\n']
  if (entry.then) return events
  const finishReason = STOP[finishOf(entry)] ?? finishOf(entry)
  return [...events, chunk([{ text: '' }], { finishReason })]
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function whole(entry, { n = 1 } = {}) {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const said = (pieces, own) => (pieces.length ? [{ text: pieces.join(''), ...own }] : [])
  const asked = calls.map((call, index) => ({
    functionCall: { name: call.name, args: argumentsOf(call), id: call.id },
    ...(index === 0 && reasoning.length && { thoughtSignature: 'sig' }),
  }))
  const thoughts = said(reasoning, { thought: true })
  const parts = [...thoughts, ...blocks, ...said(text), ...asked, ...said(textAfter)]
  return responseOf(entry, n, parts, { finishReason: STOP[finishOf(entry)] ?? finishOf(entry) })
}

function responseOf(entry, n, parts, own) {
  const { input, output } = usageOf(entry)
  const out = own ? output : 1
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...own }],
    usageMetadata: {
      ...{ promptTokenCount: input, candidatesTokenCount: out, totalTokenCount: input + out },
    },
    ...{ modelVersion: 'scripted', responseId: `r_${n}` },
  }
}

/** The body of a failed request. */
export function failure(status, message) {
  const names = { 400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 404: 'NOT_FOUND' }
  const name = { ...names, 429: 'RESOURCE_EXHAUSTED' }[status] ?? 'UNAVAILABLE'
  return { error: { code: status, message, status: name } }
}

const KNOWN = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig']
KNOWN.push('safetySettings', 'cachedContent')
const PARTS = ['text', 'functionCall', 'functionResponse', 'inlineData', 'fileData', 'thought']
PARTS.push('thoughtSignature', 'executableCode', 'codeExecutionResult')

/** What the API says to a request that breaks its rules; undefined for a good one. */
export function violation(body, { search = '?alt=sse', streams = true } = {}) {
  if (streams && new URLSearchParams(search).get('alt') !== 'sse') {
    return 'the scripted provider streams SSE only: ?alt=sse'
  }
  const strange = unknown(body, KNOWN)
  if (strange) return `Invalid JSON payload received. Unknown name "${strange}": Cannot find field.`
  const { contents = [] } = body
  if (!contents.length) return 'GenerateContentRequest.contents: contents is not specified'
  let calls = 0
  for (const [at, { role, parts = [] }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (!parts.length) {
      return `GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`
    }
    for (const part of parts) {
      const own = unknown(part, PARTS)
      if (own) return `Invalid JSON payload received. Unknown name "${own}": Cannot find field.`
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
  if (calls || contents.at(-1).role !== 'user') {
    return 'Please ensure that single turn requests end with a user role.'
  }
  return undefined
}

/** @returns {import('./entry.js').View} */
export function view({ contents = [], systemInstruction, tools = [], toolConfig }) {
  const text = ({ parts = [] } = {}) => parts.map((part) => part.text ?? '').join('\n')
  const declared = tools.flatMap((tool) => tool.functionDeclarations ?? [])
  return {
    tools: declared.map(({ name, parameters, parametersJsonSchema: schema = parameters }) => ({
      ...{ name, schema },
    })),
    choice: toolConfig?.functionCallingConfig?.mode?.toLowerCase() ?? null,
    system: text(systemInstruction),
    list: contents,
    messages: contents.map((one) => ({
      role: one.role === 'model' ? 'assistant' : one.role,
      text: text(one),
      results: (one.parts ?? []).flatMap(({ functionResponse: given }) =>
        given ? [given.response.result ?? JSON.stringify(given.response)] : [],
      ),
    })),
  }
}
