// A turn, the call guard, the proxy and the middleware judge by one machine: they print the same
// notice for the same refusal, and decide alike where their options are equal.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, wrapLanguageModel } from 'ai'
import fc from 'fast-check'
import { createCallGuard, customModel, defineTool, openaiChat, runTurn } from 'turnlock'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { createProxy } from 'turnlock/proxy'
import { WIRES } from '../proxy/wires.mjs'

const { chat } = WIRES
const A = { path: 'a' }
const B = { path: 'b' }
const USER = [{ role: 'user', content: 'look' }]

let server
let baseURL
/** The requests that the provider got, and what it answers the n-th one with. */
let requests = []
let callsOf = () => []
before(async () => {
  server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    requests.push(body)
    const n = requests.length
    const calls = callsOf(n, body).map((args, at) => ({ id: `call_${n}_${at}`, name: 'ls', args }))
    const type = body.stream ? 'text/event-stream' : 'application/json'
    response.writeHead(200, { 'content-type': type })
    // Without calls and text, a caller of the model has to say something itself.
    const entry = { calls, text: '' }
    if (body.stream) response.end(chat.stream({ calls }, { n, body }).join(''))
    else response.end(JSON.stringify(chat.whole(entry)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  baseURL = `http://127.0.0.1:${server.address().port}/v1`
})
after(() => server.close())

const ls = (options) =>
  defineTool({
    description: 'Lists files.',
    inputSchema: { type: 'object' },
    execute: () => 'notes.txt',
    ...options,
  })

/** The notice of each caller. `calls` are those of each response of the model. */
const CALLERS = {
  async turn(calls, maxTools) {
    callsOf = (n) => calls[n - 1] ?? []
    const turn = runTurn({
      model: openaiChat({ baseURL, model: 'm', apiKey: 'k' }),
      tools: { ls: ls() },
      policy: { maxTools, readMode: 'batch' },
      messages: USER,
    })
    const notices = []
    for await (const event of turn) if (event.type === 'refused') notices.push(event.notice)
    return notices[0]
  },
  async guard(calls, maxCalls) {
    const guard = createCallGuard({ tools: { ls: ls() }, maxCalls })
    for (const args of calls.flat()) {
      const verdict = guard.judge({ name: 'ls', args })
      if (verdict.action === 'block') return verdict.notice
      guard.settle({ name: 'ls', args }, 'notes.txt')
    }
  },
  async proxy(calls, maxTools) {
    const [first, second] = calls.flat()
    // The client has run the first call; the model requests nothing but the second.
    callsOf = () => [second]
    const proxy = createProxy({
      upstream: baseURL,
      authorize: () => ({ tenant: 'me' }),
      mode: 'bound',
      policy: { maxRepeats: 1, maxTools },
    })
    const body = chat.body([['ls', first, 'notes.txt']], { stream: false })
    const url = `https://edge.example${chat.path}`
    const response = await proxy(new Request(url, { method: 'POST', body: JSON.stringify(body) }))
    return chat.said(await response.json())
  },
  async middleware(calls, maxTools) {
    const [first, second] = calls.flat()
    callsOf = (n, { messages }) => [messages.some(({ role }) => role === 'tool') ? second : first]
    const model = createOpenAICompatible({ name: 'scripted', apiKey: 'k', baseURL }).chatModel('m')
    await generateText({
      model: wrapLanguageModel({ model, middleware: turnlockMiddleware({ maxTools }) }),
      tools: { ls: { inputSchema: jsonSchema({ type: 'object' }), execute: () => 'notes.txt' } },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      messages: USER,
    })
    return requests
      .flatMap(({ messages }) => messages)
      .findLast(({ role, content }) => role === 'tool' && content !== 'notes.txt')?.content
  },
}

const REFUSALS = {
  duplicate: {
    calls: [[A], [A]],
    budget: 3,
    notice:
      'The call to ls did not run: the result of the same call is already at hand. Use that result.',
  },
  budget: {
    calls: [[A, B]],
    budget: 1,
    notice:
      'The call to ls did not run: the tool budget of this turn is used up. Go on with the results at hand.',
  },
}
for (const [reason, { calls, budget, notice }] of Object.entries(REFUSALS)) {
  for (const [caller, refused] of Object.entries(CALLERS)) {
    test(`${caller}: prints the notice of all callers for ${reason}`, async () => {
      requests = []
      assert.equal(await refused(calls, budget), notice)
    })
  }
}

/** What a turn does with these calls of one response, in order. */
async function ruledByTurn(calls, maxTools) {
  const model = customModel(async function* ({ messages }) {
    if (messages.at(-1).role !== 'user') return yield { type: 'text', text: 'answer' }
    for (const [index, { name, args }] of calls.entries()) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name }
      yield { type: 'tool_call_arguments', index, text: args }
      yield { type: 'tool_call_end', index }
    }
  })
  const tools = { send: ls(), list: ls() }
  const turn = runTurn({ model, tools, policy: { maxTools, readMode: 'batch' }, messages: USER })
  const ruled = new Map()
  for await (const event of turn) {
    if (event.toolBatchId > 1) continue
    for (const { id } of event.type === 'refused' ? event.toolCalls : [])
      ruled.set(id, event.reason)
    for (const { toolCallId } of event.type === 'tool_results' ? event.toolResults : []) {
      ruled.set(toolCallId, 'run')
    }
  }
  return calls.map((_, at) => ruled.get(`c${at}`))
}

/** What the guard does with them, the state of which goes through JSON after each call. */
function ruledByGuard(calls, maxCalls) {
  let state
  return calls.map((call) => {
    const guard = createCallGuard({ tools: { send: ls(), list: ls() }, maxCalls, state })
    const { action, reason } = guard.judge(call)
    if (action === 'run') guard.settle(call, 'done')
    state = JSON.parse(JSON.stringify(guard.state()))
    return reason ?? action
  })
}

/** What the proxy does with each of them, behind a history of those before it that ran. */
async function ruledByProxy(calls, maxTools) {
  const [past, ruled] = [[], []]
  for (const { name, args } of calls) {
    const call = { id: 'call_next', name, args: JSON.parse(args || '{}') }
    let report
    const proxy = createProxy({
      upstream: 'https://provider.example',
      authorize: () => ({ tenant: 'me' }),
      mode: 'bound',
      policy: { maxRepeats: 1, maxTools },
      onReport: (made) => (report = made),
      fetch: async () => Response.json(chat.whole({ calls: [call] })),
    })
    const body = JSON.stringify(chat.body(past, { stream: false }))
    const request = new Request(`https://edge.example${chat.path}`, { method: 'POST', body })
    await (await proxy(request)).text()
    const [blocked] = report.blocked
    ruled.push(blocked?.reason ?? 'run')
    if (!blocked) past.push([name, call.args, 'done'])
  }
  return ruled
}

test('turn, guard and proxy: agree on each call where their options are equal', async () => {
  const call = fc.record({
    name: fc.constantFrom('send', 'list'),
    args: fc.constantFrom(
      '{"a":1}',
      '{ "a": 1.0 }',
      '{"b":[2],"a":1}',
      '{"a":1,"b":[2]}',
      '{}',
      '',
    ),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { maxLength: 8 }),
      fc.integer({ min: 1, max: 5 }),
      async (calls, budget) => {
        const expected = await ruledByTurn(calls, budget)
        assert.deepEqual(ruledByGuard(calls, budget), expected, 'the guard')
        assert.deepEqual(await ruledByProxy(calls, budget), expected, 'the proxy')
      },
    ),
    { numRuns: 100 },
  )
})
