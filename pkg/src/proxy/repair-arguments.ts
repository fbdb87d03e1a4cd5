/** The JSON that lenient clients read in arguments of calls that are not JSON. */
import { closingQuote, leadingObjects, slashesBefore } from './json.js'

/** Objects in a row that are read; more of them are not JSON for any client. */
const MOST_OBJECTS = 16

/** Layers of JSON strings and fences that are undone. */
const MOST_LAYERS = 4

/**
 * Returns the JSON texts that lenient clients read in arguments: in a code fence, in a JSON string,
 * without trailing commas, with strings, arrays and objects closed, and with the first, or a later
 * object of several. Returns nothing for arguments that cannot be repaired in these ways.
 */
export function repairArguments(args: string): string[] {
  let text = args
  for (let layer = 0; layer < MOST_LAYERS; layer++) {
    text = unfenced(text)
    if (text.startsWith('{')) {
      const objects = leadingObjects(text)
      return objects.length > MOST_OBJECTS ? [] : objects.map(closed)
    }
    if (text.startsWith('[')) return [closed(text)]
    const inner = stringOf(text)
    if (inner === undefined) return []
    text = inner
  }
  return []
}

/** A text without white space, a byte order mark and a code fence around it. */
function unfenced(text: string): string {
  const plain = text.trim()
  const [fence, language] = /^(?:`+|~~~+)([\w-]*)/.exec(plain) ?? []
  if (fence === undefined || language === undefined) return plain
  let end = plain.length
  while (end > fence.length && plain[end - 1] === fence[0]) end--
  return plain.slice(fence.length, end).trim()
}

function stringOf(text: string): string | undefined {
  if (!text.startsWith('"')) return undefined
  try {
    return JSON.parse(text) as string
  } catch {
    return undefined
  }
}

const TOKEN = /["[\]{},]/g

/**
 * The text that a JSON value becomes without trailing commas, with control characters escaped, and with
 * its end if that is missing: with the last member as far as it came, or without it if it is no value yet.
 */
function closed(json: string): string {
  const parts: string[] = []
  const ends: string[] = []
  /** Where the next part begins. */
  let from = 0
  /** The parts up to the last comma or opening bracket, if no bracket closes behind it. */
  let completeParts: number | undefined
  let isAfterComma = false
  TOKEN.lastIndex = 0
  for (let found = TOKEN.exec(json); found; found = TOKEN.exec(json)) {
    const { 0: token, index } = found
    const between = json.slice(from, index)
    const closes = token === '}' || token === ']'
    // A trailing comma is left out.
    if (isAfterComma && !(closes && between.trim() === '')) parts.push(',')
    parts.push(between)
    isAfterComma = token === ','
    from = index + 1
    if (token === '"') {
      const end = closingQuote(json, index)
      parts.push(`"${escaped(end < 0 ? withoutEscape(json.slice(from)) : json.slice(from, end))}"`)
      from = end < 0 ? json.length : end + 1
      TOKEN.lastIndex = from
    } else if (token === ',') {
      completeParts = parts.length
    } else {
      parts.push(token)
      if (closes) ends.pop()
      else ends.push(token === '{' ? '}' : ']')
      completeParts = closes ? undefined : parts.length
    }
  }
  const rest = json.slice(from)
  if (isAfterComma && rest.trim() !== '') parts.push(',')
  parts.push(rest)
  const end = ends.reverse().join('')
  const text = parts.join('') + end
  return completeParts === undefined || isJson(text)
    ? text
    : parts.slice(0, completeParts).join('') + end
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const escaped = (text: string): string =>
  // eslint-disable-next-line no-control-regex
  text.replace(/[\0-\x1f]/g, (code) => JSON.stringify(code).slice(1, -1))

/** The text of a string that may be cut within an escape, without that escape. */
function withoutEscape(text: string): string {
  const [partial = ''] = /u[\da-f]{0,3}$/i.exec(text.slice(-4)) ?? []
  for (const end of [text.length, text.length - partial.length]) {
    if (slashesBefore(text, end) % 2 === 1) return text.slice(0, end - 1)
  }
  return text
}
