// A response without a stream, for clients that ask for one.
/** The provider always streams: its stream as the whole response of Chat Completions. */
export async function whole(url, init) {
  const response = await fetch(url, init)
  const lines = (await response.text()).split('\n').filter((line) => /^data: \{/.test(line))
  const chunks = lines.map((line) => JSON.parse(line.slice(6)))
  const message = { role: 'assistant', content: '' }
  const calls = []
  let finish_reason = 'stop'
  let usage
  for (const { choices, usage: counted } of chunks) {
    usage = counted ?? usage
    const [choice] = choices
    if (!choice) continue
    finish_reason = choice.finish_reason ?? finish_reason
    message.content += choice.delta.content ?? ''
    for (const { index, id, function: said } of choice.delta.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: said.name, arguments: '' } }
      calls[index].function.arguments += said.arguments ?? ''
    }
  }
  if (calls.length) message.tool_calls = calls
  const { id, created, model } = chunks[0]
  return Response.json({
    id,
    created,
    model,
    choices: [{ index: 0, message, finish_reason }],
    usage,
  })
}
