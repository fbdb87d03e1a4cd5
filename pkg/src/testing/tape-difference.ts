/** How a request differs from a recorded one. */
import type { TapeRequest } from './model-tape.js'

/** A place where two requests differ. */
export interface TapeDifference {
  /** `method`, `url`, or `body` with a JSON Pointer. */
  path: string
  /** JSON of the recorded value, cut around the first difference; `null` if there is none. */
  recorded: string | null
  /** The same of the request. */
  requested: string | null
}

/** Places of one request that are listed. */
const MOST = 20
/** Characters of a value that are shown, and those of them before the first difference. */
const SHOWN = 60
const BEFORE = 20

/** Where a request differs from a recorded one: at most 20 places. */
export function difference(recorded: TapeRequest, requested: TapeRequest): TapeDifference[] {
  const found: TapeDifference[] = []
  for (const name of ['method', 'url'] as const)
    compare(name, recorded[name], requested[name], found)
  compare('body', recorded.body, requested.body, found)
  return found
}

function compare(path: string, was: unknown, is: unknown, found: TapeDifference[]): void {
  if (was === is || found.length >= MOST) return
  const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null
  if (isBranch(was) && isBranch(is) && Array.isArray(was) === Array.isArray(is)) {
    const [old, now] = [was, is] as Record<string, unknown>[]
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const step = name.replaceAll('~', '~0').replaceAll('/', '~1')
      compare(`${path}/${step}`, own(old, name), own(now, name), found)
    }
    return
  }
  const [old, now] = [textOf(was), textOf(is)]
  let at = 0
  while (at < Math.min(old?.length ?? 0, now?.length ?? 0) && old?.[at] === now?.[at]) at++
  found.push({ path, recorded: cutAround(old, at), requested: cutAround(now, at) })
}

const own = (value: Record<string, unknown> | undefined, name: string) =>
  value && Object.hasOwn(value, name) ? value[name] : undefined

const textOf = (value: unknown): string | null =>
  value === undefined ? null : JSON.stringify(value)

function cutAround(text: string | null, at: number): string | null {
  if (text === null || text.length <= SHOWN) return text
  const from = Math.max(0, Math.min(at - BEFORE, text.length - SHOWN))
  const end = from + SHOWN
  return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`
}
