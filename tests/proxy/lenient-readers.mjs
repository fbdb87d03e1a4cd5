// Clients that read more than the wire formats say: names in any case, types from the event line,
// arguments that are not JSON. Each of them runs what it reads.

/** How clients differ. `case`: which of two names that differ in case counts. */
export const LENIENT = [undefined, 'first', 'last'].flatMap((folds) =>
  [false, true].flatMap((byEvent) =>
    ['function', 'custom'].map((kind) => ({ folds, byEvent, kind })),
  ),
)

/** Simple case folding, as Go has it. */
const fold = (name) => name.toLowerCase().replaceAll('ſ', 's').replaceAll('\u212a', 'k')

function folded(value, folds) {
  if (!folds || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner) => folded(inner, folds))
  const made = {}
  for (const [name, inner] of Object.entries(value)) {
    const plain = fold(name)
    // What a tool gets is the tool's.
    const own = plain === 'input' ? inner : folded(inner, folds)
    if (!(plain in made) || folds === 'last') made[plain] = own
  }
  return made
}

/** The events of a stream: `{ type, json }`. */
function eventsOf(text, { folds, byEvent }) {
  return text.split('\n\n').flatMap((frame) => {
    const event = /^event: ?(.*)$/m.exec(frame)?.[1]
    const data = /^data: ?(\{.*\})$/m.exec(frame)?.[1]
    if (!data) return []
    const json = folded(JSON.parse(data), folds)
    return [{ type: byEvent ? (event ?? json.type) : json.type, json }]
  })
}

const STREAMS = {
  chat(events, { kind }) {
    const calls = new Map()
    for (const { json } of events) {
      for (const { delta, index: choice = 0 } of json.choices ?? []) {
        const pieces = [...(delta?.tool_calls ?? [])]
        if (delta?.function_call) pieces.push({ index: 'f', function: delta.function_call })
        for (const piece of pieces) {
          const at = `${choice}:${piece.index ?? 0}`
          const call = calls.get(at) ?? { name: '', args: '' }
          const own = piece[kind] ?? piece.function ?? piece.custom ?? {}
          call.name ||= own.name ?? ''
          const args = own.arguments ?? own.input ?? ''
          call.args += typeof args === 'string' ? args : JSON.stringify(args)
          calls.set(at, call)
        }
      }
    }
    return [...calls.values()]
  },
  messages(events) {
    const blocks = new Map()
    const all = []
    for (const { type, json } of events) {
      if (type === 'content_block_start') {
        const { type: kind, name, input } = json.content_block ?? {}
        const call = { name, input, args: '' }
        blocks.set(json.index, call)
        if (kind === 'tool_use') all.push(call)
      }
      const piece = json.delta?.partial_json
      const call = blocks.get(json.index)
      if (type === 'content_block_delta' && call && typeof piece === 'string') call.args += piece
    }
    return all.map(({ name, input, args }) => ({ name, args: args || JSON.stringify(input ?? {}) }))
  },
  responses(events) {
    const items = new Map()
    const all = []
    const read = (item, at) => {
      if (item?.type !== 'function_call') return
      all.push({ name: item.name, args: item.arguments || (items.get(at)?.args ?? '') })
    }
    for (const { type = '', json } of events) {
      const at = json.output_index
      if (type === 'response.output_item.added') {
        items.set(at, { name: json.item?.name, args: json.item?.arguments ?? '' })
      }
      const call = items.get(at)
      if (type === 'response.function_call_arguments.delta' && call) call.args += json.delta ?? ''
      if (type === 'response.function_call_arguments.done' && call) {
        // Some clients run the call here.
        all.push({ name: call.name, args: json.arguments ?? call.args })
      }
      if (type === 'response.output_item.done') {
        if (call) all.push({ ...call })
        read(json.item, at)
      }
      if (type === 'response.completed') {
        for (const item of json.response?.output ?? []) read(item)
      }
    }
    return all
  },
}

const WHOLES = {
  chat: ({ choices = [] }, { kind }) =>
    choices.flatMap(({ message }) => {
      const calls = [...(message?.tool_calls ?? [])]
      if (message?.function_call) calls.push({ function: message.function_call })
      return calls.map((call) => {
        const own = call[kind] ?? call.function ?? call.custom ?? {}
        return { name: own.name, args: own.arguments ?? own.input ?? '' }
      })
    }),
  messages: ({ content = [] }) =>
    content.flatMap(({ type, name, input }) =>
      type === 'tool_use' ? [{ name, args: JSON.stringify(input ?? {}) }] : [],
    ),
  responses: ({ output = [] }) =>
    output.flatMap(({ type, name, arguments: args = '' }) =>
      type === 'function_call' ? [{ name, args }] : [],
    ),
}

/** The calls that a client reads in a stream or a whole response: `{ name, args }`. */
export const callsOf = (wire, text, client) =>
  text.startsWith('{')
    ? WHOLES[wire](folded(JSON.parse(text), client.folds), client)
    : STREAMS[wire](eventsOf(text, client), client)

/** The value that a lenient client makes of arguments; `undefined` if it finds none. */
export function valueOf(args) {
  if (typeof args !== 'string') return args
  const text = args
    .trim()
    .replace(/^```\w*|```$/g, '')
    .trim()
  for (const end of ['', '}', '"}', ']}']) {
    try {
      const value = JSON.parse((text + end).replace(/,(?=\s*[}\]])/g, ''))
      return typeof value === 'string' ? valueOf(value) : value
    } catch {
      // With another end.
    }
  }
  const first = /^\{[^{}]*\}/.exec(text)?.[0]
  return first === undefined || first === text ? undefined : valueOf(first)
}
