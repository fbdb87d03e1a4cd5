// The wires: histories with repeated calls, streams and bodies of a scripted upstream.
import * as anthropic from '../../pkg/dist/testing/provider/wire/anthropic.js'
import * as gemini from '../../pkg/dist/testing/provider/wire/gemini.js'
import * as openaiChat from '../../pkg/dist/testing/provider/wire/openai-chat.js'
import * as openaiResponses from '../../pkg/dist/testing/provider/wire/openai-responses.js'

/** A call: `[name, args]`; a round adds its result. */
const rounds = (calls) =>
  calls.map(([name, args, result], n) => ({ id: `call_${n}`, name, args, result }))

export const WIRES = {
  chat: {
    path: '/v1/chat/completions',
    stream: openaiChat.stream,
    none: (body) => body.tool_choice === 'none',
    body: (calls, { said = 'go', stream = true, more = [] } = {}) => ({
      model: 'm',
      stream,
      tools: [{ type: 'function', function: { name: 'ls', parameters: { type: 'object' } } }],
      messages: [
        { role: 'user', content: said },
        ...rounds(calls).flatMap(({ id, name, args, result }) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
            ],
          },
          { role: 'tool', tool_call_id: id, content: result },
        ]),
        ...more,
      ],
    }),
    whole: ({ text, calls = [] }) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          logprobs: null,
          finish_reason: calls.length ? 'tool_calls' : 'stop',
          message: {
            role: 'assistant',
            content: text ?? null,
            ...(calls.length && {
              tool_calls: calls.map(({ id, name, args }) => ({
                id,
                type: 'function',
                function: { name, arguments: JSON.stringify(args) },
              })),
            }),
          },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    }),
    said: (json) => json.choices[0].message.content,
    called: (json) => (json.choices[0].message.tool_calls ?? []).map((call) => call.function.name),
    ends: (json) => json.choices[0].finish_reason,
    user: (text) => ({ role: 'user', content: text }),
  },
  messages: {
    path: '/v1/messages',
    stream: anthropic.stream,
    none: (body) => body.tool_choice?.type === 'none',
    body: (calls, { said = 'go', stream = true, more = [] } = {}) => ({
      model: 'm',
      max_tokens: 99,
      stream,
      tools: [{ name: 'ls', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: said },
        ...rounds(calls).flatMap(({ id, name, args, result }) => [
          { role: 'assistant', content: [{ type: 'tool_use', id, name, input: args }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
        ]),
        ...more,
      ],
    }),
    whole: ({ text, calls = [] }) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
      ],
      stop_reason: calls.length ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 4 },
    }),
    said: (json) => json.content.flatMap((block) => block.text ?? []).join(''),
    called: (json) =>
      json.content.flatMap((block) => (block.type === 'tool_use' ? block.name : [])),
    ends: (json) => json.stop_reason,
    user: (text) => ({ role: 'user', content: text }),
  },
  responses: {
    path: '/v1/responses',
    stream: openaiResponses.stream,
    none: (body) => body.tool_choice === 'none',
    body: (calls, { said = 'go', stream = true, more = [] } = {}) => ({
      model: 'm',
      stream,
      tools: [{ type: 'function', name: 'ls', parameters: { type: 'object' } }],
      input: [
        { role: 'user', content: said },
        ...rounds(calls).flatMap(({ id, name, args, result }) => [
          { type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) },
          { type: 'function_call_output', call_id: id, output: result },
        ]),
        ...more,
      ],
    }),
    whole: ({ text, calls = [] }) => ({
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'm',
      output: [
        ...(text
          ? [
              {
                id: 'msg_1',
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text, annotations: [] }],
              },
            ]
          : []),
        ...calls.map(({ id, name, args }) => ({
          id: `fc_${id}`,
          type: 'function_call',
          call_id: id,
          name,
          status: 'completed',
          arguments: JSON.stringify(args),
        })),
      ],
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
    }),
    said: (json) =>
      json.output.flatMap((item) => item.content?.map(({ text }) => text) ?? []).join(''),
    called: (json) =>
      json.output.flatMap((item) => (item.type === 'function_call' ? item.name : [])),
    ends: (json) => json.status,
    user: (text) => ({ role: 'user', content: text }),
  },
}

/** Gemini, whose path has the model and says whether the answer is a stream. */
export const GEMINI = {
  path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  wholePath: '/v1beta/models/gemini-2.5-flash:generateContent',
  stream: gemini.stream,
  none: (body) => body.toolConfig?.functionCallingConfig?.mode === 'NONE',
  body: (calls, { said = 'go', more = [], ids = true } = {}) => ({
    contents: [
      { role: 'user', parts: [{ text: said }] },
      ...rounds(calls).flatMap(({ id, name, args, result }) => [
        { role: 'model', parts: [{ functionCall: { name, args, ...(ids && { id }) } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name, response: { result }, ...(ids && { id }) } }],
        },
      ]),
      ...more,
    ],
    tools: [{ functionDeclarations: [{ name: 'ls', parameters: { type: 'OBJECT' } }] }],
  }),
  whole: ({ text, calls = [] }) => gemini.responseBody({ text: text ? [text] : [], calls }),
  said: (json) => json.candidates[0].content.parts.map(({ text = '' }) => text).join(''),
  called: (json) =>
    json.candidates[0].content.parts.flatMap(({ functionCall }) => functionCall?.name ?? []),
  user: (text) => ({ role: 'user', parts: [{ text }] }),
}

/** The call that loops, and a history in which it was made `times` times with one result. */
export const LOOP = { id: 'call_again', name: 'ls', args: { path: '.', deep: true } }
export const looped = (times, result = 'same') =>
  // Other key order and white space are the same call.
  Array.from({ length: times }, (_, n) => [
    'ls',
    n % 2 ? { deep: true, path: '.' } : { path: '.', deep: true },
    typeof result === 'function' ? result(n) : result,
  ])

/** A model that calls what `calls` says, and answers where it may not call. */
export function model(wire, calls, { answer = 'Here is the answer.', stream = true, text } = {}) {
  return async ({ text: asked }, response) => {
    const body = JSON.parse(asked)
    const entry = wire.none(body) ? { text: [answer] } : { calls, ...(text && { text: [text] }) }
    if (!stream) {
      response.writeHead(200, { 'content-type': 'application/json' })
      const whole = wire.none(body) ? { text: answer } : { calls, text }
      return response.end(JSON.stringify(wire.whole(whole)))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of wire.stream(entry, { n: 1, body })) response.write(event)
    response.end()
  }
}

/** The frames of a stream: `{ event, data }`. */
export const frames = (text) =>
  text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame.trim() !== '')
    .map((frame) => ({
      frame,
      event: /^event: ?(.*)$/m.exec(frame)?.[1],
      data: /^data: ?(.*)$/m.exec(frame)?.[1],
    }))

export const post = (host, path, key, body, headers = {}) =>
  fetch(host.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
