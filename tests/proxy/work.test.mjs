// The work of the proxy, counted: four times the input costs about four times as much. The counts are
// the blocks of code that run (V8's precise coverage), the bytes that JavaScript allocates (its heap
// profiler), and the bytes that are searched.
import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { test } from 'node:test'
import { GEMINI, WIRES as OTHERS } from './wires.mjs'

const WIRES = { ...OTHERS, gemini: GEMINI }

const TypedArray = Object.getPrototypeOf(Uint8Array.prototype)
/** Bytes between two samples of the heap profiler. */
const INTERVAL = 256
/** Units that are free: what does not depend on the input, and what the profiler misses. */
const FREE = 1 << 19
/** More than this many times as much for four times the input is not linear. */
const MOST = 5

// Before the code is compiled: what is compiled without counters has none.
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
const { createProxy } = await import('turnlock/proxy')

/** Runs of blocks, allocated bytes and searched bytes of `run`. */
async function counted(run) {
  let searched = 0
  const { indexOf, lastIndexOf } = TypedArray
  TypedArray.indexOf = function (value, from = 0) {
    const found = indexOf.call(this, value, from)
    searched += (found < 0 ? this.length : found) - from
    return found
  }
  TypedArray.lastIndexOf = function (value, from = this.length - 1) {
    const found = lastIndexOf.call(this, value, from)
    searched += from - found
    return found
  }
  try {
    // The counts begin anew.
    await session.post('Profiler.takePreciseCoverage')
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: INTERVAL,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    await run()
    const { profile } = await session.post('HeapProfiler.stopSampling')
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ours = result.filter(({ url }) => url.includes('/pkg/dist/'))
    const ranges = ours.flatMap(({ functions }) => functions.flatMap((own) => own.ranges))
    const allocated = (node) =>
      node.selfSize + node.children.reduce((sum, child) => sum + allocated(child), 0)
    return {
      runs: ranges.reduce((sum, { count }) => sum + count, 0),
      allocated: allocated(profile.head),
      searched,
    }
  } finally {
    Object.assign(TypedArray, { indexOf, lastIndexOf })
  }
}

const rows = (count, make) => Array.from({ length: count }, (_, at) => make(at))
const chunk = (choices, more = {}) => `data: ${JSON.stringify({ choices, ...more })}\n\n`
const event = (json) => `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`
const piece = (n, more = {}) => ({
  index: n,
  id: `c${n}`,
  function: { name: 'ls', arguments: `{"n":${n}}` },
  ...more,
})
const user = { role: 'user', content: 'go' }
const item = (n, more = {}) => ({
  type: 'function_call',
  id: `fc${n}`,
  call_id: `c${n}`,
  name: 'ls',
  arguments: `{"n":${n}}`,
  ...more,
})
const done = (n, own = item(n)) =>
  event({ type: 'response.output_item.done', output_index: n, item: own })
const completed = (output) =>
  event({ type: 'response.completed', response: { id: 'r', output, usage: { n: 1 } } })
const start = (content = []) =>
  event({ type: 'message_start', message: { id: 'm', role: 'assistant', content, usage: {} } })
const block = (n, content_block) => event({ type: 'content_block_start', index: n, content_block })
const toolUse = (n) => ({ type: 'tool_use', id: `c${n}`, name: 'ls', input: { n } })

const geminiCall = (n) => ({ name: 'ls', args: { n } })
const geminiResult = (response) => ({ functionResponse: { name: 'ls', response } })
const geminiEvents = (n) =>
  GEMINI.stream({ calls: rows(n, (at) => ({ id: `c${at}`, ...geminiCall(at) })) }, { n: 1 }).join(
    '',
  )

const CALL = { calls: [{ id: 'again', name: 'ls', args: {} }] }
/** A response that is refused as a whole, so that `frames` are those of the answer behind it. */
const behind = (wire, frames) => ({
  history: [1, 2].map(() => ['ls', {}, 'same']),
  answers: [WIRES[wire].stream(CALL, { n: 1, body: {} }).join(''), frames],
})

/** `[wire, name, make]`: `make(n)` gives the body of a request, the answers of a provider, or both. */
const CASES = [
  [
    'messages',
    'results without a call in one message',
    (n) => ({
      messages: [
        user,
        {
          role: 'user',
          content: rows(n, (at) => ({ type: 'tool_result', tool_use_id: `c${at}`, content: 'x' })),
        },
      ],
    }),
  ],
  [
    'messages',
    'results of one call',
    (n) => ({
      messages: [
        user,
        {
          role: 'user',
          content: rows(n, () => ({ type: 'tool_result', tool_use_id: 'c', content: 'x' })),
        },
      ],
    }),
  ],
  [
    'messages',
    'calls without a result',
    (n) => ({
      messages: [
        user,
        // Each repair adds a message, and the core bounds how many it merges.
        ...rows(n / 10, (row) => [
          { role: 'assistant', content: rows(5, (at) => toolUse(5 * row + at)) },
          { role: 'user', content: 'on' },
        ]).flat(),
      ],
    }),
  ],
  [
    'chat',
    'results without a call',
    (n) => ({
      messages: [
        user,
        ...rows(n, (at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'x' })),
      ],
    }),
  ],
  [
    'chat',
    'calls without a result',
    (n) => ({
      messages: [
        user,
        ...rows(n / 50, (row) => ({
          role: 'assistant',
          content: null,
          tool_calls: rows(50, (at) => ({ ...piece(50 * row + at), type: 'function' })),
        })),
        user,
      ],
    }),
  ],
  [
    'chat',
    'results that stand too late',
    (n) => ({
      messages: [
        user,
        ...rows(n / 4, (at) => [
          { role: 'assistant', content: null, tool_calls: [{ ...piece(at), type: 'function' }] },
          { role: 'user', content: `and ${at}` },
          { role: 'tool', tool_call_id: `c${at}`, content: 'x' },
        ]).flat(),
      ],
    }),
  ],
  [
    'responses',
    'results without a call',
    (n) => ({
      input: [
        user,
        ...rows(n, (at) => ({ type: 'function_call_output', call_id: `c${at}`, output: 'x' })),
      ],
    }),
  ],
  [
    'responses',
    'calls without a result',
    (n) => ({
      input: [user, ...rows(n / 8, (row) => [...rows(4, (at) => item(4 * row + at)), user]).flat()],
    }),
  ],
  [
    'chat',
    'chunks with new choices',
    (n) => rows(n, (at) => chunk([{ index: at, delta: { tool_calls: [piece(0)] } }])).join(''),
  ],
  [
    'chat',
    'chunks with new choices, and pieces without an index',
    (n) =>
      rows(n, (at) =>
        chunk([{ index: at, delta: { tool_calls: [{ function: { arguments: '{}' } }] } }]),
      ).join(''),
  ],
  [
    'chat',
    'choices that end one by one',
    (n) =>
      rows(n, (at) =>
        chunk([{ index: at, delta: { tool_calls: [piece(0)] }, finish_reason: 'tool_calls' }]),
      ).join(''),
  ],
  [
    'chat',
    'calls of one index',
    (n) =>
      rows(n, (at) => chunk([{ index: 0, delta: { tool_calls: [piece(at, { index: 0 })] } }])).join(
        '',
      ),
  ],
  [
    'chat',
    'parts of one index, each with another id',
    (n) =>
      rows(n, (at) => {
        const call = piece(at, { index: 0, function: { name: 'ls', arguments: '{"n":[' } })
        return chunk([{ index: 0, delta: { tool_calls: [call] } }])
      }).join(''),
  ],
  [
    'chat',
    'indexes that are of no call',
    (n) =>
      rows(n, (at) => {
        const call = at ? { index: at, function: { arguments: '[' } } : piece(0)
        return chunk([{ index: 0, delta: { tool_calls: [call] } }])
      }).join(''),
  ],
  [
    'chat',
    'objects behind the arguments',
    (n) =>
      rows(n, (at) => {
        const call = at ? { index: 0, function: { arguments: '{}' } } : piece(0)
        return chunk([{ index: 0, delta: { tool_calls: [call] } }])
      }).join(''),
  ],
  [
    'chat',
    'ends behind the answer',
    (n) =>
      behind(
        'chat',
        rows(n, () => chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])).join(''),
      ),
  ],
  [
    'responses',
    'whole responses',
    (n) => {
      const output = rows(40, (at) => item(at))
      const all = rows(n / 40, () => completed(output))
      return [...rows(n, (at) => done(at)), ...all].join('')
    },
  ],
  [
    'responses',
    'whole responses with other arguments of one id',
    (n) => {
      const id = { id: 'fc', call_id: 'c' }
      const begun = rows(n, (at) => done(at, item(at, id)))
      return [...begun, ...rows(n, (at) => completed([item(-at, id)]))].join('')
    },
  ],
  [
    'responses',
    'whole responses behind calls that have not ended',
    (n) => {
      const begun = rows(n, (at) =>
        event({ type: 'response.output_item.added', output_index: at, item: item(at) }),
      )
      return [...begun, ...rows(n, () => completed([]))].join('')
    },
  ],
  [
    'responses',
    'whole responses behind the answer',
    (n) => {
      const said = rows(n, (at) =>
        event({
          type: 'response.output_item.added',
          output_index: at,
          item: { type: 'message', id: `m${at}`, content: [] },
        }),
      )
      return behind('responses', [...said, ...rows(n, () => completed([]))].join(''))
    },
  ],
  [
    'messages',
    'members of the usage',
    (n) =>
      start() +
      rows(n, (at) =>
        event({ type: 'message_delta', delta: {}, usage: { [`tokens_${at}`]: at } }),
      ).join(''),
  ],
  ['messages', 'beginnings of a message', (n) => rows(n, () => start([])).join('')],
  [
    'messages',
    'calls that do not end',
    (n) => start() + rows(n, (at) => block(at, toolUse(at))).join(''),
  ],
  [
    'messages',
    'ends of the message',
    (n) =>
      start() +
      rows(n, () => event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } })).join(''),
  ],
  [
    'gemini',
    'results of calls with one name, without ids',
    (n) => ({
      contents: [
        GEMINI.user('go'),
        { role: 'model', parts: rows(n, (at) => ({ functionCall: geminiCall(at) })) },
        { role: 'user', parts: rows(n, (at) => geminiResult({ output: at })) },
      ],
      answers: [geminiEvents(1)],
    }),
  ],
  [
    'gemini',
    'results beside a long image',
    (n) => ({
      contents: [
        GEMINI.user('go'),
        { role: 'model', parts: rows(n, () => ({ functionCall: geminiCall(0) })) },
        {
          role: 'user',
          parts: [
            ...rows(n, () => geminiResult({ output: 'x' })),
            { inlineData: { mimeType: 'image/png', data: 'x'.repeat(200 * n) } },
          ],
        },
      ],
      answers: [geminiEvents(1)],
    }),
  ],
  ['gemini', 'events with calls', (n) => geminiEvents(n)],
  [
    'chat',
    'bytes of one frame, each by itself',
    (n) => ({ answers: [chunk([], { x: 'x'.repeat(8 * n) })], size: 1 }),
  ],
]

const streamOf = (text, size) => {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, (at += size)))
    },
  })
}

async function play(wire, mode, made) {
  const given = typeof made === 'string' ? { answers: [made] } : made
  const { answers = ['data: [DONE]\n\n'], size = 65_536, history = [], ...body } = given
  let requests = 0
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode,
    policy: { maxTools: 1e9 },
    fetch: async () => new Response(streamOf(answers[requests++] ?? '', size)),
  })
  const sent = JSON.stringify({ ...WIRES[wire].body(history), ...body })
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body: sent }))
  for await (const _ of response.body);
}

test('the work of the proxy grows with its input', async (t) => {
  for (const [wire, name, make] of CASES) {
    for (const mode of ['observe', 'bound']) {
      const [few, many] = [200, 800].map((n) => make(n))
      await play(wire, mode, few)
      const small = await counted(() => play(wire, mode, few))
      const large = await counted(() => play(wire, mode, many))
      for (const [unit, most] of Object.entries(small)) {
        const line = `${wire}, ${name}, ${mode}: ${most}, then ${large[unit]} ${unit}`
        t.diagnostic(line)
        assert.ok(large[unit] <= MOST * most + (unit === 'runs' ? 0 : FREE), line)
      }
    }
  }
})

test('what comes in one piece reaches the client in one, however many frames are read', async () => {
  // A runtime takes each of many pieces off its queue at the cost of all.
  const frames = rows(2000, (at) =>
    event({ type: 'message_delta', delta: {}, usage: { [`tokens_${at}`]: at } }),
  )
  const answer = [start(), ...frames, event({ type: 'message_stop' })].join('')
  for (const mode of ['observe', 'repair', 'bound']) {
    const proxy = createProxy({
      upstream: 'https://provider.example',
      authorize: () => ({ tenant: 'me' }),
      mode,
      fetch: async () => new Response(streamOf(answer, answer.length)),
    })
    const body = JSON.stringify(WIRES.messages.body([]))
    const url = `https://edge.example${WIRES.messages.path}`
    const response = await proxy(new Request(url, { method: 'POST', body }))
    const pieces = []
    for await (const piece of response.body) pieces.push(piece)
    assert.deepEqual([pieces.length, Buffer.concat(pieces).toString()], [1, answer], mode)
  }
})
