// Histories that describe one call in two places of a message.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diagnoseHistory, normalizeHistory } from 'turnlock'
import { holds } from './hold.mjs'

const DIALECTS = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'cohere',
  'bedrock',
  'ollama',
  'langchain',
  'groq',
  'xai',
  'chat-template',
]
const dialects = fc.constantFrom(...DIALECTS)

const args = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,4}$/),
  fc.oneof(fc.string(), fc.string({ minLength: 80 }), fc.integer(), fc.array(fc.integer())),
  { minKeys: 1, maxKeys: 3 },
)

/** Where a message has the call: objects stay with the host, so both sides of the core are asked. */
const PLACES = {
  tool_use: (input) => ({ content: [{ type: 'tool_use', id: 'c1', name: 'f', input }] }),
  toolUse: (input) => ({ content: [{ toolUse: { toolUseId: 'c1', name: 'f', input } }] }),
  'tool-call': (input) => ({
    content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'f', input }],
  }),
  partial_json: (input) => ({
    content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {}, partial_json: text(input) }],
  }),
  tool_calls: (args) => ({ tool_calls: [{ id: 'c1', name: 'f', args, type: 'tool_call' }] }),
  toolCalls: (args) => ({ toolCalls: [{ toolCallId: 'c1', toolName: 'f', args }] }),
  invalid_tool_calls: (args) => ({
    invalid_tool_calls: [{ id: 'c1', name: 'f', args: text(args) }],
  }),
  toolInvocations: (args) => ({
    toolInvocations: [{ state: 'call', toolCallId: 'c1', toolName: 'f', args }],
  }),
  additional_kwargs: (args) => ({
    additional_kwargs: {
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: text(args) } }],
    },
  }),
  'tool part': (input) => ({
    parts: [{ type: 'tool-f', toolCallId: 'c1', state: 'input-available', input }],
  }),
  'tool-invocation part': (args) => ({
    parts: [
      {
        type: 'tool-invocation',
        toolInvocation: { state: 'call', toolCallId: 'c1', toolName: 'f', args },
      },
    ],
  }),
}
const text = (value) => (Object.keys(value).length ? JSON.stringify(value) : '')
const pairs = fc
  .tuple(...[0, 1].map(() => fc.constantFrom(...Object.keys(PLACES))))
  // A message with `parts` has no other content.
  .filter(([one, other]) => {
    const members = [one, other].map((name) => Object.keys(PLACES[name]({}))[0])
    return members[0] !== members[1] && !(members.includes('parts') && members.includes('content'))
  })

/** The arguments of every call that a request has. */
function sent(value) {
  if (Array.isArray(value)) return value.flatMap(sent)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (!['args', 'arguments', 'input'].includes(key)) return sent(inner)
    return [typeof inner === 'string' ? JSON.parse(inner) : inner]
  })
}

const converted = (message, dialect) => {
  const history = [
    { role: 'user', content: 'go' },
    message,
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
    { role: 'user', content: 'and now?' },
  ]
  const { messages, repairs } = normalizeHistory(history, { dialect })
  assert.deepEqual(diagnoseHistory(messages, { dialect }), [])
  const codes = repairs.map(({ code }) => code)
  assert.ok(!codes.includes('TOOL_RESULT_ORPHAN') && !codes.includes('TOOL_CALL_UNANSWERED'))
  return { found: sent(messages), isConflict: codes.includes('TOOL_ARGS_CONFLICT') }
}

test('arguments: those of a call survive every pair of places that describe it', async () => {
  const role = { role: 'assistant' }
  await holds(
    'pairs of places',
    fc.property(pairs, args, args, dialects, ([one, other], mine, theirs, dialect) => {
      const same = JSON.stringify(mine) === JSON.stringify(theirs)
      const [a, b] = [PLACES[one], PLACES[other]]
      const copy = structuredClone(mine)
      for (const message of [
        { ...a(mine), ...b({}) },
        { ...a({}), ...b(mine) },
        { ...a(mine), ...b(copy) },
      ]) {
        const found = converted({ ...role, ...message }, dialect)
        assert.deepEqual(found, { found: [JSON.parse(JSON.stringify(mine))], isConflict: false })
      }
      if (same) return
      const { found, isConflict } = converted({ ...role, ...a(mine), ...b(theirs) }, dialect)
      assert.equal(isConflict, true)
      assert.equal(found.length, 1)
    }),
    300,
  )
})

/** Where a history says that a result is a failure. */
const RESULTS = {
  is_error: (content, is_error) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', content, is_error }],
  }),
  'list of texts': (text, is_error) => ({
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text }], is_error },
    ],
  }),
  'status of LangChain': (content, failed) => ({
    type: 'tool',
    tool_call_id: 'c1',
    content,
    status: failed ? 'error' : 'success',
  }),
  isError: (content, isError) => ({ role: 'tool', toolCallId: 'c1', name: 'f', content, isError }),
  'status of Bedrock': (text, failed) => ({
    role: 'user',
    content: [
      {
        toolResult: {
          toolUseId: 'c1',
          content: [{ text }],
          status: failed ? 'error' : 'success',
        },
      },
    ],
  }),
  'output of the AI SDK': (value, failed) => ({
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c1',
        toolName: 'f',
        output: { type: failed ? 'error-text' : 'text', value },
      },
    ],
  }),
  event: (result, failed) => ({
    type: failed ? 'tool_call_error' : 'tool_call_result',
    toolCallId: 'c1',
    result,
  }),
}
const FLAGS = ['anthropic', 'gemini', 'bedrock', 'langchain']
const contents = fc.oneof(
  fc.constantFrom('42', '', ' ', 'Error: 42', 'Error:', 'error: 42', '{"error":"x"}'),
  fc.string(),
  fc.string({ minLength: 65, maxLength: 90 }),
  fc.string({ minLength: 65, maxLength: 90 }).map((text) => `Error: ${text}`),
)

test('failures: a failed result never reads as a successful one', async () => {
  const kinds = fc.constantFrom(...Object.keys(RESULTS))
  await holds(
    'failures',
    fc.property(kinds, contents, dialects, (kind, content, dialect) => {
      const history = (failed) => [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'f', args: { a: 1 } }] },
        RESULTS[kind](content, failed),
        { role: 'user', content: 'and now?' },
      ]
      const [well, badly] = [false, true].map((failed) =>
        normalizeHistory(history(failed), { dialect }),
      )
      for (const { messages } of [well, badly]) {
        assert.deepEqual(diagnoseHistory(messages, { dialect }), [])
        const again = normalizeHistory(messages, { dialect })
        assert.deepEqual(again.messages, messages, 'what it is made to is left as it is')
      }
      const [good, bad] = [well, badly].map(({ messages }) => JSON.stringify(messages))
      const isSaid = content.startsWith('Error: ')
      if (FLAGS.includes(dialect) || !isSaid) assert.notEqual(bad, good)
      if (FLAGS.includes(dialect)) return
      assert.equal(bad.split('Error: ').length, Math.max(content.split('Error: ').length, 2))
      // Text is text where it comes from a provider without a flag.
      const back = normalizeHistory(badly.messages, { dialect: 'anthropic' }).messages
      assert.ok(!JSON.stringify(back).includes('is_error'))
    }),
    600,
  )
})
