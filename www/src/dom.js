// Small helpers: text only ever becomes text, never markup.

/** An element with properties and children. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

export const byId = (id) => document.getElementById(id)

/** A value as short JSON. */
export function short(value, most = 300) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** Keeps a list at its end while it grows, unless the reader has scrolled back. */
export function follow(list, grow) {
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40
  grow()
  if (atEnd) list.scrollTop = list.scrollHeight
}

/** Element → the list that it is in, and the text that is on its way into it. */
const waiting = new Map()
let due

/**
 * Appends a piece of a streamed text, with the others of this frame: a layout for each of ten thousand
 * pieces would take a minute.
 */
export function stream(list, into, text) {
  const entry = waiting.get(into)
  if (entry) entry.text += text
  else waiting.set(into, { list, text })
  // A hidden tab has no frames.
  due ??= { frame: requestAnimationFrame(settle), timer: setTimeout(settle, 250) }
}

/** Puts what is on its way where it belongs: before it is read, or something else follows. */
export function settle() {
  if (!due) return
  cancelAnimationFrame(due.frame)
  clearTimeout(due.timer)
  due = undefined
  const all = [...waiting]
  waiting.clear()
  for (const [into, { list, text }] of all) follow(list, () => into.append(text))
}

/** `1 call`, `2 calls`. */
export const many = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`
