/** The rules as the scanner reads them: one automaton finds the anchors of all. */
import { NAMES, WORDS } from './context.js'
import { UNQUOTED } from './secret-value.js'
import { CLASSES, RULES, SERVICES } from './rules.js'
import { treeOf } from './values.js'
import { chars, type Chars } from './view.js'

/** Characters of a set, from … to … of them. */
interface Some {
  set: Chars
  min: number
  max: number
}
/** Or the beginning or end of the secret. */
export type Atom = Some | '(' | ')'

export interface Rule {
  /** As it must stand, if its case matters. */
  readonly anchor: string | undefined
  /** Not behind a word character. */
  readonly bounded: boolean
  /** Not before a character of keys. */
  readonly ends: boolean
  /** It goes on as long as characters of its last set follow: what is longer is a secret, too. */
  readonly open: number
  /** Has digits, or letters of both cases. */
  readonly mixed: boolean
  /** It is the password of an address. */
  readonly url: boolean
  /** It is the value of an option of curl. */
  readonly command: boolean
  readonly entropy: number
  /** What stands before the anchor, the nearest first. */
  readonly before: readonly Some[]
  readonly follows: readonly Atom[]
}

/** What ends at a state of the automaton. */
export interface Found {
  rules: { rule: Rule; length: number }[]
  /** A word is one of any secret, or the name of one; the length of one of a service. */
  word?: true
  name?: true
  service: number
  /** The anchor of a private key, and of its end. */
  key?: true
  end?: true
}

export interface Tables {
  /** Sets by which matches go on, by `Rule.open`; the first is that of values of names. */
  readonly sets: readonly Chars[]
  /** The column of a character. */
  readonly column: Uint8Array
  readonly columns: number
  readonly next: Uint16Array
  readonly found: readonly (Found | undefined)[]
  /** Characters back from here at which a secret may begin, of which an anchor is under way. */
  readonly hold: Uint8Array
}

const SETS = CLASSES.map(chars)

/**
 * Characters of a run without an end that are read.
 *
 * Limit | a run without an end | characters | the rest is not read
 */
const MOST = 512

/**
 * Reads `=text`, `~text` (letters in both cases), `<set>.<min>[-<max>|+]`, `(` and `)`, with spaces
 * between them.
 */
function atoms(text: string): Atom[] {
  const read: Atom[] = []
  for (const [word = ''] of text.matchAll(/[=~](?:[^ ]| (?= |$))+|\S+/g)) {
    if (word === '(' || word === ')') read.push(word)
    else if (word[0] === '=' || word[0] === '~') {
      for (const letter of word.slice(1)) {
        const other = word[0] === '~' ? letter.toUpperCase() : letter
        read.push({ set: chars(letter + letter + other + other), min: 1, max: 1 })
      }
    } else {
      const [name = '', counts = ''] = word.split('.')
      const [min = '', max = min] = counts.split('-')
      const set = SETS[parseInt(name, 36)] as Chars
      read.push({ set, min: parseInt(min), max: min.endsWith('+') ? MOST : Number(max) })
    }
  }
  return read
}

/**
 * Characters of a key that are looked at to tell it from words with hyphens.
 *
 * Not a limit.
 */
const MIXED = 48

/** The anchors of private keys, which the scanner reads. */
const KEY = '-----begin'
const KEY_END = '-----end'

let made: Tables | undefined

/** The tables, made when the first scanner needs them. */
export const tables = (): Tables => (made ??= make())

function make(): Tables {
  const sets: Chars[] = [UNQUOTED]
  const anchors = new Map<string, Found>()
  const at = (anchor: string) => {
    let found = anchors.get(anchor)
    if (!found) anchors.set(anchor, (found = { rules: [], service: 0 }))
    return found
  }
  for (const row of RULES) {
    const [all = '', follows = '', before = '', flags = '', bits] = row.split('\x60')
    const body = atoms(follows)
    const last = body.filter(isSome).at(-1)
    let open = -1
    if (!flags.includes('c') && last) {
      open = sets.indexOf(last.set)
      if (open < 0) open = sets.push(last.set) - 1
      // Whether a key is mixed takes some of it; otherwise its beginning is enough.
      last.max = flags.includes('m') ? Math.max(last.min, MIXED) : last.min
    }
    for (const anchor of all.split('|')) {
      const rule: Rule = {
        anchor: flags.includes('i') ? undefined : anchor,
        bounded: !flags.includes('f'),
        ends: flags.includes('e'),
        url: flags.includes('u'),
        command: flags.includes('k'),
        open,
        mixed: flags.includes('m'),
        entropy: Number(bits || 3),
        before: atoms(before).filter(isSome).reverse(),
        follows: body,
      }
      const text = anchor.toLowerCase()
      at(text).rules.push({ rule, length: text.length })
    }
  }
  for (const service of SERVICES.split(' ')) at(service).service = service.length
  for (const word of WORDS) at(word).word = true
  for (const name of NAMES) at(name).name = true
  at(KEY).key = true
  at(KEY_END).end = true
  return { sets, ...automaton(anchors) }
}

function automaton(anchors: ReadonlyMap<string, Found>) {
  const { edge, depth, fail, order } = treeOf(anchors.keys())
  const column = new Uint8Array(128)
  /** The character of a column; the first is that of all that are in no anchor. */
  const codes = [0]
  for (const anchor of anchors.keys()) {
    for (const letter of anchor) {
      const code = letter.charCodeAt(0)
      column[code] ||= codes.push(code) - 1
    }
  }
  for (let code = 65; code <= 90; code++) column[code] = column[code + 32] as number
  const columns = codes.length
  const found: (Found | undefined)[] = []
  const hold = new Uint8Array(depth.length)
  for (const [anchor, own] of anchors) {
    const begins = own.key ? [0] : own.rules.map(({ rule }) => most(rule.before))
    let node = 0
    for (const letter of anchor) {
      node = edge(node, letter.charCodeAt(0)) as number
      const back = begins.map((begin) => (depth[node] as number) + begin)
      hold[node] = Math.max(hold[node] as number, ...back)
    }
    found[node] = own
  }
  const next = new Uint16Array(depth.length * columns)
  for (const node of order) {
    const suffix = fail[node] as number
    found[node] = both(found[node], found[suffix])
    hold[node] = Math.max(hold[node] as number, hold[suffix] as number)
    codes.forEach((code, by) => {
      next[node * columns + by] = edge(node, code) ?? (next[suffix * columns + by] as number)
    })
  }
  return { column, columns, next, found, hold }
}

const isSome = (atom: Atom) => typeof atom === 'object'
const most = (before: readonly Some[]) => before.reduce((sum, { max }) => sum + max, 0)

function both(one: Found | undefined, other: Found | undefined): Found | undefined {
  if (!one || !other) return one ?? other
  const rules = [...one.rules, ...other.rules]
  return { ...one, ...other, rules, service: Math.max(one.service, other.service) }
}
