/**
 * Finds what must not be shown, in one pass: at each position the automata step, and where an anchor
 * ends or a word begins, matchers look ahead, each a bounded number of characters and none twice.
 * What they say depends on the text alone, not on how it was cut: a matcher that comes to the end of
 * what is there waits, and what may be in a match is held back.
 *
 * `Reading` has the text, `Runs` and `Registered` read parts of it, `Output` writes it.
 */
import { keyPartAfter, privateKeyAt, ruleAt, type KeyPart } from './anchored.js'
import { contextAt, listAt, type Context } from './context.js'
import { JsonText } from './json-text.js'
import { foreignAt, Names } from './names.js'
import { Output, type Match, type RedactKind } from './output.js'
import { cardEnd, emailAt, ibanEnd, ipEnd, local, LONGEST_LOCAL } from './personal.js'
import { phoneEnd } from './phones.js'
import { Reading } from './reading.js'
import { Registered } from './registered.js'
import { Runs } from './runs.js'
import { MOST, MOST_QUOTED, MOST_RANDOM, randomAt, valueAt } from './secret-value.js'
import { tables, type Found } from './tables.js'
import type { Values } from './values.js'
import {
  back,
  chars,
  NO,
  OPENED,
  opened,
  unknown,
  WAIT,
  within,
  WORD,
  type Chars,
  type View,
} from './view.js'

export { KINDS, type RedactKind } from './output.js'

export interface Plan {
  readonly kinds: ReadonlySet<RedactKind>
  readonly values: Values | undefined
  /** The same, in bytes, as `escapes.ts` reads them. */
  readonly bytes: Values | undefined
  mask(kind: RedactKind | 'field'): string
}

/** A private key, and what of it is read. */
interface Key {
  match: Match
  part: KeyPart
}

/** Where the secret of a name ends, in the whole text: in a list, others may follow. */
interface LastSecret {
  end: { to: number }
  /** Texts that are no secret may stand between those of a list, or before the first one. */
  list?: boolean | undefined
  /** Whether one of the list was a secret. */
  near: boolean
}

/** What is read, to go back to after a pause. */
interface Place {
  at: number
  state: number
  name: number
  last: LastSecret
  key: Key | undefined
  registered: Registered['place'] | undefined
  foreign: Names['place']
}

/** A kind of value that begins with a word or a sign, and where one ends that begins at a position. */
interface Look {
  kind: RedactKind
  end(view: View, at: number): number
  begins: Chars
}

const LOOKS: readonly Look[] = [
  { kind: 'card', end: cardEnd, begins: chars('09') },
  { kind: 'iban', end: ibanEnd, begins: chars('AZaz') },
  { kind: 'ip', end: ipEnd, begins: chars('09afAF::') },
  { kind: 'phone', end: phoneEnd, begins: chars('09++((') },
]

/** With what that begins behind which a word is `opened`. */
const OPENINGS = chars('%%[\\__')
/** The set by which a secret behind a name goes on (`tables.ts`). */
const UNQUOTED_SET = 0
/** Characters of `-----BEGIN`. */
const KEY_ANCHOR = 10

export class Scanner {
  readonly #tables = tables()
  readonly #reading = new Reading()
  readonly #runs = new Runs(this.#reading, this.#tables.sets)
  readonly #output: Output
  readonly #registered: Registered | undefined
  readonly #foreign = new Names()
  readonly #looks: readonly Look[]
  readonly #secrets: boolean
  readonly #emails: boolean
  /** What is read next, in the text of `#reading`. */
  #at = 0
  /** The state of the automaton of anchors. */
  #state = 0
  /** Characters of a name that may be one of an e-mail address. */
  #name = 0
  #last: LastSecret = { end: { to: -1 }, near: true }
  #key: Key | undefined
  /** Matches that were found at the position that is read. */
  #here: Match[] = []

  /** @param context characters at the beginning that only tell what follows: `JsonText` */
  constructor({ kinds, values, bytes, mask }: Plan, context = 0) {
    this.#output = new Output(this.#reading, new JsonText(mask, context))
    this.#registered = values && bytes && new Registered(this.#reading, values, bytes)
    this.#looks = LOOKS.filter(({ kind }) => kinds.has(kind))
    this.#secrets = kinds.has('secret')
    this.#emails = kinds.has('email')
  }

  /** Characters that have been read, also ahead: the measure of its work. */
  get steps(): number {
    return this.#reading.steps
  }

  /** Characters of the text that are kept. */
  get size(): number {
    return this.#reading.text.length
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#output.holds
  }

  /** Takes the next part of the text. Returns what can be shown. */
  feed(chunk: string): string {
    this.#reading.take(chunk)
    this.#advance()
    const safe = this.#safe()
    const output = this.#output.show(safe)
    this.#at -= this.#reading.forget(safe)
    return output
  }

  /** Ends the text. Returns its rest. */
  end(): string {
    this.#reading.finish()
    this.#advance()
    return this.#output.end()
  }

  /** What comes may be another text. */
  divide(next: string): void {
    this.#output.divide(next)
  }

  /**
   * Returns the rest of what has come, as if the text were cut here. It may go on: what turns out to
   * be a match that has begun before is masked from here on.
   */
  pause(): string {
    this.#reading.release()
    this.#advance()
    const place = this.#place
    this.#reading.cut(() => this.#scan())
    this.#place = place
    return this.#output.pause()
  }

  get #place(): Place {
    return {
      at: this.#at,
      state: this.#state,
      name: this.#name,
      last: this.#last,
      key: this.#key && { ...this.#key },
      registered: this.#registered?.place,
      foreign: this.#foreign.place,
    }
  }

  set #place({ registered, foreign, ...place }: Place) {
    this.#at = place.at
    this.#state = place.state
    this.#name = place.name
    this.#last = place.last
    this.#key = place.key
    if (this.#registered && registered) this.#registered.place = registered
    this.#foreign.place = foreign
  }

  /** Reads what has come: runs that ended where the text did go on, then what is new. */
  #advance(): void {
    this.#runs.grow((match, to) => this.#output.extend(match, to))
    this.#scan()
  }

  /** Reads on until something must wait for more of the text. */
  #scan(): void {
    const { text } = this.#reading
    /** Up to there, what stands before may open a word. */
    let reach = this.#at + OPENED
    for (; this.#at < text.length; this.#at++) {
      const at = this.#at
      const code = text.charCodeAt(at)
      this.#reading.steps++
      if (this.#here.length > 0) this.#here = []
      const state = this.#secrets ? this.#nextState(code) : 0
      const isInWord = within(WORD, code) && within(WORD, text.charCodeAt(at - 1))
      const isWord = !isInWord || (at <= reach && opened(text, at))
      const isKnown =
        (!this.#secrets || this.#endsWord(at, code, state)) &&
        this.#continuesList(at) &&
        (!isWord || this.#beginsWord(at, code)) &&
        this.#endsValue(at, code)
      if (!isKnown) return
      if (within(OPENINGS, code)) reach = at + OPENED
      this.#state = state
      this.#name = local(code) ? Math.min(this.#name + 1, LONGEST_LOCAL) : 0
      for (const match of this.#here) this.#add(match)
      if (this.#key) this.#readKey(this.#key, at, code, state)
    }
  }

  #nextState(code: number): number {
    const { column, columns, next } = this.#tables
    return next[this.#state * columns + (code < 128 ? (column[code] as number) : 0)] as number
  }

  /** Where a match may begin that is not known yet, in the whole text. */
  #safe(): number {
    const { text, base } = this.#reading
    const mayBeName = this.#secrets || this.#emails ? this.#name : 0
    const holdLength = Math.max(this.#tables.hold[this.#state] as number, mayBeName)
    const safe = Math.min(this.#at - holdLength, this.#registered?.safe(this.#at) ?? this.#at)
    // No half of a pair is shown.
    const last = text.charCodeAt(safe - 1)
    return base + safe - (last >= 0xd800 && last <= 0xdbff ? 1 : 0)
  }

  // What follows looks for matches at a position, and returns whether all is known that it asks for.

  /** Looks around anchors and words for "password" that end with a character. */
  #endsWord(at: number, code: number, state: number): boolean {
    const { text, base } = this.#reading
    const found = this.#tables.found[state]
    if (found && !this.#anchored(found, at + 1)) return false
    return !this.#foreign.step(text, at, code, base) || this.#foreignName(at + 1)
  }

  /** Reads on from the end of an anchor. */
  #anchored(found: Found, at: number): boolean {
    return this.#rules(found, at) && this.#privateKey(found, at) && this.#named(found, at)
  }

  #rules({ rules }: Found, at: number): boolean {
    for (const { rule, length } of rules) {
      const span = ruleAt(this.#reading, rule, at - length, at)
      if (span === WAIT) return false
      if (span === NO) continue
      const match = this.#found(span.from, span.to, 'secret')
      if (span.open! >= 0) this.#runs.goOn(match, span.open!)
    }
    return true
  }

  #privateKey({ key }: Found, at: number): boolean {
    if (!key || this.#key) return true
    const begin = privateKeyAt(this.#reading, at)
    if (begin >= 0) this.#found(at - KEY_ANCHOR, begin, 'secret').isKey = true
    return begin !== WAIT
  }

  /** Looks for the value of a name, or of a service in a name. */
  #named({ word, name, service }: Found, at: number): boolean {
    const isService = service > 0 && isOwn(this.#reading.text, at - service, at)
    if (!word && !name && !isService) return true
    const context = contextAt(this.#reading, at)
    if (context === WAIT) return false
    if (context === NO) return true
    const random = word || isService ? randomAt(this.#reading, context, isService) : NO
    const value = name ? valueAt(this.#reading, context) : NO
    return this.#secretsOf(context, random, value, false)
  }

  /** Reads on from the end of a word for "password" of another language. */
  #foreignName(at: number): boolean {
    const context = foreignAt(this.#reading, at)
    if (context === WAIT) return false
    if (context === NO) return true
    return this.#secretsOf(context, NO, valueAt(this.#reading, context), false)
  }

  /** Looks for what follows in a list: `"…", "…"`. */
  #continuesList(at: number): boolean {
    const { end, near } = this.#last
    if (end.to !== this.#reading.base + at) return true
    const context = listAt(this.#reading, at, this.#last)
    if (context === WAIT) return false
    if (context === NO) return true
    return this.#secretsOf(context, randomAt(this.#reading, context, near), NO, near)
  }

  /**
   * Adds the secrets of a name, which end at these places. One that is longer than what is read goes
   * on.
   */
  #secretsOf(context: Context, random: number, value: number, near: boolean): boolean {
    if (random === WAIT || value === WAIT) return false
    const { base } = this.#reading
    const { from, to, list, quote } = context
    for (const [end, most] of [
      [random, MOST_RANDOM],
      [value, quote ? MOST_QUOTED : MOST],
    ] as const) {
      if (end === NO) continue
      const match = this.#found(from, end, 'secret')
      if (end - from >= most) this.#runs.goOn(match, UNQUOTED_SET)
      this.#last = { end: match.run ?? match, list, near: true }
    }
    if (list && to && this.#last.end.to < base + from) {
      this.#last = { end: { to: base + to }, list, near }
    }
    return true
  }

  /** Looks for what begins at a position, or has its `@` there. */
  #beginsWord(at: number, code: number): boolean {
    if (code === 37 && unknown(this.#reading, at + 2)) return false
    return (!this.#emails || this.#email(at, code)) && this.#looksAt(at, code)
  }

  #email(at: number, code: number): boolean {
    const span = emailAt(this.#reading, at, code)
    if (span === WAIT) return false
    if (span !== NO) this.#found(span.from, span.to, 'email')
    return true
  }

  #looksAt(at: number, code: number): boolean {
    for (const look of this.#looks) {
      if (!within(look.begins, code)) continue
      const end = look.end(this.#reading, at)
      if (end === WAIT) return false
      if (end !== NO) this.#found(at, end, look.kind)
    }
    return true
  }

  /** Looks for registered values that end with a character. */
  #endsValue(at: number, code: number): boolean {
    const add = ({ from, to }: { from: number; to: number }) =>
      this.#here.push({ from, to, kind: 'value', told: false })
    return this.#registered?.read(at, code, add) ?? true
  }

  /** A match at the position that is read. */
  #found(from: number, to: number, kind: RedactKind): Match {
    const { base } = this.#reading
    const match: Match = { from: base + from, to: base + to, kind, told: false }
    this.#here.push(match)
    return match
  }

  #add(match: Match): void {
    if (match.isKey) this.#key = { match, part: 'body' }
    else if (match.run) match.run.match ??= match
    this.#output.add(match)
  }

  /** Goes on in a private key, to the end of its last line, or of what may stand in one. */
  #readKey(key: Key, at: number, code: number, state: number): void {
    const next = this.#reading.base + at + 1
    if (next <= key.match.to) return
    const part = keyPartAfter(key.part, code, !!this.#tables.found[state]?.end)
    if (!part) return void (this.#key = undefined)
    key.part = part
    this.#output.extend(key.match, next)
  }
}

/** Whether a word is one of its own, or a part of a name in camel case. */
const isOwn = (text: string, from: number, to: number) =>
  (!/[a-z]{2}|[A-Z][^a-z]/.test(back(text, from + 1, 2)) || opened(text, from)) &&
  !/[a-z]/.test(text.charAt(to))
