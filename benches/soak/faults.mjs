// Turns with faults, many, in any runtime: a provider that fails, streams that are cut or are none,
// tools that throw or hang, cancels, readers that leave or never read, lost commits, pauses. The
// provider is a `fetch` within the process, so that a million turns are bytes that are parsed and not
// sockets. What turns hold is counted: timers, listeners of a signal that outlives them, watchers of the
// store, readers.

const event = (value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const delta = (delta, finish_reason = null) =>
  event({ choices: [{ index: 0, delta, finish_reason }] })
const call = (index, id, name, args) =>
  delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] })
const END = delta({}, 'stop') + event('[DONE]')
const CALLED = delta({}, 'tool_calls') + event('[DONE]')
const WORDS = 'The quick brown fox jumps over the lazy dog. '.match(/\S+ /g)
const ANSWER = WORDS.map((content) => delta({ content })).join('') + END

const encoder = new TextEncoder()
const bodies = new Map()
/** A response in two pieces. */
function streamed(text, status = 200) {
  if (!bodies.has(text)) bodies.set(text, encoder.encode(text))
  const bytes = bodies.get(text)
  const half = bytes.length >> 1
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes.subarray(0, half))
      controller.enqueue(bytes.subarray(half))
      controller.close()
    },
  })
  return new Response(body, { status, headers: { 'content-type': 'text/event-stream' } })
}
const one = (name) => call(0, 'c1', name, '{"at":"the garden"}') + CALLED
const two = call(0, 'c1', 'look', '{"at":1}') + call(1, 'c2', 'look', '{"at":1}') + CALLED

/** Name → what the provider answers a request that may call tools with, and what else is strange. */
const FAULTS = {
  none: { first: one('look') },
  status: { first: new Error('500') },
  limited: { first: new Error('429') },
  cut: { first: delta({ content: 'It is ' }) + delta({ content: 'fi' }) },
  'cut in a call': { first: call(0, 'c1', 'look', '{"at":') },
  garbage: { first: 'data: {"choices":[}\n\n' },
  page: { first: '<html>login</html>' },
  silent: { first: null, policy: { modelFirstByteMs: 20 } },
  throws: { first: one('throws') },
  hangs: { first: one('hangs'), policy: { toolTimeoutMs: 20 } },
  twice: { first: two },
  'cancelled at once': { first: one('look'), cancel: 'phase_start' },
  'cancelled in a tool': { first: one('hangs'), cancel: 'tool_calls' },
  'reader leaves': { first: one('look'), leaves: true },
  'nobody reads': { first: one('look'), unread: true },
  'signal aborts': { first: one('hangs'), aborts: true },
  'commit refused': { first: one('look'), stored: true, commit: 'fails' },
  'answer lost': { first: one('look'), stored: true, commit: 'lost' },
  'pause, resume': { first: one('look'), stored: true, pause: true },
  follower: { first: one('look'), stored: true, follow: true },
}
export const NAMES = Object.keys(FAULTS)

/** Counts what is added and not taken away. */
function counted() {
  const held = { timers: 0, listeners: 0, watchers: 0, fetches: 0 }
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const open = new Set()
  globalThis.setTimeout = (work, ms, ...args) => {
    const timer = set(() => {
      open.delete(timer)
      work(...args)
    }, ms)
    open.add(timer)
    return timer
  }
  globalThis.clearTimeout = (timer) => {
    open.delete(timer)
    clear(timer)
  }
  const controller = new AbortController()
  const { signal } = controller
  const [add, remove] = [
    signal.addEventListener.bind(signal),
    signal.removeEventListener.bind(signal),
  ]
  const known = new Map()
  signal.addEventListener = (type, listener, options) => {
    known.set(listener, type)
    add(type, listener, options)
  }
  signal.removeEventListener = (type, listener, options) => {
    known.delete(listener)
    remove(type, listener, options)
  }
  const see = () => ({ ...held, timers: open.size, listeners: known.size })
  const stop = () => Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })
  return { held, signal, see, stop }
}

/** The provider, and its count of requests under way. */
function providerOf(first, held) {
  return async (_, { body, signal }) => {
    const { tools, tool_choice: choice } = JSON.parse(body)
    const answer =
      tools?.length && choice !== 'none' && !body.includes('TOOL RESULT') ? first : ANSWER
    if (answer === null) {
      held.fetches++
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }).finally(() => held.fetches--)
    }
    if (answer instanceof Error)
      return Response.json({ error: {} }, { status: Number(answer.message) })
    return streamed(answer)
  }
}

function storeOf(memory, held, fault) {
  let commits = 0
  return {
    ...memory,
    async commit(turn, commit) {
      const strange = commits++ === 2 && fault
      if (strange === 'fails') throw new Error('the store is away')
      const answer = await memory.commit(turn, commit)
      if (strange === 'lost') throw new Error('the answer is lost')
      return answer
    },
    watch(turn, changed) {
      held.watchers++
      const stop = memory.watch(turn, changed)
      return () => {
        held.watchers--
        stop()
      }
    },
  }
}

/**
 * Runs `count` turns, `lanes` at a time, each fault in its turn.
 * @param {{ turnlock: typeof import('turnlock'), count: number, lanes?: number }} options
 * @returns how turns of each fault ended, and what is still held
 */
export async function runFaulty({ turnlock, count, lanes = 20 }) {
  const { defineTool, followTurn, memoryStore, openaiChat, pauseTurn, resumeTurn, runTurn } =
    turnlock
  const { held, signal, see, stop } = counted()
  const memory = memoryStore({ maxTurns: 100 })
  const schema = { description: 'x', inputSchema: {}, readOnly: true }
  const tools = {
    look: defineTool({ ...schema, execute: () => ({ weather: 'fine' }) }),
    throws: defineTool({
      ...schema,
      execute() {
        throw new Error('no garden')
      },
    }),
    hangs: defineTool({
      ...schema,
      execute: (_, { signal: own }) =>
        new Promise((_, reject) => {
          own.addEventListener('abort', () => reject(own.reason), { once: true })
        }),
    }),
  }
  const messages = [{ role: 'user', content: 'What does it look like?' }]
  const ends = {}
  const stores = Object.fromEntries(
    NAMES.map((name) => [
      name,
      FAULTS[name].stored && (() => storeOf(memory, held, FAULTS[name].commit)),
    ]),
  )

  async function play(name) {
    const { first, policy, cancel, leaves, unread, aborts, pause, follow } = FAULTS[name]
    const model = openaiChat({
      baseURL: 'http://provider/v1',
      model: 'm',
      maxRetries: 0,
      fetch: providerOf(first, held),
    })
    const store = stores[name]?.()
    const own = aborts ? new AbortController() : undefined
    const turn = runTurn({
      model,
      messages,
      tools,
      signal: own ? AbortSignal.any([signal, own.signal]) : signal,
      policy: { maxTools: 2, ...policy, ...(pause && { pauseAfterTools: true }) },
      ...(store && { store }),
    })
    if (!unread) {
      for await (const event of turn) {
        if (event.type === cancel) turn.cancel('soak')
        if (aborts && event.type === 'tool_calls') own.abort('soak')
        if (leaves && event.type === 'tool_calls') break
        if (follow && event.type === 'tool_calls') {
          // A reader of the store that leaves after an event, and one that reads to the end.
          for await (const _ of followTurn({ requestId: turn.requestId, store })) break
        }
      }
    }
    let { status, requestId, error } = await turn.result
    if (pause && status === 'paused') {
      const again = resumeTurn({ requestId, model, tools, store, signal })
      for await (const _ of again);
      ;({ status, error } = await again.result)
    }
    const end = error ? error.code : status
    ends[name] ??= {}
    ends[name][end] = (ends[name][end] ?? 0) + 1
  }

  let at = 0
  const lane = async () => {
    while (at < count) await play(NAMES[at++ % NAMES.length])
  }
  try {
    await Promise.all(Array.from({ length: lanes }, lane))
    return { ends, held: see() }
  } finally {
    stop()
  }
}
