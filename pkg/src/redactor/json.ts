/** Redaction of JSON values: fields by their path, texts by what is in them. */
import { behindName, type Path } from './paths.js'
import type { RedactKind } from './scanner.js'

/** Levels of a value below which nothing is shown. */
const DEEPEST = 256

/** Names of fields whose value is a secret, without what is no letter. */
const SECRET = new RegExp(
  '^(?:proxy)?authorization$|^(?:set)?cookie$|^pwd$|securitytoken$|^(?:id|bearer|session)token$|' +
    '(?:password|passwd|passphrase|secret|apikey|accesskey|secretkey|privatekey|signingkey|' +
    'accesstoken|refreshtoken|authtoken)$',
)

export interface Hide {
  text(text: string): string
  mask(kind: RedactKind | 'field'): string
  paths: readonly Path[]
  /** Whether fields with the name of a secret are hidden. */
  names: boolean
}

/** A copy of a value with all that may be shown; numbers stay numbers where they are shown. */
export function hidden(value: unknown, hide: Hide): unknown {
  /** @param paths what is left of them here */
  const walk = (value: unknown, paths: Iterable<Path>, above: readonly object[]): unknown => {
    if (typeof value === 'string') return hide.text(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value)
      return hide.text(text) === text ? value : hide.text(text)
    }
    if (typeof value !== 'object' || value === null) return value
    if (above.length >= DEEPEST || above.includes(value)) return hide.mask('field')
    const inner = [...above, value]
    const member = (name: string, own: unknown): unknown => {
      const { open, ends } = behindName(paths, name)
      const named = hide.names && SECRET.test(name.toLowerCase().replace(/[^a-z]/g, ''))
      // A flag or a missing value is no secret.
      const empty = own === null || own === undefined || own === '' || typeof own === 'boolean'
      if (ends || (named && !empty)) return hide.mask('field')
      return typeof own === 'string' ? behind(name, own, hide) : walk(own, open, inner)
    }
    if (Array.isArray(value)) return value.map((own, index) => member(String(index), own))
    return Object.fromEntries(
      Object.entries(value).map(([name, own]) => [hide.text(name), member(name, own)]),
    )
  }
  return walk(value, hide.paths, [])
}

/** A text as it is shown behind its name, which may tell what it is. */
function behind(name: string, text: string, hide: Hide): string {
  const [before, after] = [`"${name}": "`, '"']
  const shown = hide.text(before + text + after)
  const isOnly = shown.startsWith(before) && shown.endsWith(after)
  return isOnly ? shown.slice(before.length, -after.length) : hide.text(text)
}
