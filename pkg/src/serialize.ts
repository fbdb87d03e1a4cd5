/** A tool's value as bounded JSON text. Whatever the tool returns, this ends and never throws. */

/** What the core is told of a settled tool. */
export type SettledInput =
  { status: 'ok'; text: string; bytes: number } | { status: 'error'; code: string; message: string }

/** Room behind the limit, so that the core can cut at a character of its choice. */
const SLACK = 16

/** The JSON of what a tool returned; a text far over `limit` bytes stays on this side. */
export function serialize(value: unknown, limit: number): SettledInput {
  let text: string | undefined
  try {
    text = JSON.stringify(value === undefined ? null : value)
  } catch (error) {
    return unserializable(describe(error))
  }
  // Functions, symbols, and a `toJSON` that returns one of them.
  if (text === undefined) return unserializable(`a ${typeof value} has no JSON`)
  if (text.length <= limit) return { status: 'ok', text, bytes: utf8Length(text) }
  return { status: 'ok', text: text.slice(0, limit + SLACK), bytes: utf8Length(text) }
}

/** What a tool threw. */
export function threw(error: unknown): SettledInput {
  return { status: 'error', code: 'tool.threw', message: describe(error) }
}

/** An error in words; hostile values included. */
export function describe(error: unknown): string {
  try {
    if (error instanceof Error && error.message) return String(error.message)
    return typeof error === 'string' ? error : String(error)
  } catch {
    return 'an error that cannot be shown'
  }
}

const unserializable = (why: string): SettledInput => ({
  status: 'error',
  code: 'tool.unserializable',
  message: `the tool's result cannot be sent: ${why}`,
})

/** Without encoding it: a result may have 50 MB. */
function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // A surrogate pair has two units and four bytes.
    bytes += unit < 0x800 || (unit & 0xf800) === 0xd800 ? 1 : 2
  }
  return bytes
}
