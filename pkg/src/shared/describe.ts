/** The text of a thrown value. */

/** Most characters of a thrown object's JSON. */
const MOST = 4096

/** The lines of a stack: V8's, or those of Firefox and Safari. */
const FRAMES =
  /\n[ \t]+at [^\n]*?(?::\d+:\d+\)?|\(native\)|<anonymous>\)?)(?=\n|$)|\n[^\s@]*@[^\s@:]+:\S*:\d+:\d+(?=\n|$)/g

/**
 * Returns the message of a thrown value; of an object without one the text that it makes of itself,
 * otherwise its compact JSON, cut to 4096 characters. Has no stack. Works for any value and never throws.
 */
export function describe(error: unknown): string {
  try {
    return withoutStack((isObject(error) ? messageOf(error) : undefined) ?? textOf(error))
  } catch {
    return 'an error that cannot be shown'
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The message that a value has, if it says something: a text, or an object as JSON. */
function messageOf(value: object): string | undefined {
  const { message } = value as { message?: unknown }
  if (value instanceof Error && isObject(message)) return json(message)
  return typeof message === 'string' && message.trim() ? message : undefined
}

function textOf(error: unknown): string {
  if (typeof error === 'function') return `the function ${error.name || 'that was thrown'}`
  if (!isObject(error)) return String(error)
  const kind = kindOf(error)
  // Without its address, which may hold a key.
  if (kind === 'Response') {
    const { status, statusText } = error as Partial<Response>
    return ['Response', status, statusText].filter(Boolean).join(' ')
  }
  const text = ownText(error)
  const members = text === undefined || error instanceof Error ? json(error) : '{}'
  if (text !== undefined) return members === '{}' ? text : `${text} ${members}`
  const isEmpty = members === '{}' || members === '{"isTrusted":true}'
  return isEmpty ? `${kind} without a message` : members
}

/** The text that an object makes of itself, if it says something. */
function ownText(error: object): string | undefined {
  if (Array.isArray(error) || error.toString === Object.prototype.toString) return undefined
  try {
    const text = String(error)
    return !text.trim() || /^\[object [^\]]*\]$/.test(text.trim()) ? undefined : text
  } catch {
    return undefined
  }
}

const withoutStack = (text: string): string => text.replace(FRAMES, '')

/** The name of a value's class. */
function kindOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? value.constructor?.name || tag : tag
}

/** The compact JSON of an object: errors in it as their messages, and no object twice. */
function json(error: object): string {
  const visited = new Set<unknown>()
  const text = JSON.stringify(error, (key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    if (typeof value === 'string') {
      const text = withoutStack(value)
      const isStack = key === 'stack' && text !== value
      return isStack || (key === 'name' && value === (error as Error).name) ? undefined : text
    }
    if (!isObject(value)) return value
    if (visited.has(value)) return undefined
    visited.add(value)
    return value !== error && value instanceof Error ? (messageOf(value) ?? value.name) : value
  }) as string | undefined
  return cut(text ?? '{}')
}

/** The beginning of a text, without half of a character. */
function cut(text: string): string {
  if (text.length <= MOST) return text
  return `${text.slice(0, MOST).replace(/[\uD800-\uDBFF]$/, '')}…`
}
