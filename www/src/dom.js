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

/** `1 call`, `2 calls`. */
export const many = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`
