/**
 * Groups of events as one text, for stores that bill by row: a turn's row holds its last groups, so
 * that a commit of text writes one row. They are moved to a row of their own when they are many.
 *
 * @module
 */
import type { EventGroup } from './store.js'
import { pack, unpack } from './text.js'

/** Characters of groups in the row of a turn. A commit writes them again. */
export const TAIL = 64 * 1024

/** A group, to be appended to others: its `last`, the length of its text, the text. */
export function encodeGroup({ last, text }: EventGroup): string {
  const packed = pack(text)
  return `${last},${packed.length}:${packed}`
}

const HEAD = /(\d+),(\d+):/y

/** @throws Error for anything but groups */
export function decodeGroups(text: string): EventGroup[] {
  const groups: EventGroup[] = []
  for (let at = 0; at < text.length;) {
    HEAD.lastIndex = at
    const [head, last, length] = HEAD.exec(text) ?? []
    if (head === undefined) throw new Error('a row of events cannot be read')
    at += head.length + Number(length)
    if (at > text.length) throw new Error('a row of events is cut off')
    groups.push({ last: Number(last), text: unpack(text.slice(at - Number(length), at)) })
  }
  return groups
}
