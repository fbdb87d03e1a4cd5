// Every event of the AG-UI format against the schemas of the installed versions of @ag-ui/core, and the
// order that its clients require; hostile turns too.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { customModel, defineTool, runTurn } from 'turnlock'
import { AgUiStream } from '../../pkg/dist/adapters/ag-ui/stream.js'
import { holds } from '../properties/hold.mjs'
import { scenarioLogs } from './logs.mjs'

const require = createRequire(import.meta.url)
const core = (client, path) => createRequire(require.resolve(`${client}/package.json`))(path)
/** A schema for each event by version: of 1.0.0, unknown members are visible as differences. */
const SCHEMAS = {
  '1.0.0': core('@ag-ui/client', '@ag-ui/core/schemas').EventSchemas,
  '0.0.59': core('ag-ui-client0', '@ag-ui/core').EventSchemas,
}

/** Throws if an event is not one, or is not what a client would read of its JSON. */
function valid(events, where) {
  for (const [version, schema] of Object.entries(SCHEMAS)) {
    for (const event of events) {
      const sent = JSON.parse(JSON.stringify(event))
      const read = schema.safeParse(sent)
      const why = () => `${where}, ${version}: ${JSON.stringify(sent)}\n${read.error}`
      assert.ok(read.success, why())
      assert.deepEqual({ ...read.data }, sent, why())
      // Optional members are left out.
      const { value, ...members } = sent
      assert.ok(!Object.values(members).includes(null), why())
    }
  }
  const ids = (type) =>
    events.filter((one) => one.type === type).map(({ toolCallId }) => toolCallId)
  assert.equal(events[0]?.type, 'RUN_STARTED', where)
  assert.match(events.at(-1).type, /^RUN_(?:FINISHED|ERROR)$/, where)
  assert.deepEqual(ids('TOOL_CALL_START'), ids('TOOL_CALL_END'), where)
  assert.equal(new Set(ids('TOOL_CALL_START')).size, ids('TOOL_CALL_START').length, where)
}

function eventsOf(legs) {
  return legs.map((leg, at) => {
    const run = { requestId: leg[0].requestId, threadId: 'thread', runId: `run-${at}` }
    const stream = new AgUiStream(run)
    stream.seen(legs.slice(0, at).flat())
    return [...leg.flatMap((event) => stream.take(event)), ...stream.finish()]
  })
}

test('AG-UI: events of all scenarios fit the schemas of 0.0.59 and 1.0.0', async () => {
  let count = 0
  for (const { name, legs } of await scenarioLogs()) {
    if (legs.length === 0) continue
    // A turn whose process died has no last event.
    const runs = eventsOf(legs).filter((events) => /^RUN_(F|E)/.test(events.at(-1)?.type))
    for (const events of runs) valid(events, name)
    count += runs.flat().length
  }
  assert.ok(count > 1000, `${count} events`)
})

const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'Hello.',
    '\u0000',
    '\ud800',
    '"',
    '[DONE]',
    '\r\n\r\ndata: x',
    '\u2028',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const frame = fc.oneof(
  text.map((chunk) => ({ type: 'text', text: chunk })),
  text.map((chunk) => ({ type: 'reasoning', text: chunk })),
  fc.record({
    type: fc.constant('tool_call'),
    id: fc.constantFrom('', 'c', 'c', 'é', '\u0000'),
    name: fc.constantFrom('look', 'fails', 'odd', 'missing', '', '__proto__', 'a\u202e'),
    args: fc.constantFrom('{}', '', 'null', '[]', '{"a":1}', '{"__proto__":{"x":1}}', '{', '5'),
  }),
)
const finish = fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter', undefined)

test('AG-UI: events of turns with hostile models fit the schemas', async () => {
  let calls = 0
  await holds(
    'AG-UI schemas',
    fc.asyncProperty(
      fc.array(fc.tuple(fc.array(frame, { maxLength: 5 }), finish), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      fc.anything({ maxDepth: 2 }),
      async (script, redacted, failing, result) => {
        let requests = 0
        const model = customModel(async function* () {
          const [frames, reason] = script[Math.min(requests++, script.length - 1)]
          for (const [index, { type, text, id, name, args }] of frames.entries()) {
            if (type !== 'tool_call') {
              yield { type, text }
              continue
            }
            yield { type: 'tool_call_start', index, id, name }
            yield { type: 'tool_call_arguments', index, text: args }
            yield { type: 'tool_call_end', index }
          }
          if (failing) throw new Error('reset\u202e')
          if (reason) yield { type: 'finish', reason }
        })
        const tool = (execute) =>
          defineTool({ description: 'x', inputSchema: { type: 'object' }, execute })
        const turn = runTurn({
          model,
          messages: [{ role: 'user', content: 'go' }],
          policy: { maxTools: 3 },
          tools: {
            look: tool(() => 'found'),
            odd: tool(() => result),
            fails: tool(() => {
              throw result
            }),
          },
          ...(redacted && { redact: createRedactor() }),
        })
        const leg = []
        for await (const event of turn) leg.push(event)
        const [events] = eventsOf([leg])
        valid(events, JSON.stringify(leg.at(-1)))
        calls += events.filter(({ type }) => type === 'TOOL_CALL_RESULT').length
      },
    ),
    400,
  )
  assert.ok(calls > 50, `${calls} results`)
})
