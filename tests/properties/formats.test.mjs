// Bodies of other clients' formats with odd JSON in any of their members: a code below 500, nothing
// for the operator to look into, and no name in the store that is longer than an id.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { customModel, defineTool, memoryStore } from 'turnlock'
import { createHandler } from 'turnlock/server'
import { holds } from './hold.mjs'

const CALL = 'a'.repeat(64)
const TURN = '01234567-89ab-cdef-0123-456789abcdef'
const approval = { id: CALL, approved: true }
const UI = (parts) => ({ id: 'chat', messages: [{ id: TURN, role: 'assistant', parts }] })
const AG = (more) => ({ threadId: 't', runId: 'r', messages: [], tools: [], ...more })

/** Bodies as the clients send them. */
const BODIES = {
  'ai-sdk': [
    { id: 'chat', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }] },
    UI([{ type: 'tool-x', toolCallId: 'c', state: 'approval-responded', input: {}, approval }]),
    UI([{ type: 'tool-x', toolCallId: 'c', state: 'output-available', input: {}, output: 1 }]),
    UI([{ type: 'tool-x', toolCallId: 'c', state: 'output-error', input: {}, errorText: 'no' }]),
  ],
  'ag-ui': [
    AG({ messages: [{ id: 'm', role: 'user', content: 'go' }] }),
    AG({
      resume: [
        { interruptId: `${TURN}:${CALL}`, status: 'resolved', payload: { approved: true } },
        { interruptId: `${TURN}:${CALL}`, status: 'cancelled' },
      ],
    }),
    AG({
      messages: [
        { id: 'm', role: 'user', content: 'go' },
        {
          id: 'n',
          role: 'assistant',
          toolCalls: [
            { id: `${TURN}:c`, type: 'function', function: { name: 'x', arguments: '{}' } },
          ],
        },
        { id: 'o', role: 'tool', toolCallId: `${TURN}:c`, content: '1' },
        { id: 'p', role: 'tool', toolCallId: `${TURN}:d`, content: '', error: 'no' },
      ],
    }),
  ],
}

const odd = fc.oneof(
  fc.constantFrom(
    '\ud800',
    `\ud800:${CALL}`,
    `\ud800${TURN}:${CALL}`,
    '',
    '__proto__',
    'x'.repeat(10_000),
    `${'x'.repeat(10_000)}:${CALL}`,
    { toString: 1 },
    { toString: null, valueOf: 1 },
    { length: 3 },
    [{ toString: 1 }],
    null,
    0,
    true,
    [],
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

/** The paths of all members of a value, the value's own first. */
function pathsOf(value, path = []) {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, one]) => pathsOf(one, [...path, name]))]
}

function put(value, [name, ...rest], what) {
  if (name === undefined) return what
  const copy = Array.isArray(value) ? [...value] : { ...value }
  copy[name] = put(copy[name], rest, what)
  return copy
}

const spoiled = (format) =>
  fc
    .constantFrom(...BODIES[format])
    .chain((body) =>
      fc
        .array(fc.tuple(fc.constantFrom(...pathsOf(body)), odd), { minLength: 1, maxLength: 2 })
        .map((changes) => changes.reduce((made, [path, what]) => put(made, path, what), body)),
    )

/** A store that notes how long the names are by which it is asked. */
function noting() {
  const store = memoryStore()
  const names = []
  const watched = new Proxy(store, {
    get: (of, member) =>
      typeof of[member] !== 'function'
        ? of[member]
        : (...given) => {
            if (typeof given[0] === 'string') names.push(given[0])
            return of[member](...given)
          },
  })
  return { store: watched, names }
}

for (const format of Object.keys(BODIES)) {
  test(`whatever a body of ${format} has in its members, it is no failure of the server`, async () => {
    const { store, names } = noting()
    const failures = []
    const handler = createHandler({
      format,
      store,
      authorize: () => ({ tenant: 't' }),
      model: customModel(async function* () {
        yield { type: 'text', text: 'Hello.' }
      }),
      tools: {
        x: defineTool({ description: 'x', inputSchema: { type: 'object' }, execute: () => 1 }),
      },
      limits: { resumesPerMinute: 1e9 },
      onError: (error) => failures.push(error),
    })
    const ask = async (body) => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await handler(new Request('https://edge.example/api/chat/messages', init))
      const text = await response.text()
      assert.ok(response.status < 500, `${response.status} ${text}`)
      if (response.status >= 400) assert.match(JSON.parse(text).error.code, /^[a-z]+\.[a-z_]+$/)
      assert.deepEqual(failures, [])
      assert.ok(names.splice(0).every((name) => name.length < 600))
      return response.status
    }
    // The bodies are what the formats read: a turn starts, and one that is unknown is not found.
    assert.deepEqual([await ask(BODIES[format][0]), await ask(BODIES[format][1])], [200, 404])
    const statuses = new Set()
    const property = fc.asyncProperty(spoiled(format), async (body) => {
      statuses.add(await ask(body))
    })
    await holds(format, property, 500)
    assert.ok(statuses.has(200) && statuses.has(400), [...statuses].join())
  })
}
