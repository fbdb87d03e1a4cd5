/**
 * The formats of JSON Schema that are checked. Each takes time in proportion to its text: no expression
 * here has a quantifier within another, except over parts that begin with a character of their own.
 */

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i
const PERIOD =
  /^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const QUOTED = /^"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*"$/
const ATOM = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+$/i
/** A character that stands in no URI (RFC 3986), and a `%` that escapes nothing. */
const NOT_IN_URI = /[^a-z0-9\-._~:/?#[\]@!$&'()*+,;=%]|%(?![0-9a-f]{2})/i
const BAD_ESCAPE = /~(?![01])/
const VARIABLE = /^[+#./;?&=,!@|]?[\w.%]+(?::[1-9]\d{0,3}|\*)?(?:,[\w.%]+(?::[1-9]\d{0,3}|\*)?)*$/

const days = (year: number, month: number) => new Date(Date.UTC(2000 + (year % 400), month, 0))

function isDate(text: string): boolean {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || day === undefined) return false
  return month >= 1 && month <= 12 && day >= 1 && day <= days(year, month).getUTCDate()
}

function isTime(text: string): boolean {
  const found = TIME.exec(text)
  if (!found) return false
  const [hour, minute, second, offsetHour, offsetMinute] = [1, 2, 3, 5, 6].map((at) =>
    Number(found[at] ?? 0),
  ) as [number, number, number, number, number]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  if (second < 60) return true
  // A leap second is the last one of a day in UTC.
  const offset = (offsetHour * 60 + offsetMinute) * (found[4] === '-' ? -1 : 1)
  return (hour * 60 + minute - offset + 2880) % 1440 === 1439
}

function isDateTime(text: string): boolean {
  return /^[t\s]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

const isDuration = (text: string) => PERIOD.test(text) && /\d[A-Z]$/.test(text)

const isHostname = (text: string) =>
  text.length <= 253 &&
  // RFC 5890: a hyphen in the third and fourth place is that of a prefix, of which there is one.
  text.split('.').every((label) => LABEL.test(label) && !/^(?!xn)..--/i.test(label))

const isIpv4 = (text: string) => {
  const parts = text.split('.', 5)
  return (
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && +part < 256)
  )
}

function isIpv6(text: string): boolean {
  if (text.length > 45 || !/^[0-9a-f:.]+$/i.test(text)) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1) ?? ''
  const hasIpv4 = last.includes('.') && !text.endsWith('::')
  if (hasIpv4 && !isIpv4(groups.pop() ?? '')) return false
  const count = groups.length + (hasIpv4 ? 2 : 0)
  return (
    groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) &&
    (halves.length === 2 ? count < 8 : count === 8)
  )
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const [name, host] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || name.length > 64 || host.length > 253) return false
  const isAtom = ATOM.test(name) && !/^\.|\.\.|\.$/.test(name)
  if (!isAtom && !QUOTED.test(name)) return false
  if (!host.startsWith('[') || !host.endsWith(']')) return isHostname(host)
  const address = host.slice(1, -1)
  return /^ipv6:/i.test(address) ? isIpv6(address.slice(5)) : isIpv4(address)
}

function isUriReference(text: string): boolean {
  if (NOT_IN_URI.test(text)) return false
  const [beforeFragment = '', ...fragments] = text.split('#', 3)
  if (fragments.length > 1 || /[[\]]/.test(fragments.join(''))) return false
  const scheme = SCHEME.exec(beforeFragment)?.[0] ?? ''
  const [hierarchy = ''] = beforeFragment.slice(scheme.length).split('?', 1)
  const query = beforeFragment.slice(scheme.length + hierarchy.length)
  if (/[[\]]/.test(query)) return false
  if (!hierarchy.startsWith('//')) {
    const [first = ''] = hierarchy.split('/', 1)
    // In a reference without a scheme, a colon in the first segment would make it one.
    return !/[[\]]/.test(hierarchy) && (scheme !== '' || !first.includes(':'))
  }
  const [authority = ''] = hierarchy.slice(2).split('/', 1)
  if (/[[\]]/.test(hierarchy.slice(2 + authority.length))) return false
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (/[[\]@]/.test(authority.slice(0, Math.max(0, authority.lastIndexOf('@'))))) return false
  const literal = /^\[([^[\]]*)\](?::\d*)?$/.exec(host)
  if (literal) {
    return isIpv6(literal[1] ?? '') || /^v[0-9a-f]+\.[^%/?#@]+$/i.test(literal[1] ?? '')
  }
  return /^[^[\]:@]*(?::\d*)?$/.test(host)
}

const isUri = (text: string) => SCHEME.test(text) && isUriReference(text)

function isUriTemplate(text: string): boolean {
  if (/[\x00-\x20"<>\\^`|\x7f]|%(?![0-9a-f]{2})/i.test(text)) return false
  const [outside = '', ...parts] = text.split('{')
  if (outside.includes('}')) return false
  return parts.every((part) => {
    const end = part.indexOf('}')
    return (
      end > 0 &&
      VARIABLE.test(part.slice(0, end)) &&
      !part.slice(0, end).includes('..') &&
      !part.slice(end + 1).includes('}')
    )
  })
}

const isJsonPointer = (text: string) =>
  (text === '' || text.startsWith('/')) && !BAD_ESCAPE.test(text)

function isPointerFragment(text: string): boolean {
  return text.startsWith('#') && !NOT_IN_URI.test(text) && isJsonPointer(text.slice(1))
}

function isRelativePointer(text: string): boolean {
  const [number = ''] = /^(?:0|[1-9]\d*)/.exec(text) ?? []
  const rest = text.slice(number.length)
  return number !== '' && (rest === '#' || isJsonPointer(rest))
}

/** By the name of the format. Others are annotations. */
export const FORMATS = new Map<unknown, (text: string) => boolean>([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['uri', isUri],
  ['url', isUri],
  ['uri-reference', isUriReference],
  ['uri-template', isUriTemplate],
  ['uuid', (text) => UUID.test(text)],
  ['json-pointer', isJsonPointer],
  ['json-pointer-uri-fragment', isPointerFragment],
  ['relative-json-pointer', isRelativePointer],
])
