// The elements of the history, each with the marks of what concerns it.
import { byId, element, short } from '../dom.js'
import { pretty } from './json.js'

/** What a reader calls the element: its role or type, or the class that LangChain names. */
function kind(item) {
  const constructed = item?.lc && Array.isArray(item.id) ? item.id.at(-1) : undefined
  const name = item?.role ?? constructed ?? item?.type
  if (typeof name === 'string') return short(name, 40)
  return item === null ? 'null' : Array.isArray(item) ? 'array' : typeof item
}

/** `marks`: index → `{ kind, text, row }`; a mark leads to its row, as the row leads here. */
export function showElements(history, marks) {
  const items = history.map((item, index) => {
    const itemMarks = marks.get(index) ?? []
    const chips = itemMarks.map(({ kind: tone, text, row }) => {
      const chip = element('button', { type: 'button', className: `mark ${tone}` }, text)
      chip.addEventListener('click', () => reveal(row))
      return chip
    })
    const bad = itemMarks.some(({ kind: tone }) => tone === 'bad')
    const touched = itemMarks.length ? (bad ? 'bad' : 'refused') : ''
    return element(
      'li',
      { id: `element-${index}`, className: touched, tabIndex: -1 },
      element(
        'span',
        { className: 'row' },
        element('strong', {}, `${index} ${kind(item)}`),
        ...chips,
      ),
      element('pre', {}, pretty(item)),
    )
  })
  const none = element('li', { className: 'hint' }, 'Nothing to list.')
  byId('elements').replaceChildren(...(items.length ? items : [none]))
}

export const elementAt = (index) => byId(`element-${index}`)

/** Brings something into sight, points at it and puts the focus on it. */
export function reveal(target) {
  for (const other of document.querySelectorAll('#doctor .pointed')) {
    other.classList.remove('pointed')
  }
  target.classList.add('pointed')
  // Its list first, to its beginning: it may be longer than the list is high.
  const list = target.parentElement
  list.scrollTop = target.offsetTop - list.offsetTop
  target.scrollIntoView({ block: 'nearest' })
  target.focus({ preventScroll: true })
}
