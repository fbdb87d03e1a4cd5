/** What a tape must not have: credentials and keys of requests. */
import type { TapeRequest } from './model-tape.js'

/** What stands in place of a secret. */
const MASK = '***'

/** Query parameters whose values are no secrets and matter for the response. */
const PLAIN_PARAMETERS = new Set(['alt', 'api-version', 'api_version', 'beta', 'model', 'version'])

/** Names of headers whose values are secrets. */
const SECRET_HEADER = /auth|key|token|secret|cookie|credential|password|signature/i

/** Names of members of a body whose texts are secrets. */
const SECRET_MEMBER =
  /^(x[-_])?(goog[-_])?(api[-_]?key|authorization|authorization[-_]?token|(access|auth|bearer|id|refresh|session)[-_]?token|client[-_]?secret|password|secret([-_](access[-_])?key)?)$/i

/** Shorter texts may be a part of any word: they are not looked for elsewhere. As the core does. */
const SHORTEST = 6

/** A request without its secrets, and these. Headers are never recorded. */
export function cleaned(
  url: string,
  init: RequestInit,
): { request: TapeRequest; secrets: string[] } {
  const secrets = new Set<string>()
  const mask = (value: string) => {
    if (value.length >= SHORTEST) secrets.add(value)
    return MASK
  }
  for (const [name, value] of new Headers(init.headers)) {
    // The scheme, such as `Bearer`, is no secret.
    if (SECRET_HEADER.test(name)) mask(value.replace(/^[A-Za-z][\w-]* +/, ''))
  }
  const address = cleanedAddress(url, mask)
  const masked = withoutKeys(parsed(init.body), mask)
  const all = [...secrets].sort((a, b) => b.length - a.length)
  const body = deepReplaced(masked, all)
  return { request: { method: init.method ?? 'GET', url: address, body }, secrets: all }
}

/** An address without credentials, fragment and values of unknown parameters. */
function cleanedAddress(url: string, mask: (value: string) => string): string {
  const [, base = '', query] = /^([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  const plain = base.replace(
    /^([a-z][a-z0-9+.-]*:\/\/)([^/@]*)@/i,
    (_, scheme: string, user: string) => {
      for (const part of user.split(':')) mask(decoded(part))
      return scheme
    },
  )
  if (!query) return plain
  const parameters = query.split('&').map((parameter) => {
    const [name = '', ...value] = parameter.split('=')
    if (!value.length || PLAIN_PARAMETERS.has(decoded(name).replace(/^\$/, ''))) return parameter
    return `${name}=${mask(decoded(value.join('=')))}`
  })
  return `${plain}?${parameters.join('&')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function parsed(body: RequestInit['body']): unknown {
  if (body == null) return null
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body
  try {
    return JSON.parse(String(text)) as unknown
  } catch {
    return String(text)
  }
}

/** A body whose keys are masked: members with their names, and all `headers` of servers. */
function withoutKeys(value: unknown, mask: (value: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withoutKeys(item, mask))
  const entries = Object.entries(value).map(([name, item]: [string, unknown]) => {
    if (typeof item === 'string' && SECRET_MEMBER.test(name)) {
      return [name, mask(item.replace(/^(Bearer|Basic|Token) +/i, ''))]
    }
    const isHeaders = name === 'headers' && typeof item === 'object' && item !== null
    if (!isHeaders || Array.isArray(item)) return [name, withoutKeys(item, mask)]
    const headers = Object.entries(item).map(([header, text]: [string, unknown]) => [
      header,
      typeof text === 'string' ? mask(text.replace(/^(Bearer|Basic|Token) +/i, '')) : text,
    ])
    return [name, Object.fromEntries(headers)]
  })
  return Object.fromEntries(entries)
}

const replaced = (text: string, secrets: readonly string[]) =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, MASK), text)

function deepReplaced(value: unknown, secrets: readonly string[]): unknown {
  if (!secrets.length) return value
  if (typeof value === 'string') return replaced(value, secrets)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => deepReplaced(item, secrets))
  const entries = Object.entries(value).map(([name, item]) => [
    replaced(name, secrets),
    deepReplaced(item, secrets),
  ])
  return Object.fromEntries(entries)
}

/**
 * The pieces of a response without the secrets of its request. A provider may repeat a key, in two
 * pieces too: the body is then one piece.
 */
export function scrubbed(chunks: readonly Uint8Array[], secrets: readonly string[]): Uint8Array[] {
  // One character a byte, so that any bytes come back.
  const binary = (bytes: Uint8Array) => {
    let text = ''
    for (let at = 0; at < bytes.length; at += 8192) {
      text += String.fromCharCode(...bytes.subarray(at, at + 8192))
    }
    return text
  }
  const whole = chunks.map(binary).join('')
  const hidden = secrets.map((secret) => binary(new TextEncoder().encode(secret)))
  const shown = replaced(whole, hidden)
  if (shown === whole) return [...chunks]
  return [Uint8Array.from(shown, (character) => character.charCodeAt(0))]
}
