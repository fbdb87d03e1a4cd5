// Reads the histories of histories.json, each in the shape it was kept in, into one plain list,
// in the order of the history and with nothing repaired: what a peer's adapter starts from.
//
//   { role: 'system' | 'developer' | 'user', content }        content as it was: text or an array
//   { role: 'assistant', parts: [{ text } | { reasoning } | { call: { id, name, args, partial } }] }
//   { role: 'tool', id, name, result, error }
//
// `args` is the JSON text of the arguments, as the model wrote it; `partial`: still streaming.

const json = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
const call = (id, name, args, partial = false) => ({
  call: { id, name, args: json(args), partial },
})

function openai(history) {
  return history.map((m) => {
    if (m.role === 'tool') return { role: 'tool', id: m.tool_call_id, result: m.content }
    if (m.role !== 'assistant') return { role: m.role, content: m.content }
    const calls = m.tool_calls ?? []
    return assistant([
      ...(m.reasoning_content ? [{ reasoning: m.reasoning_content }] : []),
      // Beside calls the field only says that there is no text.
      ...(calls.length && !m.content ? [] : [{ text: m.content }]),
      ...calls.map((c) => call(c.id, c.function.name, c.function.arguments)),
    ])
  })
}

const assistant = (parts) => ({ role: 'assistant', parts })

function camelCase(history) {
  return openai(
    history.map(({ toolCalls, toolCallId, result, ...m }) => ({
      ...m,
      ...(m.role === 'tool' && { tool_call_id: toolCallId, content: result }),
      tool_calls: toolCalls?.map((c) => ({
        id: c.toolCallId,
        function: { name: c.toolName, arguments: c.args },
      })),
    })),
  )
}

/** What the assistant says and asks in a row is one message. */
function events(history) {
  const list = []
  const add = (part) => {
    if (list.at(-1)?.role === 'assistant') list.at(-1).parts.push(part)
    else list.push(assistant([part]))
  }
  for (const e of history) {
    if (e.type === 'user_message') list.push({ role: 'user', content: e.text })
    else if (e.type === 'text') add({ text: e.text })
    else if (e.type === 'tool_call_start') add(call(e.toolCallId, e.toolName, e.args))
    else list.push(answer(e.toolCallId, e.toolName, e.result, e.isError))
  }
  return list
}

const answer = (id, name, result, error = false) => ({ role: 'tool', id, name, result, error })

function anthropic(history) {
  return history.flatMap((m) => {
    if (typeof m.content === 'string') return [{ role: m.role, content: m.content }]
    if (m.role === 'user') {
      return m.content.map((block) =>
        block.type === 'text'
          ? { role: 'user', content: block.text }
          : answer(block.tool_use_id, undefined, block.content, block.is_error),
      )
    }
    return assistant(
      m.content.map((block) => {
        if (block.type === 'text') return { text: block.text }
        if (block.type === 'thinking') return { reasoning: block.thinking }
        return call(block.id, block.name, block.input)
      }),
    )
  })
}

function langchain(history) {
  return history.map((m) => {
    const fields = m.kwargs ?? m
    const type = m.lc ? m.id.at(-1) : m.type
    if (type === 'ToolMessage') {
      return answer(fields.tool_call_id, fields.name, fields.content, fields.status === 'error')
    }
    if (type !== 'AIMessage') return { role: 'user', content: fields.content }
    const calls = [...fields.tool_calls, ...fields.invalid_tool_calls]
    return assistant([
      ...fields.content.map(({ text }) => ({ text })),
      ...calls.map((c) => call(c.id, c.name, c.args)),
    ])
  })
}

/** Each step is a message, its results behind it. */
function uimessage(history) {
  return history.flatMap((m) => {
    if (m.role !== 'assistant') return [{ role: m.role, content: m.parts[0].text }]
    const list = []
    let results = []
    for (const part of [...m.parts, { type: 'step-start' }]) {
      if (part.type === 'step-start') {
        list.push(...results, assistant([]))
        results = []
      } else if (part.type === 'text') list.at(-1).parts.push({ text: part.text })
      else if (part.type === 'reasoning') list.at(-1).parts.push({ reasoning: part.text })
      else {
        const name = part.type.replace('tool-', '')
        const partial = part.state === 'input-streaming'
        list.at(-1).parts.push(call(part.toolCallId, name, part.input, partial))
        const failed = part.state === 'output-error'
        if (failed) results.push(answer(part.toolCallId, name, part.errorText, true))
        else if (!partial) results.push(answer(part.toolCallId, name, part.output))
      }
    }
    return list.filter((entry) => entry.role !== 'assistant' || entry.parts.length)
  })
}

const SHAPES = { openai, camelCase, events, anthropic, langchain, uimessage }

export const read = ({ shape, input }) => SHAPES[shape](structuredClone(input))

/** The list in the fields of OpenAI's chat API, and nothing else done to it. */
export const plain = (list) =>
  list.map((m) => {
    if (m.role === 'tool') return { role: 'tool', tool_call_id: m.id, content: json(m.result) }
    if (m.role !== 'assistant') return { role: m.role, content: m.content }
    const calls = m.parts.flatMap((part) => part.call ?? [])
    const text = textOf(m)
    return {
      role: 'assistant',
      content: calls.length ? text || null : text,
      ...(calls.length && {
        tool_calls: calls.map(({ id, name, args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args },
        })),
      }),
    }
  })

export const textOf = (m) => m.parts.map((part) => part.text ?? '').join('')
