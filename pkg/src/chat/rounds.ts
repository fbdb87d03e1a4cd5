/** The rounds of a chat: what the user said, the answer, and other versions of both. */
import { plain, shownOf, textOf, type ChatMessage } from './message.js'
import { randomId } from '../shared/random.js'

/** What the user said, and the answer to it. Plain JSON. */
export interface Round {
  /** Elements of the history before the answer. The first round of a history may have no user's. */
  said: unknown[]
  /** The messages that show them. */
  shown: ChatMessage[]
  /** The turn that answered. */
  requestId?: string
  /** What the answer adds to the history. */
  elements: unknown[]
  /** The messages that show the answer. */
  answer: ChatMessage[]
  /** What followed: several where the user edited a message or asked for another answer. */
  next: Round[]
  /** Which of `next` is shown. */
  at: number
}

/** Makes a round. */
export const roundOf = (said: unknown[], shown: ChatMessage[]): Round => ({
  said,
  shown,
  elements: [],
  answer: [],
  next: [],
  at: 0,
})

/** A round of a new message of the user. */
export const saidNow = (element: unknown): Round =>
  roundOf([element], [plain(randomId(), 'user', textOf(element))])

const roleOf = (element: unknown) => (element as { role?: unknown } | null)?.role

/** Reads a history as rounds: each begins with a message of the user. */
export function roundsOf(history: readonly unknown[]): Round {
  const root = roundOf([], [])
  let last = root
  history.forEach((element, at) => {
    const shown = shownOf(element, at)
    if (
      roleOf(element) === 'user' &&
      roleOf(last.said.at(-1)) === 'user' &&
      !last.elements.length
    ) {
      last.said.push(element)
      last.shown.push(...shown)
    } else if (roleOf(element) === 'user') {
      last = add(last, roundOf([element], shown))
    } else {
      last.elements.push(element)
      last.answer.push(...shown)
    }
  })
  return root
}

/** Adds a round behind another one, and shows it. */
export function add(before: Round, round: Round): Round {
  before.at = before.next.push(round) - 1
  return round
}

/** The rounds that are shown, from the first one. */
export function pathOf(root: Round): Round[] {
  const path = [root]
  for (let round = root.next[root.at]; round; round = round.next[round.at]) path.push(round)
  return path
}

/** The messages of the rounds that are shown. A message with other versions says which one it is. */
export function messagesOf(root: Round): ChatMessage[] {
  const path = pathOf(root)
  return path.flatMap(({ shown, answer }, at) => {
    const { at: index = 0, next = [] } = path[at - 1] ?? {}
    if (next.length < 2) return [...shown, ...answer]
    const version = { index, count: next.length }
    return [...shown.map((message) => ({ ...message, version })), ...answer]
  })
}

/** The history of the rounds that are shown. */
export const historyOf = (root: Round): unknown[] =>
  pathOf(root).flatMap(({ said, elements }) => [...said, ...elements])

/** Whether elements are the beginning of what a turn adds; its last text may have been half there. */
export function isBeginningOf(tail: readonly unknown[], own: readonly unknown[]): boolean {
  return tail.every((element, at) => {
    const other = own[at]
    if (JSON.stringify(element) === JSON.stringify(other)) return true
    if (at < tail.length - 1 || !other || roleOf(other) !== roleOf(element)) return false
    return textOf(other).startsWith(textOf(element))
  })
}
