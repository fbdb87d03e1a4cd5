// Models that play a part, by looking at the request as a model would.

/** What a request offers and holds. */
export function look(body) {
  const text = JSON.stringify([body.system ?? null, body.messages ?? []])
  const choice = typeof body.tool_choice === 'string' ? body.tool_choice : body.tool_choice?.type
  const tools = (body.tools ?? []).map((tool) => tool.function?.name ?? tool.name)
  const boxes = [...text.matchAll(/TOOL RESULT [0-9a-f]{32}\\n(.*?)\\nEND TOOL RESULT/g)]
  const boxed = boxes.map((box) => JSON.parse(JSON.parse(`"${box[1]}"`)))
  const native = (body.messages ?? []).flatMap((message) => {
    if (message.role === 'tool') return [{ status: 'ok', result: message.content }]
    const blocks = Array.isArray(message.content) ? message.content : []
    const results = blocks.filter((block) => block.type === 'tool_result')
    return results.map((block) => ({ status: 'ok', result: block.content }))
  })
  return { tools, canCall: tools.length > 0 && choice !== 'none', results: [...boxed, ...native] }
}

const words = (text) => text.split(/(?<= )/)
const call = (name, args, own) => ({ id: `call_${name}`, name, args, ...own })
const LIST = call('list_files', { path: '.', recursive: true })
const shown = (results) =>
  results.map((one) => JSON.stringify(one.result ?? one.error)).join(' and ')
const answerFrom = (results) =>
  results.length
    ? `From the tool results I can say: ${shown(results).slice(0, 400)}. That answers it.`
    : 'Hello! I can answer this without any tool.'

/** The first file name in the results, for a second call that depends on the first result. */
function firstFile(results) {
  const found = /[\w-]+\.(?:txt|md)/.exec(JSON.stringify(results))
  return found?.[0] ?? 'readme.md'
}

/** Name → what it is, and what it answers: `(seen, n) => entry`, n from 1. */
export const BEHAVIOURS = {
  answer: {
    about: 'answers at once, without a tool',
    play: () => ({ text: words('Hello! I can answer this without any tool.') }),
  },
  'one-call': {
    about: 'calls one tool, then answers from its result',
    play: ({ canCall, results }) =>
      canCall && !results.length
        ? { text: words('Let me look at the files. '), calls: [LIST] }
        : { text: words(answerFrom(results)) },
  },
  'list-then-read': {
    about: 'lists files, reads the one that it finds, then answers (give it two tool calls)',
    play({ canCall, results }) {
      if (canCall && results.length === 0)
        return { text: words('I will list first. '), calls: [LIST] }
      if (canCall && results.length === 1) {
        return { calls: [call('read_file', { path: firstFile(results) })] }
      }
      return { text: words(answerFrom(results)) }
    },
  },
  loop: {
    about:
      'the looping model: asks for the same call again and again, whatever it is told; answers only when it is refused and offered nothing',
    play: ({ results, tools }, n) =>
      results.length && !tools.length && n > 2
        ? { text: words(answerFrom(results)) }
        : { calls: [LIST] },
  },
  'loop-reordered': {
    about: 'loops with other key order and white space each time',
    play: (seen, n) =>
      seen.results.length && !seen.tools.length && n > 2
        ? { text: words(answerFrom(seen.results)) }
        : {
            calls: [
              call('list_files', undefined, {
                argsText:
                  n % 2 ? '{"path":".","recursive":true}' : '{ "recursive" : true,\n "path": "." }',
              }),
            ],
          },
  },
  'loop-text': {
    about: 'loops, but says something with each call',
    play: (_, n) => ({ text: words(`Attempt ${n}: I look again. `), calls: [LIST] }),
  },
  'loop-silent': {
    about: 'loops for ever and never says a word, even without tools',
    play: () => ({ calls: [LIST] }),
  },
  parallel: {
    about: 'three calls in one response',
    play: ({ canCall, results }) =>
      canCall && !results.length
        ? {
            text: words('I need three things. '),
            calls: [
              LIST,
              call('read_file', { path: 'notes.txt' }),
              call('read_file', { path: 'readme.md' }, { id: 'call_read_2' }),
            ],
          }
        : { text: words(answerFrom(results)) },
  },
  'cut-arguments': {
    about: 'the connection breaks in the middle of the arguments',
    play: () => ({ text: words('Let me see. '), calls: [LIST], then: 'cut' }),
  },
  stall: {
    about: 'some words, then silence',
    play: () => ({ text: words('This is the beginning of '), then: 'stall' }),
  },
  stall_head: { about: 'no response at all', play: () => ({ then: 'stall_head' }) },
  'error-event': {
    about: 'an error inside a stream that began with status 200',
    play: () => ({ text: words('This will not '), then: 'error' }),
  },
  'rate-limited': {
    about: '429 with retry-after once, then an answer',
    play: (_, n) => (n === 1 ? { status: 429, retryAfterMs: 20 } : { text: words('Here I am. ') }),
  },
  'always-429': { about: '429 every time', play: () => ({ status: 429, retryAfterMs: 5 }) },
  'server-error': { about: '500 every time', play: () => ({ status: 500 }) },
  slow: {
    about: 'one byte at a time',
    play: () => ({ text: words('Slow but steady wins the race. '), bytes: 1 }),
  },
  malformed: {
    about: 'bytes that are not the wire',
    play: () => ({ text: words('Before the break, '), then: 'malformed' }),
  },
}
