/** Redaction of JSON values: fields by their path, texts by what is in them. */
import { TurnlockError } from '../errors.js'
import { mapMembers } from '../shared/redact.js'
import { isForeignName } from './names.js'
import { behindName, stepsOf, type Path } from './paths.js'
import type { RedactKind } from './scanner.js'

/**
 * Levels of a value below which nothing is shown.
 *
 * Limit | levels of a value that is redacted | levels | masked
 */
const DEEPEST = 256

/** Names of fields whose value is a secret, without what is no letter. */
const SECRET = new RegExp(
  '^(?:proxy)?authorization$|^(?:set)?cookie$|^pwd$|securitytoken$|^(?:id|bearer|session)token$|' +
    '(?:password|passwd|passphrase|secret|apikey|accesskey|secretkey|privatekey|signingkey|' +
    'accesstoken|refreshtoken|authtoken)s?$',
)

/** What is known of a text that stands in a value. */
export interface About {
  /** Characters at its beginning that only tell what follows. */
  context?: number
  /** What is left of the paths of fields where it stands: it may be JSON. */
  open?: Iterable<Path>
}

export interface Hide {
  text(text: string, about?: About): string
  mask(kind: RedactKind | 'field'): string
  paths: readonly Path[]
  /** Whether fields with the name of a secret are hidden. */
  names: boolean
}

const isSecret = (name: string) =>
  SECRET.test(
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z]/g, ''),
  ) || isForeignName(name)

/** A copy of a value with all that may be shown; numbers stay numbers where they are shown. */
export const hidden = (value: unknown, hide: Hide): unknown => walk(value, hide.paths, [], hide)

/** A value that stands at a pointer of a bigger one, as it is shown there. */
export function hiddenAt(pointer: string, value: unknown, hide: Hide): unknown {
  // It points to the whole value.
  if (pointer === '') return hidden(value, hide)
  const steps = stepsOf(pointer)
  const last = steps.pop() ?? ''
  const paths = behindSteps(steps, hide)
  return typeof paths === 'number' ? hide.mask('field') : member(last, value, paths, [], hide)
}

/** A pointer up to the step whose value is hidden: the names below it are hidden too. */
export function shownPointer(pointer: string, hide: Hide): string {
  const paths = behindSteps(stepsOf(pointer), hide)
  return typeof paths === 'number' ? pointer.split('/', paths + 1).join('/') : pointer
}

/** What is left of the paths behind these steps, or how many of them lead to what is hidden. */
function behindSteps(steps: readonly string[], hide: Hide): Iterable<Path> | number {
  let paths: Iterable<Path> = hide.paths
  for (const [index, step] of steps.entries()) {
    const { open, ends } = behindName(paths, step)
    if (ends || (hide.names && isSecret(step))) return index + 1
    paths = open
  }
  return paths
}

/**
 * @param paths what is left of them here
 * @param said the name of the value, which its elements have too
 */
function walk(
  value: unknown,
  paths: Iterable<Path>,
  above: readonly object[],
  hide: Hide,
  said = '',
): unknown {
  if (typeof value === 'string') return hide.text(value, { open: paths })
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
    return value.map((own, index) => {
      const before: unknown = value[index - 1]
      // Of arguments of a command, `--password` and what follows it.
      const isOption = typeof before === 'string' && /^--?[a-z]/i.test(before)
      const name = isOption ? before.replace(/^-+/, '') : said
      return member(String(index), own, paths, inner, hide, name)
    })
  }
  // Of `{ "name": "PASSWORD", "value": "…" }`, the value has that name.
  const { name: first, key = first } = value as Record<string, unknown>
  return mapMembers(value, (name, own) => [
    hide.text(name),
    member(name, own, paths, inner, hide, name === 'value' && isText(key) ? key : name),
  ])
}

function member(
  name: string,
  own: unknown,
  paths: Iterable<Path>,
  above: readonly object[],
  hide: Hide,
  said = name,
): unknown {
  const { open, ends } = behindName(paths, name)
  // A flag or a missing value is no secret.
  const empty = own === null || own === undefined || own === '' || typeof own === 'boolean'
  if (ends || (hide.names && !empty && (isSecret(name) || isSecret(said))))
    return hide.mask('field')
  if (isText(own)) return behind(said, own, open, hide)
  if (typeof own !== 'number' && typeof own !== 'bigint') return walk(own, open, above, hide, said)
  const text = behind(said, String(own), open, hide)
  return text === String(own) ? own : text
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** A text as it is shown behind its name, which may tell what it is. */
function behind(name: string, text: string, open: Iterable<Path>, hide: Hide): string {
  const [before, after] = [`"${name}": "`, '"']
  const about = { context: before.length, open }
  // With its quotes as JSON has them, it is a secret from end to end, or is read without its name.
  if (/["\\]/.test(text)) {
    const all = hide.text(before + JSON.stringify(text).slice(1, -1) + after, about)
    const mask = hide.mask('secret')
    return all === before + mask + after ? mask : hide.text(text, { open })
  }
  const redacted = hide.text(before + text + after, about)
  const isOnly = redacted.startsWith(before) && redacted.endsWith(after)
  return isOnly ? redacted.slice(before.length, -after.length) : hide.text(text, { open })
}
