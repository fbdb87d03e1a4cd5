// @ts-nocheck
// Models that play a part, by looking at the request as a model would.

/**
 * @typedef {object} Seen What a request offers and holds.
 * @property {string[]} tools their names
 * @property {{ name: string, schema?: any }[]} offered the same with their schemas
 * @property {boolean} canCall tools are offered, and choosing one is not forbidden
 * @property {{ tool?: string, status?: string, result?: unknown, error?: string }[]} results of boxes and tool messages
 * @property {{ input: any, requests: boolean }} [planning] the input of a plan, and whether tools may be requested
 */

/**
 * @param {import('./wire/entry.js').View} view
 * @returns {Seen}
 */
export function look(view) {
  const { tools, choice, messages } = view
  const text = [view.system, ...messages.map((message) => message.text)].join('\n')
  const native = messages.flatMap((message) => message.results)
  return {
    ...{ tools: tools.map(({ name }) => name), offered: tools },
    canCall: tools.length > 0 && choice !== 'none',
    results: [...boxed(text), ...native.map((result) => ({ result: parsed(result) }))],
    planning: planned(view),
  }
}

/** A planner's input stands alone in the first line of what the user says. */
function planned({ messages, system }) {
  const user = messages.find((message) => message.role === 'user')
  const input = parsed(String(user?.text).split('\n')[0])
  const rules = `${system}\n${messages[0]?.text}`
  return typeof input === 'object' ? { input, requests: rules.includes('Limit: ') } : undefined
}

/** The payloads of TOOL RESULT boxes. */
function boxed(text) {
  const boxes = [...text.matchAll(/TOOL RESULT [0-9a-f]{32}\n(.*?)\nEND TOOL RESULT/g)]
  return boxes.map((box) => Object(parsed(box[1])))
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const words = (text) => text.split(/(?<= )/)
const call = (name, args, own) => ({ id: `call_${name}`, name, args, ...own })
const LIST = call('list_files', { path: '.', recursive: true })
const shown = ({ result, error }) => JSON.stringify(result ?? error)

/** An answer made of the results. */
function answer({ results }) {
  if (!results.length) return { text: words('Hello! I can answer this without any tool.') }
  const all = results.map(shown).join(' and ').slice(0, 400)
  return { text: words(`From the tool results I can say: ${all}. That answers it.`) }
}

/**
 * The entry with calls of what is offered, or was: a model that loops calls on when its tools are
 * taken away. Where no tool ever was, it answers.
 */
export function fitted(entry, seen, before) {
  if (!entry.calls) return entry
  const { offered } = [seen, ...before.toReversed()].find(({ tools }) => tools.length) ?? {}
  if (!offered) return { ...entry, ...answer(seen), calls: undefined }
  const fit = (call) => {
    if (offered.some(({ name }) => name === call.name)) return call
    const [{ name, schema }] = offered
    return { ...call, name, args: example(schema), argsText: undefined }
  }
  return { ...entry, calls: entry.calls.map(fit) }
}

/** A value that a simple schema takes: what is required, and no more. */
function example(schema) {
  const { type, enum: [first] = [], const: only = first, minimum = 1 } = schema ?? {}
  if (only !== undefined) return only
  // Gemini writes them large.
  const kind = String(Array.isArray(type) ? type[0] : (type ?? 'object')).toLowerCase()
  const { properties = {}, required = [] } = schema ?? {}
  const members = () =>
    required.map((name) => [name, example(properties[name] ?? { type: 'string' })])
  const values = { string: 'example', number: minimum, integer: minimum, boolean: true, array: [] }
  return kind === 'object' ? Object.fromEntries(members()) : (values[kind] ?? null)
}

/** The first file that a result names, for a second call that depends on the first result. */
function firstFile(results) {
  const found = /[\w/-]+\.(?:txt|md)/.exec(JSON.stringify(results))
  return found?.[0] ?? 'readme.md'
}

/** A looping model says something only when it was refused before and still may not call. */
const gaveUp = (seen, before) =>
  !seen.canCall && seen.results.length > 0 && before.some((one) => !one.canCall)

/**
 * Name → what it is, and the entry it answers with: `play(seen, before)`, where `before` is what
 * was seen in the earlier requests of the session.
 * @type {Record<string, { about: string, play: (seen: Seen, before: Seen[]) => import('./wire/entry.js').Entry }>}
 */
export const BEHAVIOURS = {
  answer: {
    about: 'Answers at once, without a tool.',
    play: () => answer({ results: [] }),
  },
  'one-call': {
    about: 'Calls one tool, then answers from its result.',
    play: (seen) =>
      seen.canCall && !seen.results.length
        ? { text: words('Let me look at the files. '), calls: [LIST] }
        : answer(seen),
  },
  'json-answer': {
    about: 'Calls one tool, then answers in JSON.',
    play: (seen) =>
      seen.canCall && !seen.results.length
        ? { text: words('Let me look at the files. '), calls: [LIST] }
        : { text: ['{"files":', '2}'] },
  },
  thinks: {
    about: 'Thinks, calls two tools, then answers from their results.',
    play(seen) {
      if (!seen.canCall || seen.results.length) return answer(seen)
      const reasoning = words('Both may be of use. ')
      const calls = [LIST, call('read_file', { path: 'notes.txt' })]
      return { reasoning, text: words('Let me see. '), calls }
    },
  },
  'list-then-read': {
    about: 'Lists files, reads the first one it finds, then answers. Give it two tool calls.',
    play(seen) {
      const { canCall, tools, results } = seen
      if (canCall && !results.length) return { text: words('I will list first. '), calls: [LIST] }
      if (canCall && results.length === 1 && tools.includes('read_file')) {
        return { calls: [call('read_file', { path: firstFile(results) })] }
      }
      return answer(seen)
    },
  },
  'read-then-note': {
    about:
      'Reads a file, then wants to send a note about it. Put send_note on the list of the action phase to let it.',
    play(seen) {
      const { canCall, tools, results } = seen
      if (canCall && !results.length) return { calls: [call('read_file', { path: 'notes.txt' })] }
      if (canCall && results.length === 1 && tools.includes('send_note')) {
        return { calls: [call('send_note', { to: 'Ada', text: 'The engine is next.' })] }
      }
      return answer(seen)
    },
  },
  loop: {
    about:
      'The looping model: asks for the same call again and again, whatever it is told. Words come only when it was refused and is offered nothing.',
    play: (seen, before) => (gaveUp(seen, before) ? answer(seen) : { calls: [LIST] }),
  },
  'loop-then-answer': {
    about: 'Loops while it has tools; without them it answers from what it was given.',
    play: (seen) => (seen.canCall ? { calls: [LIST] } : answer(seen)),
  },
  'loop-reordered': {
    about: 'Loops, with other key order and white space each time.',
    play(seen, before) {
      if (gaveUp(seen, before)) return answer(seen)
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
    play: (seen) =>
      seen.canCall && !seen.results.length && seen.tools.includes('divide')
        ? { calls: [call('divide', { dividend: 1, divisor: 0 })] }
        : answer(seen),
  },
  'loop-silent': {
    about: 'Loops for ever and never says a word, even when its tools are taken away.',
    play: () => ({ calls: [LIST] }),
  },
  parallel: {
    about: 'Asks for three calls in one response.',
    play(seen) {
      if (!seen.canCall || seen.results.length) return answer(seen)
      const second = call('read_file', { path: 'readme.md' }, { id: 'call_read_2' })
      return {
        text: words('I need three things. '),
        calls: [LIST, call('read_file', { path: 'notes.txt' }), second],
      }
    },
  },
  echo: {
    about: 'Calls one tool, then quotes every result word for word.',
    play(seen) {
      if (seen.canCall && !seen.results.length) return { calls: [LIST] }
      const quotes = seen.results.map((one) => `${one.tool ?? 'A tool'} gave ${shown(one)}.`)
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
    play: (seen) =>
      seen.canCall && !seen.results.length ? { calls: [LIST] } : { ...answer(seen), paceMs: 300 },
  },
  'falls-silent': {
    about:
      'Calls one tool, falls silent in the middle of its answer, and answers when asked again.',
    play(seen, before) {
      if (seen.canCall && !seen.results.length) return { calls: [LIST] }
      const { text } = answer(seen)
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
    play(seen, before) {
      if (!before.length) return { status: 500 }
      return seen.canCall && !seen.results.length
        ? { calls: [call('read_file', { path: 'notes.txt' })] }
        : answer(seen)
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
      const hits = found.flatMap(({ result }) => (Array.isArray(result) ? result : []))
      const wish = (tool_name, params, reason) => ({ tool_name, params, reason })
      const said = planning?.requests
        ? {
            tool_calls: [
              wish('search', { query: question }, 'The input does not answer the question.'),
              wish('place_order', { side: 'buy' }, 'The market moves.'),
              wish('search', { query: question }, 'To be sure.'),
            ],
          }
        : { action: hits.length ? 'act' : 'wait', because: hits.map(({ title }) => title) }
      return { text: words(JSON.stringify(said)) }
    },
  },
}
