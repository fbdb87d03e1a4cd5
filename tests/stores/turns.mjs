// The same turns by the package's driver and by the crate's, each with its own IndexedDB store: one
// model, one set of tools, told what they do.
import { cancelTurn, defineTool, openaiChat, resumeTurn, runTurn } from 'turnlock'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import * as rust from '/.cache/page/turnlock_page.js'

/** Starts of tools in this page. */
const starts = []
/** By turn: its events so far, and a promise of its result. */
const played = {}

const TENANT = 'someone'
const QUESTION = [{ role: 'user', content: 'Which, and how much?' }]

const chunk = (delta, finish = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** A provider that asks for one call, and answers when it may ask for none. */
function provider({ call, hangs }) {
  return async (given, init) => {
    const request = new Request(given, init)
    const { tools } = await request.json()
    const calls = [
      { index: 0, id: 'call_1', function: { name: call, arguments: '{"of":"é😀","n":1.50}' } },
    ]
    const texts = tools?.length
      ? [chunk({ content: 'Let me see.' }), chunk({ tool_calls: calls }, 'tool_calls')]
      : [chunk({ content: 'There ' }), chunk({ content: 'it is.' }, 'stop')]
    const body = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder()
        texts.forEach((text, at) => {
          if (hangs !== 'model' || tools?.length || at === 0) {
            controller.enqueue(encoder.encode(text))
          }
        })
        if (hangs === 'model' && !tools?.length) return
        controller.enqueue(encoder.encode('data: [DONE]\n\n'))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** What the tools of every turn are. */
function toolsOf({ hangs }) {
  const tool = (name, more) => ({
    name,
    ...more,
    execute(args, { idempotencyKey, toolCallId, requestId }) {
      starts.push({ name, args, idempotencyKey, toolCallId, requestId })
      return hangs === name ? new Promise(() => {}) : { done: name, args }
    },
  })
  return [tool('look', { readOnly: true }), tool('pay'), tool('send', { needsApproval: true })]
}

const packageTools = (tools) =>
  Object.fromEntries(
    tools.map(({ name, ...tool }) => [
      name,
      defineTool({ description: 'A tool', inputSchema: { type: 'object' }, ...tool }),
    ]),
  )

/** `what` is `run` or `resume`. */
function begin(kind, what, spec) {
  const { name, requestId, policy = {}, approvals = [] } = spec
  const events = []
  const fetch = provider(spec)
  const tools = toolsOf(spec)
  const baseUrl = `${location.origin}/model`
  if (kind === 'rust') {
    const given = {
      name,
      requestId,
      tenant: TENANT,
      baseUrl,
      fetch,
      tools,
      approvals,
      messages: JSON.stringify(QUESTION),
      policy: JSON.stringify(policy),
      onEvent: (text) => void events.push(JSON.parse(text)),
    }
    const result = what === 'run' ? rust.runTurn(given) : rust.resumeTurn(given)
    return { events, result }
  }
  const model = openaiChat({
    baseURL: baseUrl,
    model: 'scripted',
    apiKey: '-',
    fetch,
    maxRetries: 0,
  })
  const shared = {
    requestId,
    tenant: TENANT,
    model,
    tools: packageTools(tools),
    store: indexedDbStore({ name }),
  }
  const turn =
    what === 'run'
      ? runTurn({ ...shared, messages: QUESTION, policy })
      : resumeTurn({ ...shared, approvals })
  const read = (async () => {
    for await (const event of turn) events.push(event)
  })()
  return { events, result: turn.result.then((result) => read.then(() => result)) }
}

export const turns = {
  starts: () => starts,
  /** Begins to play; `ended` waits for it. */
  play(kind, what, spec) {
    played[spec.requestId] = begin(kind, what, spec)
  },
  seen: (requestId) => played[requestId].events,
  async ended(requestId) {
    const { events, result } = played[requestId]
    // As JSON: what is missing and what is `undefined` are the same.
    return JSON.parse(JSON.stringify({ events, result: await result }))
  },
  async cancel(kind, name, requestId) {
    if (kind === 'rust') return rust.cancelTurn(name, requestId, TENANT)
    const store = indexedDbStore({ name })
    return (await cancelTurn({ requestId, store, tenant: TENANT, reason: 'enough' })).status
  },
  /** All that stands in a database of a turn. */
  async kept(kind, name, requestId) {
    const store = bench.make(kind, { name })
    const turn = JSON.stringify([TENANT, requestId])
    const kept = bench.plain(await store.read(turn))
    return { ...kept, groups: await store.events(turn, 0, 1000) }
  },
}
