// A long history, the same at every run: half the messages are a user's texts, half an
// assistant's, with a tool call, its result and a text. In three shapes.

const WORDS = (
  'the quick brown fox jumps over lazy dog and naïve café search results of file "notes.md" ' +
  'with\nlines\tof 東京 code() => {} 🦊 as ever before after'
).split(' ')

/** A generator of its own (Park and Miller), so that every run has the same texts. */
function words(seed) {
  let state = seed
  return (length) => {
    let text = ''
    while (text.length < length) {
      state = (state * 48_271) % 2_147_483_647
      text += `${WORDS[state % WORDS.length]} `
    }
    return text
  }
}

const say = words(20_261_121)

const userMessage = (id, length) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: say(length) }],
})

function toolParts(id, length) {
  const input = { path: say(30), query: say(40), limit: 20 }
  const output = { ok: true, total: 3, lines: [say(length / 2), say(length / 2)] }
  const state = 'output-available'
  const part = { type: 'tool-search_files', toolCallId: `call_${id}`, state, input, output }
  return [{ type: 'step-start' }, part]
}

/** `turns` × (a user's message, an assistant's), as UIMessages of `ai`. */
export function history(turns) {
  const list = []
  for (let i = 0; i < turns; i++) {
    const answer = [{ type: 'step-start' }, { type: 'text', text: say(480) }]
    list.push(userMessage(`u${i}`, 420))
    list.push({ id: `a${i}`, role: 'assistant', parts: [...toolParts(i, 400), ...answer] })
  }
  return list
}

/** One message to append: 1 kB of text; a call and its result. */
export const userTurn = (index) => [userMessage(`more${index}`, 1_000)]
export const toolTurn = (index) => [
  { id: `moreA${index}`, role: 'assistant', parts: toolParts(`more${index}`, 400) },
]

/** The same in the shape of OpenAI's chat API. */
export const asOpenAI = (messages) =>
  messages.flatMap(({ role, parts }) => {
    if (role === 'user') return [{ role, content: parts[0].text }]
    return parts.flatMap((part) => {
      if (part.type === 'text') return [{ role, content: part.text }]
      if (part.type === 'step-start') return []
      const { toolCallId: id, input, output } = part
      const name = part.type.slice('tool-'.length)
      const call = { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
      return [
        { role, content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content: JSON.stringify(output) },
      ]
    })
  })

/** The same as UIMessages of `@tanstack/ai`. */
export const asTanStack = (messages) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.flatMap((part) => {
      if (part.type === 'text') return [{ type: 'text', content: part.text }]
      if (part.type === 'step-start') return []
      const { toolCallId, input, output } = part
      const name = part.type.slice('tool-'.length)
      const args = JSON.stringify(input)
      return [
        { type: 'tool-call', id: toolCallId, name, arguments: args, state: 'complete' },
        {
          type: 'tool-result',
          toolCallId,
          content: JSON.stringify(output),
          state: 'complete',
        },
      ]
    }),
  }))
