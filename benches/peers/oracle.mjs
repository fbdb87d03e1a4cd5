// What OpenAI's chat API takes as `messages`, written from provider documentation and from the
// errors that users reported; it shares nothing with turnlock. Stricter than the API in one point:
// arguments must be a JSON object, which OpenAI does not check and servers compatible with it do.

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool']

/** What is wrong with the messages of a request; nothing: []. */
export function faults(messages) {
  const found = []
  let open = new Set()
  let answered = new Set()
  const close = (at) => {
    for (const id of open) found.push(`${at}: call ${short(id)} was not answered`)
    open = new Set()
    answered = new Set()
  }
  messages.forEach((m, at) => {
    const fault = (text) => found.push(`${at}: ${text}`)
    if (!ROLES.includes(m.role)) fault(`role ${m.role}`)
    if (m.role === 'tool') {
      if (open.delete(m.tool_call_id)) answered.add(m.tool_call_id)
      else if (answered.has(m.tool_call_id)) fault(`second result for ${short(m.tool_call_id)}`)
      else fault('result without a call directly before it')
    } else close(at)
    if (m.role === 'assistant' && m.tool_calls !== undefined) {
      if (!m.tool_calls?.length) fault('no call in tool_calls')
      for (const call of m.tool_calls ?? []) {
        for (const text of callFaults(call)) fault(text)
        if (open.has(call.id)) fault(`two calls ${short(call.id)}`)
        open.add(call.id)
      }
    }
    const text = contentFault(m)
    if (text) fault(text)
    if (!wellFormed(m)) fault('lone surrogate')
  })
  close('end')
  if (!messages.some(({ role }) => role !== 'system' && role !== 'developer')) {
    found.push('nothing but system messages')
  }
  return found
}

function callFaults({ id, type, function: { name, arguments: args } }) {
  const found = []
  if (type !== 'function') found.push(`type of call ${type}`)
  if (typeof id !== 'string' || !id) found.push('call without an id')
  else if (id.length > 40) found.push(`id of ${id.length} characters`)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) found.push(`tool name ${JSON.stringify(name)}`)
  if (!isObject(args)) found.push(`arguments ${JSON.stringify(args)}`)
  return found
}

function isObject(text) {
  if (typeof text !== 'string') return false
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** A result may be empty, and so may the text beside calls. */
function contentFault({ role, content, tool_calls }) {
  if (content === null || content === undefined) {
    return role === 'assistant' && tool_calls?.length ? undefined : 'no content'
  }
  if (typeof content === 'string') {
    return content || role === 'tool' || tool_calls?.length ? undefined : 'empty content'
  }
  if (!Array.isArray(content)) return 'content is neither text nor parts'
  if (!content.length) return 'empty content'
  if (content.some((part) => part.type === 'text' && !part.text)) return 'empty text part'
  const other = content.find((part) => part.type !== 'text' && role !== 'user')
  return other && `part of type ${other.type}`
}

function wellFormed(value) {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && wellFormed(item))
}

const short = (id) => (id?.length > 20 ? `${id.slice(0, 17)}...` : id)

/** Are these the expected messages? `$1`, `$2`, … stand for any id, each for one of its own. */
export function matches(messages, expected) {
  const ids = new Map()
  const same = (a, b) => {
    if (typeof b === 'string' && /^\$\d+$/.test(b)) {
      if (!ids.has(b)) ids.set(b, a)
      return typeof a === 'string' && ids.get(b) === a
    }
    if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return a === b
    const keys = Object.keys(b)
    return keys.length === Object.keys(a).length && keys.every((key) => same(a[key], b[key]))
  }
  return same(messages, expected) && new Set(ids.values()).size === ids.size
}
