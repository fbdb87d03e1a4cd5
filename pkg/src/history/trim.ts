/** Trims a history to a bound, by whole turns. */
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import { answer, encode } from '../core/instance.js'
import { history as part } from '../core/parts/history.js'
import type { TrimOptions } from '../generated/history.js'
import { TRIM_OPTIONS } from '../generated/rows.js'
import { normalizeHistory } from './history.js'
import { readOptions } from '../options.js'
import { writeTape } from './tape.js'
import { stringify } from '../shared/text.js'

export type { TrimOptions }

type Measures = Pick<TrimOptions, 'dialect' | 'countTokens'>

/** A history that was trimmed. */
export interface TrimmedHistory<Element = unknown> {
  /** The elements that stay, as they were given. */
  history: Element[]
  /** What was left out: the elements `from` up to, and without, `to`, as `slice` takes them. */
  dropped: { from: number; to: number }[]
  /** The tokens of what stays, if tokens are bounded or counted. */
  tokens?: number
}

/** Bytes of JSON text that count as one token where the host does not count them. */
const TOKEN_BYTES = 3
/**
 * How many parts of the bound are left out at once. The cut then stays where it is while the history
 * grows by such a part, and the provider's prompt cache stays valid.
 */
const PARTS = 4

/**
 * Leaves out the oldest turns until the request fits. Turns are left out whole, so no call loses its
 * result. Instructions, the latest turn and the turns of pinned elements stay, even above the bound.
 * What is measured is the JSON text of the normalized messages and the system prompt.
 *
 * More is left out at once than needed, up to a quarter of the bound, so that the beginning of the
 * request stays the same for a while.
 *
 * @example
 * const { history, dropped } = trimHistory(all, { dialect: 'anthropic', maxTokens: 100_000 })
 *
 * @throws TurnlockError as `normalizeHistory`; `options.invalid` for bounds that are no positive integers,
 * and for counts that are no numbers from 0 on
 */
export function trimHistory<Element>(
  history: readonly Element[],
  options: TrimOptions<Element>,
): TrimmedHistory<Element> {
  options = readOptions(options, TRIM_OPTIONS)
  const { dialect, keep, countTokens } = options
  checkFunctions({ keep, countTokens })
  const [maxBytes, maxTokens] = [bound('maxBytes', options), bound('maxTokens', options)]
  const units = turns(history, dialect)
  const last = units.reduce<number>((most, unit) => Math.max(most, unit ?? 0), 0)
  const stays = new Set([last])
  history.forEach((element, index) => {
    const unit = units[index]
    if (unit != null && keep?.(element, index)) stays.add(unit)
  })
  const size = (part: readonly Element[]) => measured(part, options)
  /** The part of the bound that is used; of two bounds, the larger part. */
  const part = ({ bytes, tokens }: Size) => Math.max(bytes / maxBytes, tokens / maxTokens)
  const holds = ({ bytes, tokens }: Size) => bytes <= maxBytes && tokens <= maxTokens
  let cut = 0
  const left = (unit: number | null | undefined) => unit == null || unit >= cut || stays.has(unit)
  const rest = () => history.filter((_, index) => left(units[index]))

  let whole = size(history)
  if (!holds(whole)) {
    const free = Array.from({ length: last + 1 }, (_, unit) => unit).filter((u) => !stays.has(u))
    const costs = free.map((unit) => part(size(history.filter((_, at) => units[at] === unit))))
    for (const end of cuts(costs, part(whole))) {
      cut = (free[end - 1] ?? -1) + 1
      whole = size(rest())
      if (holds(whole)) break
    }
  }

  const dropped: TrimmedHistory['dropped'] = []
  history.forEach((_, index) => {
    if (left(units[index])) return
    const before = dropped.at(-1)
    if (before?.to === index) before.to++
    else dropped.push({ from: index, to: index + 1 })
  })
  const counted = options.maxTokens !== undefined || options.countTokens !== undefined
  return { history: rest(), dropped, ...(counted && { tokens: whole.tokens }) }
}

/**
 * How many of the oldest units to try to leave out, the fewest first. A cut is made only where the
 * cost from the beginning passes a quarter of the bound, or behind all units. The first cuts are
 * left out that cannot suffice.
 */
function cuts(costs: number[], whole: number): number[] {
  let before = 0
  return costs.flatMap((cost, at) => {
    const passes = Math.floor((before + cost) * PARTS) > Math.floor(before * PARTS)
    before += cost
    return at + 1 === costs.length || (passes && whole - before <= 1) ? [at + 1] : []
  })
}

/** What a part of a history costs. */
interface Size {
  bytes: number
  tokens: number
}

function measured(history: readonly unknown[], { dialect, countTokens }: Measures): Size {
  const { messages, system } = normalizeHistory(history, { dialect })
  const size = { bytes: messages.length + 1, tokens: 0 }
  for (const message of system === undefined ? messages : [...messages, system]) {
    const text = JSON.stringify(message)
    const bytes = encode(text).length
    size.bytes += bytes
    size.tokens += countTokens ? count(countTokens(text)) : Math.ceil(bytes / TOKEN_BYTES)
  }
  return size
}

function count(tokens: unknown): number {
  if (typeof tokens === 'number' && tokens >= 0) return tokens
  throw wrong('countTokens', 'to return a number from 0 on')
}

function bound(
  name: 'maxBytes' | 'maxTokens',
  options: Pick<TrimOptions, 'maxBytes' | 'maxTokens'>,
): number {
  const most = options[name]
  if (most === undefined) return Infinity
  if (Number.isInteger(most) && most >= 1) return most
  throw wrong(name, 'an integer of at least 1')
}

/** The turn of each element; null for instructions. */
function turns(history: readonly unknown[], dialect: TrimOptions['dialect']): (number | null)[] {
  if (!Array.isArray(history)) {
    throw wrong('history', 'a list')
  }
  const given = encode(stringify({ dialect }))
  const { numbers, text } = writeTape(history, [], false)
  const told = part.call((glue) => glue.history_turns(given, numbers, encode(text)))
  return JSON.parse(answer(told)) as (number | null)[]
}
