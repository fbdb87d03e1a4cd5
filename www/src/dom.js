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
