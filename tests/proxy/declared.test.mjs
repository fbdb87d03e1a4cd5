// Arguments as the schema of their tool reads them: equal texts are equal calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'

const closed = (properties, more) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const text = { type: 'string' }
const SEARCH = closed({
  q: text,
  size: { type: 'integer', default: 10 },
  where: closed({ id: text }),
})

/** Declarations and histories of each API, with calls of one tool. */
const WIRES = {
  chat: {
    path: '/v1/chat/completions',
    body: (schema, all) => ({
      model: 'm',
      tools: [{ type: 'function', function: { name: 'search', parameters: schema } }],
      messages: [
        { role: 'user', content: 'go' },
        ...all.flatMap((args, at) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: `c${at}`, type: 'function', function: { name: 'search', arguments: args } },
            ],
          },
          { role: 'tool', tool_call_id: `c${at}`, content: 'nothing' },
        ]),
      ],
    }),
    response: (args) => ({
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'new', type: 'function', function: { name: 'search', arguments: args } },
            ],
          },
        },
      ],
    }),
  },
  messages: {
    path: '/v1/messages',
    body: (schema, all) => ({
      model: 'm',
      max_tokens: 9,
      tools: [{ name: 'search', input_schema: schema }],
      messages: [
        { role: 'user', content: 'go' },
        ...all.flatMap((args, at) => [
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: `c${at}`, name: 'search', input: JSON.parse(args) }],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `c${at}`, content: 'nothing' }],
          },
        ]),
      ],
    }),
    response: (args) => ({
      type: 'message',
      role: 'assistant',
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 'new', name: 'search', input: JSON.parse(args) }],
    }),
  },
  responses: {
    path: '/v1/responses',
    body: (schema, all) => ({
      model: 'm',
      tools: [{ type: 'function', name: 'search', parameters: schema }],
      input: [
        { role: 'user', content: 'go' },
        ...all.flatMap((args, at) => [
          { type: 'function_call', call_id: `c${at}`, name: 'search', arguments: args },
          { type: 'function_call_output', call_id: `c${at}`, output: 'nothing' },
        ]),
      ],
    }),
    response: (args) => ({
      object: 'response',
      status: 'completed',
      output: [{ type: 'function_call', call_id: 'new', name: 'search', arguments: args }],
    }),
  },
}

/** Whether a call is refused that follows two others with the same result. */
async function isRefused(wire, schema, past, args) {
  const reports = []
  const proxy = createProxy({
    mode: 'bound',
    upstream: { url: 'http://provider/v1', apiKey: 'k' },
    authorize: () => ({ tenant: 't' }),
    fetch: async () => Response.json(wire.response(args)),
    onReport: (report) => reports.push(report),
  })
  const body = JSON.stringify(wire.body(schema, [past, past]))
  const headers = { 'content-type': 'application/json' }
  const request = new Request(`http://proxy${wire.path}`, { method: 'POST', headers, body })
  await (await proxy(request)).text()
  assert.equal(reports[0].error, undefined)
  return reports[0].blocked.length > 0
}

const ROWS = [
  ['a member is dropped', SEARCH, '{"q":"a"}', '{"q":"a","lang":"en"}', true],
  ['a default is filled in', SEARCH, '{"q":"a","size":10}', '{"q":"a"}', true],
  ['within an object', SEARCH, '{"where":{"id":"1"}}', '{"where":{"id":"1","x":2}}', true],
  ['another value', SEARCH, '{"q":"a"}', '{"q":"b","lang":"en"}', false],
  ['another default', SEARCH, '{"q":"a","size":5}', '{"q":"a"}', false],
  [
    'numbers that a double cannot tell apart',
    closed({ id: { type: 'integer' } }),
    '{"id":9007199254740993}',
    '{"id":9007199254740992,"x":1}',
    false,
  ],
  [
    'members are allowed that are not declared',
    { type: 'object', properties: { q: text } },
    '{"q":"a"}',
    '{"q":"a","lang":"en"}',
    false,
  ],
  ['no member is declared', closed({}), '{"q":"a"}', '{"q":"b"}', false],
  [
    'names of the prototype',
    SEARCH,
    '{"q":"a"}',
    '{"q":"a","constructor":{},"__proto__":{}}',
    true,
  ],
]
for (const [name, wire] of Object.entries(WIRES)) {
  for (const [what, schema, past, args, expected] of ROWS) {
    // Anthropic's arguments are no text: such numbers are gone before they are sent.
    if (name === 'messages' && what.startsWith('numbers')) continue
    test(`${name}: ${what}`, async () => {
      assert.equal(await isRefused(wire, schema, past, args), expected)
    })
  }
}
