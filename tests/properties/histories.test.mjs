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
  'dynamic-tool part': (input) => ({
    parts: [
      {
        type: 'dynamic-tool',
        toolName: 'f',
        toolCallId: 'c1',
        state: 'input-available',
        input,
      },
    ],
  }),
  functionCall: (args) => ({ parts: [{ functionCall: { id: 'c1', name: 'f', args } }] }),
  content_blocks: (args) => ({
    content_blocks: [{ type: 'tool_call', id: 'c1', name: 'f', args }],
  }),
  contentBlocks: (args) => ({ contentBlocks: [{ type: 'tool_call', id: 'c1', name: 'f', args }] }),
  'tool_calls of OpenAI': (args) => ({
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: text(args) } }],
  }),
  tool_call_chunks: (args) => ({
    tool_call_chunks: [{ id: 'c1', name: 'f', args: text(args), index: 0 }],
  }),
  function_call: (args) => ({ function_call: { name: 'f', arguments: text(args) } }),
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
  // Two items of one form in a list are two calls; both spellings of `content_blocks` are one list.
  .filter(([one, other]) => form(one) !== form(other))

function form(name) {
  const [[key, value]] = Object.entries(PLACES[name]({}))
  const item = value[0] ?? {}
  // Two tool parts of the AI SDK with arguments are two calls, too.
  const type = `${item.type ?? ''}`.replace(/^(tool-f|dynamic-tool|tool-invocation)$/, 'tool')
  return `${key.replace('contentBlocks', 'content_blocks')} ${type} ${typeof item.function}`
}

/** What a message is beside its calls, as several libraries write it. */
const MESSAGES = {
  role: (members) => ({ role: 'assistant', ...members }),
  'role at the end': (members) => ({ ...members, role: 'assistant' }),
  LangChain: (members) => ({ type: 'ai', ...members }),
  'LangChain, serialized': (kwargs) => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', 'AIMessage'],
    kwargs,
  }),
}
const messages = fc.constantFrom(...Object.keys(MESSAGES))

/** The members of both; of a list that both have, the items of both. */
function both(one, other) {
  const all = { ...one, ...other }
  for (const key of Object.keys(one)) {
    if (key in other) all[key] = joined(one[key], other[key])
  }
  return all
}
const joined = (a, b) => (Array.isArray(a) ? [...a, ...b] : { ...a, ...b })

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
  const again = normalizeHistory(messages, { dialect })
  assert.deepEqual(again.messages, messages, 'the result is stable')
  const codes = repairs.map(({ code }) => code)
  assert.ok(!codes.includes('TOOL_RESULT_ORPHAN') && !codes.includes('TOOL_CALL_UNANSWERED'))
  return { found: sent(messages), isConflict: codes.includes('TOOL_ARGS_CONFLICT') }
}

test('arguments: those of a call survive every pair of places that describe it', async () => {
  await holds(
    'pairs of places',
    fc.property(
      pairs,
      args,
      args,
      dialects,
      messages,
      ([one, other], mine, theirs, dialect, kind) => {
        const message = MESSAGES[kind]
        const same = JSON.stringify(mine) === JSON.stringify(theirs)
        const [a, b] = [PLACES[one], PLACES[other]]
        const copy = structuredClone(mine)
        for (const members of [
          both(a(mine), b({})),
          both(a({}), b(mine)),
          both(a(mine), b(copy)),
        ]) {
          const found = converted(message(members), dialect)
          assert.deepEqual(found, { found: [JSON.parse(JSON.stringify(mine))], isConflict: false })
        }
        if (same) return
        const { found, isConflict } = converted(message(both(a(mine), b(theirs))), dialect)
        assert.equal(isConflict, true)
        assert.equal(found.length, 1)
      },
    ),
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
  'status of a page': (content, failed) => ({
    role: 'tool',
    tool_call_id: 'c1',
    content,
    status: failed ? 'Failed' : 'completed',
  }),
  success: (result, failed) => ({
    type: 'tool_call_result',
    toolCallId: 'c1',
    result,
    success: !failed,
  }),
  'flag as a number': (content, failed) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', content, is_error: failed ? 1 : 0 }],
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

const NOTE = 'whether the tool had its effect is not known'

test('failures: a call that was cut off says once that its outcome is unknown', async () => {
  const words = [
    'timeout',
    'Timed_Out',
    'unknown',
    'cancelled',
    'canceled',
    'aborted',
    'incomplete',
  ]
  const results = {
    message: (content, status) => ({ role: 'tool', tool_call_id: 'c1', content, status }),
    event: (result, status) => ({ type: 'tool_call_result', toolCallId: 'c1', result, status }),
    item: (output, status) => ({ type: 'function_call_output', call_id: 'c1', output, status }),
  }
  await holds(
    'cut off',
    fc.property(
      fc.constantFrom(...Object.keys(results)),
      fc.constantFrom(...words),
      fc.oneof(
        contents,
        contents.map((text) => `${text}; ${NOTE}`),
        fc.string({ minLength: 65, maxLength: 90 }).map((text) => `${text}; ${NOTE}`),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.string(), { minKeys: 1 }),
      ),
      dialects,
      (kind, status, content, dialect) => {
        const { messages } = normalizeHistory(
          [
            { role: 'user', content: 'go' },
            {
              role: 'assistant',
              content: '',
              toolCalls: [{ id: 'c1', name: 'f', args: { a: 1 } }],
            },
            results[kind](content, status),
            { role: 'user', content: 'and now?' },
          ],
          { dialect },
        )
        const told = JSON.stringify(messages)
        assert.equal(told.split(NOTE).length, 2, told)
        assert.deepEqual(normalizeHistory(messages, { dialect }).messages, messages)
        if (!FLAGS.includes(dialect)) assert.ok(told.includes('"Error: '), told)
      },
    ),
    400,
  )
})

test('failures: a result of MCP that failed is one, wherever a host keeps it', async () => {
  const mcp = fc.record({
    content: fc.array(fc.record({ type: fc.constant('text'), text: fc.string() })),
    isError: fc.boolean(),
    structuredContent: fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.string()),
  })
  const results = {
    message: (content) => ({ role: 'tool', tool_call_id: 'c1', content, status: 'success' }),
    'message in camelCase': (result) => ({ role: 'tool', toolCallId: 'c1', result }),
    event: (result) => ({ type: 'tool_call_result', toolCallId: 'c1', result }),
    item: (output) => ({ type: 'function_call_output', call_id: 'c1', output }),
    'output of the AI SDK': (value) => ({
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c1',
          toolName: 'f',
          output: { type: typeof value === 'string' ? 'text' : 'json', value },
        },
      ],
    }),
  }
  await holds(
    'results of MCP',
    fc.property(
      fc.constantFrom(...Object.keys(results)),
      mcp,
      fc.boolean(),
      fc.constantFrom('openai-chat', 'anthropic', 'mistral'),
      (kind, result, isText, dialect) => {
        const { messages } = normalizeHistory(
          [
            { role: 'user', content: 'go' },
            {
              role: 'assistant',
              content: '',
              toolCalls: [{ id: 'c1', name: 'f', args: { a: 1 } }],
            },
            results[kind](isText ? JSON.stringify(result) : result),
          ],
          { dialect },
        )
        const told = JSON.stringify(messages)
        const failed = told.includes('"is_error":true') || told.includes('"Error: ')
        assert.equal(failed, result.isError, told)
      },
    ),
    300,
  )
})
