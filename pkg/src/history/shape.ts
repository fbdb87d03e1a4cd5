/** What an element of a history has that no shape is known for. */
import { isObject } from '../checks.js'

/**
 * The message of an error, with the element that it is about: such as `{ role: "human", text: string }`.
 *
 * @param from the place of the first of `elements` in the history
 */
export const explained = (message: string, elements: readonly unknown[], from = 0): string =>
  // The core does not keep what it refuses.
  message.replace(
    /^message (\d+) has no known shape$/,
    (told, place: string) => `${told}: ${shapeOf(elements[Number(place) - from])}`,
  )

function shapeOf(element: unknown): string {
  if (!isObject(element)) return kindOf(element)
  const members = Object.entries(element).slice(0, 8)
  return `{ ${members.map(([name, value]) => `${cut(name)}: ${shown(name, value)}`).join(', ')} }`
}

/** A role or a type is told, other members only by their kind: they may be the user's words. */
const shown = (name: string, value: unknown) =>
  /^(role|type)$/.test(name) && typeof value === 'string' ? `"${cut(value)}"` : kindOf(value)

const cut = (text: string) => text.slice(0, 40)

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value
