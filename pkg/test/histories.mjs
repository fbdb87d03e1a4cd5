// Arbitrary histories, each element in a shape of its own, with what is known of them; and a
// reader of what any provider is sent.
import fc from 'fast-check'

export const DIALECTS = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'groq',
  'xai',
  'cohere',
  'bedrock',
  'ollama',
  'chat-template',
  'langchain',
]

/** What a call is answered with that never was. */
export const INTERRUPTED = 'Tool call was interrupted before it returned a result.'

const lc = (name, kwargs) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})

/** A text of the user, in every shape; the number of a message where the shape wants an id. */
const USER = [
  (text) => [{ role: 'user', content: text }],
  (text) => [{ type: 'user_message', text }],
  (text, n) => [{ id: `m${n}`, role: 'user', parts: [{ type: 'text', text }] }],
  (text) => [{ role: 'user', content: [{ type: 'text', text }] }],
  (text, n) => [{ type: 'human', content: text, id: `h${n}`, response_metadata: {} }],
  (text) => [lc('HumanMessage', { content: [{ type: 'text', text }], additional_kwargs: {} })],
  (text) => [{ role: 'user', parts: [{ text }] }],
  (text) => [{ role: 'user', content: [{ text }] }],
  (text) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  (text, n) => [
    { type: 'TEXT_MESSAGE_START', messageId: `t${n}`, role: 'user' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: `t${n}`, delta: text.slice(0, 3) },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: `t${n}`, delta: text.slice(3) },
    { type: 'TEXT_MESSAGE_END', messageId: `t${n}` },
  ],
  (text) => [
    {
      role: 'user',
      content: [
        { type: 'image', image: 'https://example.org/a.png' },
        { type: 'text', text },
      ],
    },
  ],
]

/** A text of the model, with what it thought where the shape has a place for that. */
const ASSISTANT = [
  (text) => [{ role: 'assistant', content: text, reasoning_content: 'hm' }],
  (text) => [{ type: 'text', text }],
  (text, n) => [
    {
      id: `m${n}`,
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'reasoning', text: 'hm' }, { type: 'text', text }],
    },
  ],
  (text) => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'text', text },
      ],
    },
  ],
  (text) => [
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'c2ln' } } },
        { type: 'text', text },
      ],
    },
  ],
  (text) => [{ type: 'ai', content: text, tool_calls: [], invalid_tool_calls: [] }],
  (text) => [lc('AIMessageChunk', { content: [{ type: 'text', text, index: 0 }] })],
  (text) => [
    {
      role: 'model',
      parts: [
        { text: 'hm', thought: true },
        { text, thoughtSignature: 'c2ln' },
      ],
    },
  ],
  (text) => [
    {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
        { text },
      ],
    },
  ],
  (text, n) => [
    { type: 'reasoning', id: `rs${n}`, summary: [] },
    {
      type: 'message',
      id: `msg${n}`,
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ],
  (text, n) => [
    { type: 'TEXT_MESSAGE_CHUNK', messageId: `t${n}`, delta: text.slice(0, 3) },
    { type: 'TEXT_MESSAGE_CHUNK', messageId: `t${n}`, delta: text.slice(3) },
  ],
]

const openai = ({ id, name, json }) => ({
  id,
  type: 'function',
  function: { name, arguments: json },
})

/** Calls made together, in every shape; `json` is the text of `args`, or what was left of it. */
const CALLS = [
  (calls) => [{ role: 'assistant', content: null, tool_calls: calls.map(openai) }],
  (calls) =>
    calls.map(({ id, name, args }) => ({
      type: 'tool_call_start',
      toolCallId: id,
      toolName: name,
      args,
    })),
  (calls) => [
    {
      role: 'assistant',
      content: '',
      toolCalls: calls.map(({ id, name, args }) => ({ toolCallId: id, toolName: name, args })),
    },
  ],
  // Gemini's through another's shape: the first call carries the signature.
  (calls) => [
    {
      role: 'assistant',
      content: '',
      toolCalls: calls.map(({ id, name, args }, at) => ({
        toolCallId: id,
        toolName: name,
        args,
        ...(at === 0 && { thoughtSignature: 'c2ln' }),
      })),
    },
  ],
  (calls) => [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
      ],
    },
  ],
  (calls) => [
    {
      type: 'ai',
      content: '',
      tool_calls: calls.map(({ id, name, args }) => ({ id, name, args, type: 'tool_call' })),
    },
  ],
  // LangChain keeps Anthropic's calls twice.
  (calls) => [
    lc('AIMessage', {
      content: calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
      tool_calls: calls.map(({ id, name, args }) => ({ id, name, args })),
    }),
  ],
  (calls) =>
    calls.map(({ id, name, json }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: json,
    })),
  (calls) => [
    {
      role: 'assistant',
      content: calls.map(({ id, name, args }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input: args,
      })),
    },
  ],
  (calls) => [
    {
      role: 'assistant',
      content: calls.map(({ id, name, args }) => ({
        toolUse: { toolUseId: id, name, input: args },
      })),
    },
  ],
  (calls) =>
    calls.flatMap(({ id, name, json }) => [
      { type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name },
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: json.slice(0, 4) },
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: json.slice(4) },
      { type: 'TOOL_CALL_END', toolCallId: id },
    ]),
  // Without ids: told by name, so these have names of their own.
  (calls) => [
    {
      role: 'model',
      parts: calls.map(({ name, args }) => ({ functionCall: { name, args } })),
    },
  ],
]
const NO_IDS = CALLS.length - 1

/** One result; `value` is anything, `text` is text; `failed` is said where the shape can. */
const RESULTS = [
  ({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }),
  ({ id, name, value, failed }) => ({
    type: 'tool_call_result',
    toolCallId: id,
    toolName: name,
    result: value,
    ...(failed && { isError: true }),
  }),
  ({ id, text, failed }) => ({
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: id,
        content: [{ type: 'text', text }],
        is_error: failed,
      },
    ],
  }),
  ({ id, text, failed }) => ({
    type: 'tool',
    tool_call_id: id,
    content: text,
    status: failed ? 'error' : 'success',
    artifact: { big: 1 },
  }),
  ({ id, text, failed }) =>
    lc('ToolMessage', { tool_call_id: id, content: text, ...(failed && { status: 'error' }) }),
  ({ id, text }) => ({ type: 'function_call_output', call_id: id, output: text }),
  ({ id, name, text, value, failed }) => ({
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: id,
        toolName: name,
        output: failed ? { type: 'error-text', value: text } : { type: 'json', value },
      },
    ],
  }),
  ({ id, text, failed }) => ({
    role: 'user',
    content: [
      {
        toolResult: {
          toolUseId: id,
          content: [{ text }],
          ...(failed && { status: 'error' }),
        },
      },
    ],
  }),
  ({ id, name, value, failed }) => ({
    role: 'tool',
    toolCallId: id,
    toolName: name,
    ...(failed ? { error: value } : { result: value }),
  }),
  ({ id, text }) => ({ type: 'TOOL_CALL_RESULT', messageId: 'r', toolCallId: id, content: text }),
  // Without ids.
  ({ name, text, failed }) => ({
    role: 'user',
    parts: [{ functionResponse: { name, response: failed ? { error: text } : { result: text } } }],
  }),
]
/** Of those, the ones that cannot say that the call failed. */
const MUTE = new Set([0, 5, 9])

/** A step of the AI SDK's UI messages: the calls with what became of them. */
const ui = (calls, n) => [
  {
    id: `m${n}`,
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      ...calls.map(({ id, name, args, value, text, failed, copies }, at) => ({
        ...(at % 2 ? { type: `tool-${name}` } : { type: 'dynamic-tool', toolName: name }),
        toolCallId: id,
        input: args,
        ...(copies === 0
          ? { state: 'input-available' }
          : failed
            ? { state: 'output-error', errorText: text }
            : { state: 'output-available', output: value }),
      })),
    ],
  },
]

/** What says nothing to a provider, or not what it should. */
const OTHER = [
  () => ({ role: 'system', content: 'S' }),
  () => ({ role: 'developer', content: 'D' }),
  () => lc('SystemMessage', { content: 'S' }),
  (n) => ({ role: 'tool', tool_call_id: `orphan${n}`, content: 'R0.' }),
  (n) => ({ type: 'function_call_output', call_id: `orphan${n}`, output: 'R0.' }),
  () => ({ role: 'user', content: '' }),
  () => ({ role: 'user', content: [{ type: 'text', text: ' ' }] }),
  () => ({ role: 'assistant', content: ' '.repeat(70) }),
  () => ({ role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', by: 'another' }] }),
  () => ({ type: 'RUN_STARTED', threadId: 't', runId: 'r' }),
  () => ({ type: 'reasoning', text: 'hm' }),
  () => ({ role: 'activity', content: {} }),
  (n) => ({
    id: 'm',
    role: 'assistant',
    parts: [{ type: 'tool-f', toolCallId: `p${n}`, state: 'input-streaming', input: {} }],
  }),
]

/** Ids as providers and hosts make them. */
const IDS = [
  (n) => `call_${n}`,
  (n) => `functions.f:${n}`,
  (n) => `a1b2c3${String(n).padStart(3, '0')}`,
  (n) => `toolu_${'x'.repeat(70)}_${n}`,
  (n) => `é${n}`,
  (n) => `${n}`,
]
const NAMES = ['search', 'read_file', 'my.tool', 'näme', 'f']
const TAILS = ['', ' ', '\n', ' ü漢字🎉', ' "quoted" \\', `${'long '.repeat(20)}`, '-'.repeat(61)]

const below = (n) => fc.nat({ max: n - 1 })
const words = fc.record({ shape: below(11), tail: below(TAILS.length) })
const call = fc.record({
  id: below(IDS.length),
  /** One of the ids before, now and then. */
  again: fc.option(fc.nat(), { freq: 15 }),
  name: below(NAMES.length),
  copies: fc.constantFrom(1, 1, 1, 1, 0, 2),
  result: below(RESULTS.length - 1),
  value: below(5),
  failed: fc.boolean(),
  /** Text of arguments that was cut. */
  cut: fc.option(fc.constant(true), { freq: 10 }),
  tail: below(TAILS.length),
  /** The user speaks before the result. */
  between: fc.option(words, { freq: 8 }),
})
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('user'), words }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('assistant'), words }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('exchange'),
      shape: below(CALLS.length + 1),
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
      reverse: fc.boolean(),
      early: fc.option(fc.constant(true), { freq: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('other'), which: below(OTHER.length) }) },
)
const anew = fc.record({
  kind: fc.constantFrom('snapshot', 'removed'),
  steps: fc.array(step, { maxLength: 4 }),
})
const steps = fc.array(fc.oneof({ weight: 30, arbitrary: step }, { weight: 1, arbitrary: anew }), {
  maxLength: 9,
  size: 'max',
})

class Maker {
  elements = []
  /** The texts of the user, in order, and those of the model. */
  said = []
  spoken = []
  /** The calls, by the number that their arguments and results say. */
  calls = new Map()
  /** Whether it is a matter of opinion what answers what. */
  vague = false
  #n = 0
  #ids = []

  make(steps) {
    for (const step of steps) this[step.kind](step)
    return this
  }

  text(letter, tail) {
    this.#n++
    return `${letter}${this.#n}.${TAILS[tail]}`
  }

  user({ words: { shape, tail } }) {
    const text = this.text('U', tail)
    this.said.push(text)
    this.elements.push(...USER[shape](text, this.#n))
  }

  assistant({ words: { shape, tail } }) {
    const text = this.text('A', tail)
    this.spoken.push(text)
    this.elements.push(...ASSISTANT[shape](text, this.#n))
  }

  other({ which }) {
    this.#n++
    this.elements.push(OTHER[which](this.#n))
  }

  exchange({ shape, calls: specs, reverse, early }) {
    const calls = specs.map((spec) => this.call(spec, shape === NO_IDS))
    if (shape === CALLS.length) {
      this.elements.push(...ui(calls, this.#n))
      return
    }
    const starts = CALLS[shape](calls)
    const results = calls.flatMap((call, at) =>
      Array.from({ length: call.copies }, () => {
        const which = shape === NO_IDS ? RESULTS.length - 1 : specs[at].result
        return { at, element: RESULTS[which](call) }
      }),
    )
    if (reverse) results.reverse()
    if (early && results.length) {
      starts.unshift(results.shift().element)
      if (shape === NO_IDS) this.vague = true
    }
    if (shape === NO_IDS && calls.some(({ copies }) => copies > 1)) this.vague = true
    this.elements.push(...starts)
    for (const { at, element } of results) {
      if (specs[at].between) this.user({ words: specs[at].between })
      this.elements.push(element)
    }
  }

  call({ id, again, name, copies, result, value, failed, cut, tail }, unnamed) {
    const n = ++this.#n
    const used = again !== null && this.#ids.length > 0
    if (used) this.vague = true
    const own = used ? this.#ids[again % this.#ids.length] : IDS[id](n)
    if (!unnamed) this.#ids.push(own)
    const text = `R${n}.${TAILS[tail]}`
    const values = [text, { r: text }, [text], [{ type: 'text', text }], { deep: { list: [text] } }]
    const args = { n, note: `N${n}.${TAILS[tail]}` }
    const json = JSON.stringify(args).slice(0, cut ? -2 : undefined)
    const call = {
      id: own,
      name: unnamed ? `g${n}` : NAMES[name],
      args,
      json,
      copies,
      text,
      value: values[value],
      failed: failed && (unnamed || !MUTE.has(result)),
    }
    this.calls.set(n, call)
    return call
  }

  snapshot({ steps }) {
    this.#anew((inner) => [{ type: 'MESSAGES_SNAPSHOT', messages: inner }], steps)
  }

  removed({ steps }) {
    this.#anew((inner) => [{ type: 'remove', id: '__remove_all__' }, ...inner], steps)
  }

  #anew(wrap, steps) {
    const before = this.elements
    Object.assign(this, { elements: [], said: [], spoken: [], calls: new Map(), vague: false })
    this.#ids = []
    this.make(steps)
    this.elements = [...before, ...wrap(this.elements)]
  }
}

/** `{ elements, said, spoken, calls, vague }`. */
export const histories = steps.map((all) => new Maker().make(all))

/** Their elements, now and then with something else in the place of a part of them. */
const STRANGE = [null, true, -1.5, '', 'x', [], [null], {}, { type: 1 }, { type: 'tool_use' }]
const strange = fc.oneof(
  fc.constantFrom(...STRANGE, [[['deep']]], { text: {} }, { role: 'user' }, 'y'.repeat(70)),
  fc.jsonValue({ maxDepth: 3 }),
)
const spoil = (value, path, other) => {
  const keys = value !== null && typeof value === 'object' ? Object.keys(value) : []
  const [first, ...rest] = path
  if (first === undefined || keys.length === 0) return other
  const key = keys[first % keys.length]
  const copy = Array.isArray(value) ? [...value] : { ...value }
  copy[key] = spoil(value[key], rest, other)
  return copy
}
const places = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 6 })
export const spoiled = fc
  .tuple(histories, fc.array(fc.tuple(places, strange), { minLength: 1, maxLength: 3 }))
  .map(([{ elements }, changes]) =>
    changes.reduce((all, [path, other]) => spoil(all.length ? all : [null], path, other), elements),
  )

const VOCABULARY = [
  'role',
  'type',
  'content',
  'text',
  'parts',
  'id',
  'name',
  'tool_calls',
  'toolCalls',
  'tool_call_id',
  'toolCallId',
  'toolName',
  'function',
  'arguments',
  'args',
  'input',
  'output',
  'result',
  'state',
  'messages',
  'messageId',
  'delta',
  'kwargs',
  'lc',
  'functionCall',
  'functionResponse',
  'toolUse',
  'toolResult',
  'reasoning',
  'thinking',
  'signature',
  'image',
  'source',
  'call_id',
  'error',
]
const WORDS = [
  'user',
  'assistant',
  'system',
  'tool',
  'model',
  'human',
  'ai',
  'function',
  'text',
  'tool_use',
  'tool_result',
  'tool-call',
  'tool-result',
  'thinking',
  'reasoning',
  'function_call',
  'function_call_output',
  'message',
  'constructor',
  'image',
  'tool_call_start',
  'tool_call_result',
  'TEXT_MESSAGE_START',
  'TEXT_MESSAGE_CONTENT',
  'TOOL_CALL_ARGS',
  'MESSAGES_SNAPSHOT',
  'remove',
  'dynamic-tool',
  'output-available',
  'a',
  'b',
]
/** Junk made of the words that histories are made of. */
const { value: junkValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
    { weight: 3, arbitrary: tie('object') },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
  ),
  object: fc.dictionary(fc.constantFrom(...VOCABULARY), tie('value'), { maxKeys: 5 }),
}))
export const junk = fc.array(
  fc.oneof(junkValue, fc.dictionary(fc.constantFrom('role', 'type', ...VOCABULARY), junkValue)),
  { maxLength: 5 },
)

const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
const roleOf = (message) =>
  ({ human: 'user', ai: 'assistant', model: 'assistant' })[message.role ?? message.type] ??
  message.role ??
  message.type

/**
 * What a request says, whatever its wire, in order: `{ kind: 'text', role, text }`,
 * `{ kind: 'call', id, args }` and `{ kind: 'result', id, content, error }`. `error` is undefined
 * where the wire has no word for it.
 */
export const read = (messages) => messages.flatMap(readMessage)

function readMessage(message) {
  const role = roleOf(message)
  switch (role) {
    case 'function_call':
      return [{ kind: 'call', id: message.call_id, args: message.arguments }]
    case 'function_call_output':
      return [{ kind: 'result', id: message.call_id, content: text(message.output) }]
    case 'tool': {
      const error = message.type === 'tool' ? message.status === 'error' : undefined
      return [{ kind: 'result', id: message.tool_call_id, content: text(message.content), error }]
    }
  }
  const content = message.parts ?? message.content ?? []
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const calls = (message.tool_calls ?? []).map((call) => ({
    kind: 'call',
    id: call.id,
    args: text(call.function ? call.function.arguments : call.args),
  }))
  return [...blocks.flatMap((block) => readBlock(block, role)), ...calls]
}

function readBlock(block, role) {
  const { functionCall, functionResponse, toolUse, toolResult } = block
  const call = (id, args) => [{ kind: 'call', id, args: text(args) }]
  const result = (id, content, error) => [{ kind: 'result', id, content: text(content), error }]
  if (block.type === 'tool_use') return call(block.id, block.input)
  if (toolUse) return call(toolUse.toolUseId, toolUse.input)
  if (functionCall) return call(functionCall.id, functionCall.args)
  if (block.type === 'tool_result') {
    return result(block.tool_use_id, block.content, block.is_error === true)
  }
  if (toolResult) {
    return result(toolResult.toolUseId, toolResult.content, toolResult.status === 'error')
  }
  if (functionResponse) {
    const { id, response } = functionResponse
    return result(id, response, 'error' in response)
  }
  const isText = typeof block.text === 'string' && block.text !== '' && block.thought !== true
  return isText ? [{ kind: 'text', role, text: block.text }] : []
}
