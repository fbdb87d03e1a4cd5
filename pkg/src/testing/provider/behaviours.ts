/** Behaviours of models: each reads a request as a model would, and answers it. */
import type { DeclaredTool, RequestView, ScriptCall, ScriptEntry } from './wire/entry.js'

/** A tool result in a request. */
export interface SeenResult {
  tool?: string
  status?: string
  result?: unknown
  error?: string
  global_context?: { tool_results?: { result?: unknown }[] }
}

/** What a request offers and contains. */
export interface Observation {
  /** Names of the tools. */
  tools: string[]
  declaredTools: DeclaredTool[]
  /** Tools are offered, and the tool choice does not forbid calls. */
  canCall: boolean
  /** Results in boxes and in tool messages. */
  results: SeenResult[]
  /** The input of a planning pass, and whether tools may be requested. */
  planning?: { input: { question?: string }; requests: boolean } | undefined
}

/** Returns what a request offers and contains. */
export function observe(view: RequestView): Observation {
  const { tools, choice, messages } = view
  const text = [view.system, ...messages.map((message) => message.text)].join('\n')
  const toolMessages = messages.flatMap((message) => message.results)
  return {
    tools: tools.map(({ name }) => name),
    declaredTools: tools,
    canCall: tools.length > 0 && choice !== 'none',
    results: [
      ...boxedResults(text),
      ...toolMessages.map((result) => ({ result: parseJson(result) })),
    ],
    planning: planningOf(view),
  }
}

/** The input of a planning pass is the first line of the user's message. */
function planningOf({ messages, system }: RequestView): Observation['planning'] {
  const user = messages.find((message) => message.role === 'user')
  const input = parseJson(String(user?.text).split('\n')[0] ?? '')
  const rules = `${system}\n${messages[0]?.text}`
  if (typeof input !== 'object') return undefined
  return { input: input as { question?: string }, requests: rules.includes('Limit: ') }
}

/** Returns the payloads of TOOL RESULT boxes. */
function boxedResults(text: string): SeenResult[] {
  const boxes = text.matchAll(/TOOL RESULT [0-9a-f]{32}\n(.*?)\nEND TOOL RESULT/g)
  return Array.from(boxes, ([, json = '']) => Object(parseJson(json)) as SeenResult)
}

/** Returns the value of a JSON text; the text itself if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

const words = (text: string) => text.split(/(?<= )/)

const call = (name: string, args?: unknown, members?: Partial<ScriptCall>): ScriptCall => ({
  id: `call_${name}`,
  name,
  args,
  ...members,
})

const LIST = call('list_files', { path: '.', recursive: true })

const resultText = ({ result, error }: SeenResult) => JSON.stringify(result ?? error)

/** Returns an answer from the results. */
function answer({ results }: Pick<Observation, 'results'>) {
  if (!results.length) return { text: words('Hello! I can answer this without any tool.') }
  const texts = results.map(resultText).join(' and ').slice(0, 400)
  return { text: words(`From the tool results I can say: ${texts}. That answers it.`) }
}

/**
 * Returns the entry with calls of declared tools: those of the request, or the most recent ones of the
 * session. So a looping model continues to call after its tools are removed. Without any tool, the
 * entry is an answer.
 */
export function fitToTools(
  entry: ScriptEntry,
  observation: Observation,
  before: readonly Observation[],
): ScriptEntry {
  if (!entry.calls) return entry
  const latest = [observation, ...before.toReversed()].find(({ tools }) => tools.length)
  const [first] = latest?.declaredTools ?? []
  if (!latest || !first) return { ...entry, ...answer(observation), calls: undefined }
  const calls = entry.calls.map((call) => {
    if (latest.tools.includes(call.name)) return call
    return { ...call, name: first.name, args: exampleOf(first.schema), argsText: undefined }
  })
  return { ...entry, calls }
}

interface SimpleSchema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  minimum?: number
  properties?: Record<string, SimpleSchema>
  required?: string[]
}

/** Returns a value that a simple schema accepts, with its required members only. */
function exampleOf(schema: unknown): unknown {
  const rules = (schema ?? {}) as SimpleSchema
  const { type, enum: [first] = [], const: constant = first, minimum = 1 } = rules
  if (constant !== undefined) return constant
  // Gemini's types are upper case.
  const kind = String(Array.isArray(type) ? type[0] : (type ?? 'object')).toLowerCase()
  const { properties = {}, required = [] } = rules
  if (kind === 'object') {
    const example = (name: string) => exampleOf(properties[name] ?? { type: 'string' })
    return Object.fromEntries(required.map((name) => [name, example(name)]))
  }
  const values: Record<string, unknown> = {
    string: 'example',
    number: minimum,
    integer: minimum,
    boolean: true,
    array: [],
  }
  return values[kind] ?? null
}

/** Returns the first file in a result, for a call that depends on an earlier one. */
function firstFile(results: readonly SeenResult[]): string {
  const [file] = /[\w/-]+\.(?:txt|md)/.exec(JSON.stringify(results)) ?? []
  return file ?? 'readme.md'
}

/** A looping model answers only if it could not call before, and still cannot. */
const hasGivenUp = (observation: Observation, before: readonly Observation[]) =>
  !observation.canCall &&
  observation.results.length > 0 &&
  before.some((earlier) => !earlier.canCall)

/** A behaviour of a model. */
export interface Behaviour {
  /** One or two sentences for users. */
  about: string
  /** Returns the response. `before`: the earlier requests of the session, in order. */
  play(observation: Observation, before: readonly Observation[]): ScriptEntry
}

/** The behaviours by name. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  answer: {
    about: 'Answers at once, without a tool.',
    play: () => answer({ results: [] }),
  },
  'one-call': {
    about: 'Calls one tool, then answers from its result.',
    play: (observation) =>
      observation.canCall && !observation.results.length
        ? { text: words('Let me look at the files. '), calls: [LIST] }
        : answer(observation),
  },
  'json-answer': {
    about: 'Calls one tool, then answers in JSON.',
    play: (observation) =>
      observation.canCall && !observation.results.length
        ? { text: words('Let me look at the files. '), calls: [LIST] }
        : { text: ['{"files":', '2}'] },
  },
  thinks: {
    about: 'Thinks, calls two tools, then answers from their results.',
    play(observation) {
      if (!observation.canCall || observation.results.length) return answer(observation)
      const reasoning = words('Both may be of use. ')
      const calls = [LIST, call('read_file', { path: 'notes.txt' })]
      return { reasoning, text: words('Let me see. '), calls }
    },
  },
  'list-then-read': {
    about: 'Lists files, reads the first one it finds, then answers. Give it two tool calls.',
    play(observation) {
      const { canCall, tools, results } = observation
      if (canCall && !results.length) return { text: words('I will list first. '), calls: [LIST] }
      if (canCall && results.length === 1 && tools.includes('read_file')) {
        return { calls: [call('read_file', { path: firstFile(results) })] }
      }
      return answer(observation)
    },
  },
  'read-then-note': {
    about:
      'Reads a file, then wants to send a note about it. Put send_note on the list of the action phase to let it.',
    play(observation) {
      const { canCall, tools, results } = observation
      if (canCall && !results.length) return { calls: [call('read_file', { path: 'notes.txt' })] }
      if (canCall && results.length === 1 && tools.includes('send_note')) {
        return { calls: [call('send_note', { to: 'Ada', text: 'The engine is next.' })] }
      }
      return answer(observation)
    },
  },
  loop: {
    about:
      'The looping model: asks for the same call again and again, whatever it is told. Words come only when it was refused and is offered nothing.',
    play: (observation, before) =>
      hasGivenUp(observation, before) ? answer(observation) : { calls: [LIST] },
  },
  'loop-then-answer': {
    about: 'Loops while it has tools; without them it answers from what it was given.',
    play: (observation) => (observation.canCall ? { calls: [LIST] } : answer(observation)),
  },
  'loop-reordered': {
    about: 'Loops, with other key order and white space each time.',
    play(observation, before) {
      if (hasGivenUp(observation, before)) return answer(observation)
      const argsText =
        before.length % 2
          ? '{ "recursive" : true,\n "path": "." }'
          : '{"path":".","recursive":true}'
      return { calls: [call('list_files', undefined, { argsText })] }
    },
  },
  'loop-text': {
    about: 'Loops, but says something with each call.',
    play: (_, before) => ({
      text: words(`Attempt ${before.length + 1}: I look again. `),
      calls: [LIST],
    }),
  },
  'divide-by-zero': {
    about: 'Asks a calculator, where there is one, to divide by zero; then answers.',
    play: (observation) =>
      observation.canCall && !observation.results.length && observation.tools.includes('divide')
        ? { calls: [call('divide', { dividend: 1, divisor: 0 })] }
        : answer(observation),
  },
  'loop-silent': {
    about: 'Loops for ever and never says a word, even when its tools are taken away.',
    play: () => ({ calls: [LIST] }),
  },
  parallel: {
    about: 'Asks for three calls in one response.',
    play(observation) {
      if (!observation.canCall || observation.results.length) return answer(observation)
      const second = call('read_file', { path: 'readme.md' }, { id: 'call_read_2' })
      return {
        text: words('I need three things. '),
        calls: [LIST, call('read_file', { path: 'notes.txt' }), second],
      }
    },
  },
  echo: {
    about: 'Calls one tool, then quotes every result word for word.',
    play(observation) {
      if (observation.canCall && !observation.results.length) return { calls: [LIST] }
      const quotes = observation.results.map(
        (result) => `${result.tool ?? 'A tool'} gave ${resultText(result)}.`,
      )
      return { text: words(quotes.join(' ') || 'I was given no result.') }
    },
  },
  slow: {
    about: 'Sends one byte at a time.',
    play: () => ({ text: words('Slow but steady wins the race. '), bytes: 1 }),
  },
  'cut-arguments': {
    about: 'The connection breaks in the middle of the arguments.',
    play: () => ({ text: words('Let me see. '), calls: [LIST], then: 'cut' }),
  },
  unhurried: {
    about: 'Calls one tool, then answers a word at a time. Leaves time for a pause or a reload.',
    play: (observation) =>
      observation.canCall && !observation.results.length
        ? { calls: [LIST] }
        : { ...answer(observation), paceMs: 300 },
  },
  'falls-silent': {
    about:
      'Calls one tool, falls silent in the middle of its answer, and answers when asked again.',
    play(observation, before) {
      if (observation.canCall && !observation.results.length) return { calls: [LIST] }
      const { text } = answer(observation)
      if (before.some(({ results }) => results.length)) return { text }
      return { text: text.slice(0, 6), then: 'stall' }
    },
  },
  stall: {
    about: 'Some words, then silence.',
    play: () => ({ text: words('This is the beginning of '), then: 'stall' }),
  },
  'stall-head': {
    about: 'No response at all.',
    play: () => ({ then: 'stall_head' }),
  },
  'error-event': {
    about: 'An error inside a stream that began well.',
    play: () => ({ text: words('This will not '), then: 'error' }),
  },
  malformed: {
    about: 'Bytes that are no stream.',
    play: () => ({ text: words('Before the break, '), then: 'malformed' }),
  },
  'rate-limited': {
    about: 'Too busy once (429, retry-after), then an answer.',
    play: (_, before) =>
      before.length ? { text: words('Here I am. ') } : { status: 429, retryAfterMs: 20 },
  },
  'fails-once': {
    about: 'Fails once (500), then calls one tool and answers from its result.',
    play(observation, before) {
      if (!before.length) return { status: 500 }
      return observation.canCall && !observation.results.length
        ? { calls: [call('read_file', { path: 'notes.txt' })] }
        : answer(observation)
    },
  },
  'always-401': {
    about: 'Knows no such key (401).',
    play: () => ({ status: 401, message: 'no such key' }),
  },
  'always-429': {
    about: 'Too busy every time (429).',
    play: () => ({ status: 429, retryAfterMs: 5 }),
  },
  'server-error': {
    about: 'Fails every time (500).',
    play: () => ({ status: 500 }),
  },
  planner: {
    about:
      "Plans in two passes: asks for a search by the input's `question`, and for an order that it may not have; then plans from what was found.",
    play({ planning, results }) {
      const { question = '' } = planning?.input ?? {}
      const found = results.flatMap((result) => result.global_context?.tool_results ?? [])
      const hits = found.flatMap(({ result }) =>
        Array.isArray(result) ? (result as { title?: unknown }[]) : [],
      )
      const toolRequest = (tool_name: string, params: object, reason: string) => ({
        tool_name,
        params,
        reason,
      })
      const reply = planning?.requests
        ? {
            tool_calls: [
              toolRequest('search', { query: question }, 'The input does not answer the question.'),
              toolRequest('place_order', { side: 'buy' }, 'The market moves.'),
              toolRequest('search', { query: question }, 'To be sure.'),
            ],
          }
        : { action: hits.length ? 'act' : 'wait', because: hits.map(({ title }) => title) }
      return { text: words(JSON.stringify(reply)) }
    },
  },
}
