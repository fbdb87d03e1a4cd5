// The agent loop of many tutorials: ask, run what the model calls, ask again, up to a cap.

/**
 * @param {{ fetch: typeof fetch, url: string, headers?: object, model: string,
 *   tools: Record<string, object>, messages: object[], cap: number, signal: AbortSignal,
 *   tell: (step: object) => void }} options `tell` hears each request, run and answer
 */
export async function plainLoop({
  fetch,
  url,
  headers,
  model,
  tools,
  messages,
  cap,
  signal,
  tell,
}) {
  const conversation = [...messages]
  const declared = Object.entries(tools).map(([name, { description, inputSchema }]) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }))
  for (let step = 0; step < cap; step++) {
    const body = { model, stream: true, messages: conversation, tools: declared }
    tell({ kind: 'model', request: body })
    const init = { method: 'POST', headers, signal, body: JSON.stringify(body) }
    const { content, calls } = await read(await fetch(url, init))
    if (!calls.length) return tell({ kind: 'answer', text: content })
    conversation.push({ role: 'assistant', content, tool_calls: calls })
    for (const { id, function: called } of calls) {
      const result = tools[called.name].execute(JSON.parse(called.arguments))
      tell({ kind: 'run', name: called.name, args: called.arguments, result })
      conversation.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) })
    }
  }
  tell({ kind: 'cap', cap })
}

/** The text and the calls of a streamed response. */
async function read(response) {
  if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).slice(0, 300)}`)
  let content = ''
  const calls = []
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue
    const { content: text = '', tool_calls = [] } =
      JSON.parse(line.slice(6)).choices[0]?.delta ?? {}
    content += text
    for (const { index, ...call } of tool_calls) {
      if (call.id) calls[index] = call
      else calls[index].function.arguments += call.function.arguments
    }
  }
  return { content, calls }
}
