/**
 * Finds what must not be shown, in one pass: at each position the automata step, and where an anchor
 * ends or a word begins, matchers look ahead, each a bounded number of characters and none twice.
 * What they say depends on the text alone, not on how it was cut: a matcher that comes to the end of
 * what is there waits, and what may be in a match is held back.
 */
import { KEY_BODY, KEY_NAME, privateKeyAt, ruleAt } from './anchored.js'
import { contextAt, listAt, type Context } from './context.js'
import { MOST, MOST_QUOTED, MOST_RANDOM, randomAt, valueAt } from './secret-value.js'
import { cardEnd, emailEnd, ibanEnd, ipEnd, local, localStart, LONGEST_LOCAL } from './personal.js'
import { phoneEnd } from './phones.js'
import { Escaped } from './escapes.js'
import { JsonText } from './json-text.js'
import { Spelling } from './spelling.js'
import { foreignAt, Names } from './names.js'
import { tables, type Found } from './tables.js'
import type { Values } from './values.js'
import {
  back,
  BEHIND,
  chars,
  CUT,
  NO,
  OPENED,
  opened,
  runEnd,
  unknown,
  WAIT,
  within,
  WORD,
  type Chars,
  type View,
} from './view.js'

/** What may be redacted; `value`: what the host registered. */
export const KINDS = ['value', 'secret', 'email', 'phone', 'card', 'iban', 'ip'] as const
/** A kind of value that `createRedactor` finds. */
export type RedactKind = (typeof KINDS)[number]

export interface Plan {
  readonly kinds: ReadonlySet<RedactKind>
  readonly values: Values | undefined
  /** The same, in bytes, as `escapes.ts` reads them. */
  readonly bytes: Values | undefined
  mask(kind: RedactKind | 'field'): string
}

/** A match; positions count from the beginning of the whole text. */
interface Match {
  from: number
  to: number
  kind: RedactKind
  /** Whether it has been shown, as its mask or within the mask before it. */
  told: boolean
  /** The run with which it goes on. */
  run?: Run
  /** Whether it begins a private key. */
  isKey?: boolean
}

/** Bytes of a value by which a cut one is known. */
const LEAST_OF_VALUE = 4

/** A run of a set, and the match that goes on to its end. */
interface Run {
  from: number
  to: number
  match: Match | undefined
}

/** A private key, and what of it is read. */
interface Key {
  match: Match
  part: 'body' | 'end' | 'dashes'
}

interface Look {
  kind: RedactKind
  end(view: View, at: number): number
  begins: Chars
}

/** What begins with a word, or with a sign. */
const LOOKS: readonly Look[] = [
  { kind: 'card', end: cardEnd, begins: chars('09') },
  { kind: 'iban', end: ibanEnd, begins: chars('AZaz') },
  { kind: 'ip', end: ipEnd, begins: chars('09afAF::') },
  { kind: 'phone', end: phoneEnd, begins: chars('09++((') },
]

/** With what that begins behind which a word is `opened`. */
const OPENINGS = chars('%%[\\__')

export class Scanner implements View {
  /** As it is read: `spelling.ts`. All positions are those of this text, but for `#raw…`. */
  text = ''
  final = false
  steps = 0
  readonly #plan: Plan
  readonly #tables = tables()
  readonly #spelling = new Spelling()
  /** In the text as it came: what is looked at next for registered values, and up to where it is shown. */
  #rawNext = 0
  #rawShown = 0
  /** Where `text` begins in the whole text; what is read next, in `text`. */
  #base = 0
  #at = 0
  /** Up to where the whole text is shown, and masked. */
  #shown = 0
  #masked = 0
  #state = 0
  /** Of registered values: in the text as it came, and as it is read. */
  #valueState = 0
  #readState = 0
  /** Characters of a name that may be one of an e-mail address. */
  #name = 0
  /**
   * Where the secret of a name ends, in the whole text: others may follow. In a `list`, texts that are
   * none stand between them, or before the first one: then it is not `near` yet.
   */
  #last: { end: { to: number }; list?: boolean | undefined; near: boolean } = {
    end: { to: -1 },
    near: true,
  }
  #matches: Match[] = []
  /** By set: its last run in the text, and what grows with it. */
  readonly #runs: Run[] = this.#tables.sets.map(() => ({ from: 0, to: -1, match: undefined }))
  #key: Key | undefined

  readonly #secrets: boolean
  /** Whether a name may belong to what follows it. */
  readonly #names: boolean
  readonly #looks: readonly Look[]
  readonly #escaped: Escaped | undefined
  readonly #foreign = new Names()
  readonly #writer: JsonText

  /** @param context characters at the beginning that only tell what follows: `JsonText` */
  constructor(plan: Plan, context = 0) {
    this.#plan = plan
    this.#writer = new JsonText((kind) => plan.mask(kind), context)
    this.#secrets = plan.kinds.has('secret')
    this.#names = this.#secrets || plan.kinds.has('email')
    this.#escaped = plan.bytes && new Escaped(plan.bytes)
    this.#looks = LOOKS.filter(({ kind }) => plan.kinds.has(kind))
  }

  /** Takes the next part of the text. Returns what can be shown. */
  feed(chunk: string): string {
    this.#read(this.#spelling.take(chunk))
    return this.#show(this.#safe())
  }

  #read(text: string): void {
    this.text += text
    this.#grow()
    this.#scan()
  }

  /** Ends the text. Returns its rest. */
  end(): string {
    this.text += this.#spelling.flush()
    this.#grow()
    this.#finally(true)
    this.#scan()
    return this.#show(this.#base + this.text.length) + this.#writer.end()
  }

  /** What comes may be another text. */
  divide(next: string): void {
    this.#writer.divide(next)
  }

  /** Whether something is held back. */
  get holds(): boolean {
    const isShort = Math.max(this.#shown, this.#masked) < this.#base + this.text.length
    const { held, rawBase, raw } = this.#spelling
    const isHeld = held !== '' && rawBase + raw.text.length + held.length > this.#rawShown
    return isShort || isHeld || this.#writer.holds
  }

  #finally(final: boolean): void {
    this.final = this.#spelling.raw.final = final
  }

  /**
   * Returns the rest of what has come, as if the text were cut here. It may go on: what turns out to
   * be a match that has begun before is masked from here on.
   */
  pause(): string {
    this.#read(this.#spelling.release())
    const { text } = this
    const { raw, held, rawBase } = this.#spelling
    const came = raw.text
    const end = this.#base + text.length
    const [at, rawNext, state] = [this.#at, this.#rawNext, this.#state]
    const [valueState, readState] = [this.#valueState, this.#readState]
    const [name, last] = [this.#name, this.#last]
    const key = this.#key && { ...this.#key }
    const place = this.#escaped && { ...this.#escaped.place }
    const foreign = this.#foreign.place
    this.text += String.fromCharCode(CUT)
    raw.text += String.fromCharCode(CUT)
    this.#finally(true)
    this.#scan()
    // What there is of an escape goes on: no mask may part it.
    const begun = held.slice(Math.max(0, this.#rawShown - rawBase - came.length))
    const shown =
      this.#take(end) + this.#writer.take(begun, undefined, false) + this.#writer.pause()
    this.#masked = Math.min(this.#masked, end)
    this.#rawShown = rawBase + came.length + held.length
    this.#matches = []
    this.text = text
    raw.text = came
    this.#finally(false)
    ;[this.#at, this.#rawNext, this.#state] = [at, rawNext, state]
    ;[this.#valueState, this.#readState] = [valueState, readState]
    ;[this.#name, this.#last] = [name, last]
    this.#key = key
    if (this.#escaped && place) this.#escaped.place = place
    this.#foreign.place = foreign
    return shown
  }

  #scan(): void {
    const { text } = this
    const { column, columns, next, found } = this.#tables
    const { values } = this.#plan
    const here: Match[] = []
    /** Up to there, what stands before may open a word. */
    let reach = this.#at + OPENED
    for (; this.#at < text.length; this.#at++) {
      const at = this.#at
      const code = text.charCodeAt(at)
      this.steps++
      if (here.length > 0) here.length = 0
      let state = 0
      if (this.#secrets) {
        state = next[this.#state * columns + (code < 128 ? (column[code] as number) : 0)] as number
        const ended = found[state]
        if (ended && !this.#anchored(ended, at + 1, here)) return
        if (this.#foreign.step(text, at, code, this.#base) && !this.#foreignName(at + 1, here))
          return
      }
      if (this.#last.end.to === this.#base + at && !this.#listed(at, here)) return
      const isWithin =
        within(WORD, code) &&
        within(WORD, text.charCodeAt(at - 1)) &&
        (at > reach || !opened(text, at))
      if (!isWithin && !this.#begins(at, code, here)) return
      if (within(OPENINGS, code)) reach = at + OPENED
      if (values && this.#escaped) {
        if (!this.#registered(at + 1, values, this.#escaped, here)) return
        this.#readState = values.step(this.#readState, code)
        const length = values.length[this.#readState] as number
        if (length > 0) here.push(this.#match(at + 1 - length, at + 1, 'value'))
      }
      this.#state = state
      if (this.#names) this.#name = local(code) ? Math.min(this.#name + 1, LONGEST_LOCAL) : 0
      for (const match of here) this.#add(match)
      if (this.#key) this.#inKey(this.#key, at, code, state)
    }
  }

  /** Looks for registered values in the text as it came, up to a position. Returns whether all is known. */
  #registered(end: number, values: Values, escaped: Escaped, here: Match[]): boolean {
    const { raw, rawBase } = this.#spelling
    const to = this.#spelling.rawAt(this.#base + end)
    for (; this.#rawNext < to; this.#rawNext++) {
      const at = this.#rawNext - rawBase
      const code = raw.text.charCodeAt(at)
      const read = escaped.read(raw, at, rawBase)
      if (read === WAIT) return false
      this.#valueState = values.step(this.#valueState, code)
      const next = this.#rawNext + 1
      const length = values.length[this.#valueState] as number
      if (length > 0) here.push(this.#value(next - length, next))
      // What a cut has left of a value.
      const begun = code === CUT ? escaped.begun(LEAST_OF_VALUE) : NO
      if (begun !== NO) here.push(this.#value(begun, this.#rawNext))
      const from = read === NO ? NO : escaped.take(read, this.#rawNext)
      if (from !== NO && read !== NO) here.push(this.#value(from, this.#rawNext + read.size))
    }
    return true
  }

  /** A registered value; positions are those of the whole text as it came. */
  #value(rawFrom: number, rawTo: number): Match {
    const from = this.#spelling.readAt(rawFrom)
    return { from, to: this.#spelling.readAt(rawTo, true), kind: 'value', told: false }
  }

  /** Where a match may begin that is not known yet, in the whole text. */
  #safe(): number {
    const depths = this.#plan.values?.depth
    const depth = depths?.[this.#valueState] ?? 0
    const readDepth = depths?.[this.#readState] ?? 0
    const back = Math.max(this.#tables.hold[this.#state] as number, this.#name, readDepth)
    const begun = this.#escaped?.begun(1) ?? NO
    const rawSafe = begun === NO ? this.#rawNext - depth : Math.min(this.#rawNext - depth, begun)
    const least = this.#escaped ? this.#spelling.readAt(rawSafe) - this.#base : this.#at
    const safe = Math.min(this.#at - back, least)
    // No half of a pair is shown.
    const last = this.text.charCodeAt(safe - 1)
    return this.#base + safe - (last >= 0xd800 && last <= 0xdbff ? 1 : 0)
  }

  /** Reads on from the end of an anchor. Returns whether all is known. */
  #anchored(found: Found, at: number, here: Match[]): boolean {
    for (const { rule, length } of found.rules) {
      const span = ruleAt(this, rule, at - length, at)
      if (span === WAIT) return false
      if (span === NO) continue
      const match = this.#match(span.from, span.to, 'secret')
      if (span.open! >= 0) this.#goOn(match, span.open!)
      here.push(match)
    }
    if (found.key && !this.#key) {
      const begin = privateKeyAt(this, at)
      if (begin === WAIT) return false
      if (begin !== NO) here.push({ ...this.#match(at - 10, begin, 'secret'), isKey: true })
    }
    const service = found.service > 0 && isOwn(this.text, at - found.service, at)
    if (!found.word && !found.name && !service) return true
    const context = contextAt(this, at)
    if (context === WAIT) return false
    if (context === NO) return true
    const ends = [
      found.word || service ? randomAt(this, context, service) : NO,
      found.name ? valueAt(this, context) : NO,
    ]
    return this.#named(context, ends, false, here)
  }

  /** Reads on from the end of a word for "password". Returns whether all is known. */
  #foreignName(at: number, here: Match[]): boolean {
    const context = foreignAt(this, at)
    if (context === WAIT) return false
    return context === NO || this.#named(context, [NO, valueAt(this, context)], false, here)
  }

  /**
   * Adds the secrets of a name, of which those that are longer than what is read go on. Returns whether
   * all is known.
   */
  #named(context: Context, ends: number[], near: boolean, here: Match[]): boolean {
    if (ends.includes(WAIT)) return false
    const { from, to, list, quote } = context
    for (const [index, end] of ends.entries()) {
      if (end === NO) continue
      const match = this.#match(from, end, 'secret')
      const most = index === 0 ? MOST_RANDOM : quote ? MOST_QUOTED : MOST
      if (end - from >= most) this.#goOn(match, 0)
      this.#last = { end: match.run ?? match, list, near: true }
      here.push(match)
    }
    if (list && to && this.#last.end.to < this.#base + from)
      this.#last = { end: { to: this.#base + to }, list, near }
    return true
  }

  /** Looks for what follows in a list: `"…", "…"`. Returns whether all is known. */
  #listed(at: number, here: Match[]): boolean {
    const { near } = this.#last
    const context = listAt(this, at, this.#last)
    if (context === WAIT) return false
    return context === NO || this.#named(context, [randomAt(this, context, near)], near, here)
  }

  /** Looks for what begins at a position, or has its `@` there. Returns whether all is known. */
  #begins(at: number, code: number, here: Match[]): boolean {
    const { text } = this
    if (code === 37 && unknown(this, at + 2)) return false
    // In an address `%40`.
    const size = code === 64 ? 1 : code === 37 && text.startsWith('40', at + 1) ? 3 : 0
    if (size && this.#plan.kinds.has('email')) {
      const from = localStart(this, at)
      const end = from < at ? emailEnd(this, at + size) : NO
      if (end === WAIT) return false
      // What stands before the `@` of an address with a scheme is a password.
      const url = /:\/\/[^\s/?#"'<>,]*:[^\s/?#"'<>,]*$/.test(
        text.slice(Math.max(0, at - BEHIND), from),
      )
      if (end !== NO && !url && !isFile(text.slice(from, end)))
        here.push(this.#match(from, end, 'email'))
    }
    for (const { kind, end: look, begins } of this.#looks) {
      if (!within(begins, code)) continue
      const end = look(this, at)
      if (end === WAIT) return false
      if (end !== NO) here.push(this.#match(at, end, kind))
    }
    return true
  }

  /** A match goes on as long as a set does. */
  #goOn(match: Match, set: number): void {
    match.run = this.#run(set, match.to)
    match.to = match.run.to
  }

  /** The run of a set that a position is in; each character of one is read once. */
  #run(set: number, from: number): Run {
    const last = this.#runs[set] as Run
    if (from >= last.from && from <= last.to) return last
    const to = this.#runEnd(set, from)
    if (to === last.to) {
      last.from = from
      return last
    }
    const run = { from, to, match: undefined }
    // The last one of the text may grow. One before it has ended.
    if (from > last.to) this.#runs[set] = run
    return run
  }

  #runEnd(set: number, from: number): number {
    const chars = this.#tables.sets[set] as Chars
    return this.#base + runEnd(this, chars, from - this.#base, Infinity)
  }

  /** Matches that end where the text ended go on in what came. */
  #grow(): void {
    this.#runs.forEach((run, set) => {
      if (run.to < this.#base + this.#length) return
      run.to = this.#runEnd(set, run.to)
      if (run.match) this.#extend(run.match, run.to)
    })
    this.#length = this.text.length
  }
  /** Characters of `text` that runs have been followed to. */
  #length = 0

  #extend(match: Match, to: number): void {
    match.to = Math.max(match.to, to)
    if (match.told) this.#masked = Math.max(this.#masked, match.to)
  }

  /** Goes on in a private key, to the end of its last line, or of what may stand in one. */
  #inKey(key: Key, at: number, code: number, state: number): void {
    if (at + this.#base < key.match.to) return
    if (key.part === 'body') {
      if (this.#tables.found[state]?.end) key.part = 'end'
      else if (!within(KEY_BODY, code) && !isLine(code)) return void (this.#key = undefined)
    } else if (key.part === 'end') {
      if (code === 45) key.part = 'dashes'
      else if (!within(KEY_NAME, code)) return void (this.#key = undefined)
    } else if (code !== 45) return void (this.#key = undefined)
    this.#extend(key.match, this.#base + at + 1)
  }

  #match(from: number, to: number, kind: RedactKind): Match {
    return { from: this.#base + from, to: this.#base + to, kind, told: false }
  }

  #add(match: Match): void {
    const last = this.#matches.at(-1)
    if (match.isKey) this.#key = { match, part: 'body' }
    else if (match.run) match.run.match ??= match
    else if (last && last.from <= match.from && last.to >= match.to) return
    this.#matches.push(match)
  }

  /** Shows the text up to a position, and forgets it. */
  #show(to: number): string {
    const shown = this.#take(to)
    const least = Math.max(0, Math.min(to - this.#base, this.#at) - BEHIND)
    const gone = this.#spelling.edge(this.#base + least) - this.#base
    if (gone > 0) {
      this.#spelling.forget(this.#base + gone)
      this.text = this.text.slice(gone)
      this.#base += gone
      this.#at -= gone
      this.#length -= gone
    }
    return shown
  }

  /** Hands the text up to a position to its writer, with what hides each part of it. */
  #take(end: number): string {
    const to = this.#spelling.edge(end)
    const rank = ({ kind }: Match) => KINDS.indexOf(kind)
    this.#matches.sort((a, b) => a.from - b.from || rank(a) - rank(b))
    let shown = ''
    let count = 0
    for (const match of this.#matches) {
      if (match.from >= to) break
      count++
      match.told = true
      const isNew = match.from >= this.#masked && match.to > this.#shown
      // After a pause, what is shown already stays.
      shown += this.#write(Math.min(isNew ? match.from : this.#masked, to))
      if (isNew) this.#isUnwritten = true
      if (isNew || match.to > this.#masked) this.#kind = match.kind
      this.#masked = Math.max(this.#masked, match.to)
    }
    this.#matches.splice(0, count)
    return shown + this.#write(to)
  }
  /** The kind of the last match, and whether none of its characters was written. */
  #kind: RedactKind = 'value'
  #isUnwritten = false

  /** Writes the text up to a position: what a match hides, then what is shown. No escape is parted. */
  #write(end: number): string {
    const to = this.#spelling.edge(end)
    const hidden = Math.min(this.#spelling.edge(this.#masked, true), to)
    let written = ''
    if (this.#shown < hidden) {
      const text = this.#came(hidden)
      written += this.#writer.take(text, this.#kind, this.#isUnwritten)
      if (text !== '') this.#isUnwritten = false
    }
    if (this.#shown < to) written += this.#writer.take(this.#came(to), undefined, false)
    return written
  }

  /** The text as it came from what is shown to a position, which is shown then. */
  #came(to: number): string {
    const from = Math.max(this.#spelling.rawAt(this.#shown), this.#rawShown)
    this.#shown = to
    return this.#spelling.slice(from, to)
  }
}

/** Whether a word is one of its own, or a part of a name in camel case. */
const isOwn = (text: string, from: number, to: number) =>
  (!/[a-z]{2}|[A-Z][^a-z]/.test(back(text, from + 1, 2)) || opened(text, from)) &&
  !/[a-z]/.test(text.charAt(to))
/** `→` and `│`, before which numbers of lines stand. */
const isLine = (code: number) => code === 0x2192 || code === 0x2502
/** Addresses of repositories, and of pictures in two sizes. */
const isFile = (address: string) => /^git@|@\dx\.[a-z]+$/.test(address)
