/** Redaction of JSON values: fields by their path, texts by what is in them. */
import { TurnlockError } from '../errors.js'
import { behindName, stepsOf, type Path } from './paths.js'
import type { RedactKind } from './scanner.js'

/** Levels of a value below which nothing is shown. */
const DEEPEST = 256

/** Names of fields whose value is a secret, without what is no letter. */
const SECRET = new RegExp(
  '^(?:proxy)?authorization$|^(?:set)?cookie$|^pwd$|securitytoken$|^(?:id|bearer|session)token$|' +
    '(?:password|passwd|passphrase|secret|apikey|accesskey|secretkey|privatekey|signingkey|' +
    'accesstoken|refreshtoken|authtoken)s?$',
)

export interface Hide {
  text(text: string): string
  mask(kind: RedactKind | 'field'): string
  paths: readonly Path[]
  /** Whether fields with the name of a secret are hidden. */
  names: boolean
}

const isSecret = (name: string) => SECRET.test(name.toLowerCase().replace(/[^a-z]/g, ''))

/** A copy of a value with all that may be shown; numbers stay numbers where they are shown. */
export const hidden = (value: unknown, hide: Hide): unknown => walk(value, hide.paths, [], hide)

/** A value that stands at a pointer of a bigger one, as it is shown there. */
export function hiddenAt(pointer: string, value: unknown, hide: Hide): unknown {
  const steps = stepsOf(pointer)
  const last = steps.pop() ?? ''
  let paths: Iterable<Path> = hide.paths
  for (const step of steps) {
    const { open, ends } = behindName(paths, step)
    if (ends || (hide.names && isSecret(step))) return hide.mask('field')
    paths = open
  }
  return member(last, value, paths, [], hide)
}

/** @param paths what is left of them here */
function walk(
  value: unknown,
  paths: Iterable<Path>,
  above: readonly object[],
  hide: Hide,
): unknown {
  if (typeof value === 'string') return hide.text(value)
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = String(value)
    return hide.text(text) === text ? value : hide.text(text)
  }
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (above.length >= DEEPEST || above.includes(value)) return hide.mask('field')
  const inner = [...above, value]
  const { toJSON } = value as { toJSON?: unknown }
  // A date, an address: what JSON has of them.
  if (typeof toJSON === 'function') return walk(toJSON.call(value, ''), paths, inner, hide)
  if (value instanceof Map || value instanceof Set) {
    throw new TurnlockError('options.invalid', `a ${value.constructor.name} has no JSON`)
  }
  if (Array.isArray(value)) {
    return value.map((own, index) => member(String(index), own, paths, inner, hide))
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, own]) => [
      hide.text(name),
      member(name, own, paths, inner, hide),
    ]),
  )
}

function member(
  name: string,
  own: unknown,
  paths: Iterable<Path>,
  above: readonly object[],
  hide: Hide,
): unknown {
  const { open, ends } = behindName(paths, name)
  // A flag or a missing value is no secret.
  const empty = own === null || own === undefined || own === '' || typeof own === 'boolean'
  if (ends || (hide.names && !empty && isSecret(name))) return hide.mask('field')
  return typeof own === 'string' ? behind(name, own, hide) : walk(own, open, above, hide)
}

/** A text as it is shown behind its name, which may tell what it is. */
function behind(name: string, text: string, hide: Hide): string {
  const [before, after] = [`"${name}": "`, '"']
  // With its quotes as JSON has them, it is a secret from end to end, or is read without its name.
  if (/["\\]/.test(text)) {
    const all = hide.text(before + JSON.stringify(text).slice(1, -1) + after)
    const mask = hide.mask('secret')
    return all === before + mask + after ? mask : hide.text(text)
  }
  const shown = hide.text(before + text + after)
  const isOnly = shown.startsWith(before) && shown.endsWith(after)
  return isOnly ? shown.slice(before.length, -after.length) : hide.text(text)
}
