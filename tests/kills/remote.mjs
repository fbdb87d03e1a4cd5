// A turn in a worker or a page: what may be asked of it from outside. Web standards only.
import { customModel, defineTool, followTurn, resumeTurn, runTurn } from 'turnlock'

const messages = [{ role: 'user', content: 'Switch the kitchen lamp on.' }]
const keyOf = (trial) => JSON.stringify(['', trial])
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** In the order of the turn. */
export const LANDMARKS = [
  'model asked',
  'tool started',
  'effect applied',
  'answer asked for',
  'in the answer',
]

/** @param {{ trial: string, kind: string, who: string, stopAt?: string }} spec */
function partsOf(url, { trial, kind, who, stopAt }) {
  const post = (path, body) =>
    fetch(url + path, { method: 'POST', body: JSON.stringify({ trial, ...body }) })
  const at = async (landmark) => landmark === stopAt && (await post('/at', { landmark }))
  const model = customModel(async function* ({ tools }) {
    if (tools?.length) {
      await at('model asked')
      yield { type: 'tool_call_start', index: 0, id: 'call_1', name: 'act' }
      return yield { type: 'tool_call_arguments', index: 0, text: '{"lamp":"kitchen"}' }
    }
    await at('answer asked for')
    for (const text of ['The ', 'lamp ', 'is ', 'on.']) {
      yield { type: 'text', text }
      // Beyond the time for which text gathers, so that the first pieces are kept.
      await pause(30)
      if (text === 'is ') await at('in the answer')
    }
  })
  const act = defineTool({
    description: 'Switches a lamp on.',
    inputSchema: { type: 'object' },
    ...(kind !== 'plain' && { [kind]: true }),
    async execute(_, { idempotencyKey: key, toolCallId: callId }) {
      await post('/starts', { key, callId, pid: who })
      await at('tool started')
      await post('/receipts', { key, callId, pid: who, hold: stopAt === 'effect applied' })
      return 'on'
    },
  })
  return { model, tools: { act }, requestId: trial }
}

/** What may be asked; the answers have JSON. */
export const operations = (store, url) => ({
  run: (spec, policy) => runTurn({ ...partsOf(url, spec), store, messages, policy }).result,
  resume: (spec) => resumeTurn({ ...partsOf(url, spec), store }).result,
  async read({ trial }) {
    const kept = await store.read(keyOf(trial))
    return kept && { ...kept, idleMs: kept.idleMs === Infinity ? 'gone' : kept.idleMs }
  },
  events: ({ trial }) => store.events(keyOf(trial), 0, 10_000),
  follow: ({ trial }, after) => followTurn({ requestId: trial, store, after }),
  /** Shows each event to `see`, and comes back whenever it is cut off. */
  async followAlong({ trial }, after, see) {
    for (let seq = after; ; await pause(20)) {
      for await (const event of followTurn({ requestId: trial, store, after: seq })) {
        if (['turn.not_found', 'turn.interrupted'].includes(event.code)) break
        seq = event.seq
        await see(trial, event)
        if (event.type === 'complete') return
      }
    }
  },
  async all({ trial }) {
    const events = []
    for await (const event of followTurn({ requestId: trial, store })) events.push(event)
    return events
  },
})
