// Violations and repairs as rows, each leading to its element.
import { byId, element } from '../dom.js'
import { elementAt, reveal } from './elements.js'

const code = (text) => element('code', {}, text)

/** A row; `place` is `{ label, go? }`, what its button says and does. */
function row(kind, title, { toolCallId, words, place }) {
  const made = element(
    'li',
    { className: kind, tabIndex: -1 },
    element('strong', {}, title),
    ...(toolCallId === undefined ? [] : [' call ', code(toolCallId)]),
    element('small', {}, words),
  )
  if (!place?.go) {
    if (place) made.prepend(element('span', { className: 'place' }, place.label))
    return made
  }
  const button = element('button', { type: 'button', className: 'place' }, place.label)
  made.prepend(button)
  made.classList.add('leads')
  made.addEventListener('click', ({ target }) => {
    // A text that was just marked is to be copied, not followed.
    if (target === button || getSelection().isCollapsed) place.go()
  })
  return made
}

/** An empty history has a finding, but no element to lead to. */
function placeOf(index, count) {
  const label = `Element ${index}`
  return index < count ? { label, go: () => reveal(elementAt(index)) } : { label }
}

/** A violation, and the mark that its element gets. */
function violated({ code: name, index, toolCallId, message }, count) {
  const place = placeOf(index, count)
  const made = row('bad', name, { toolCallId, words: message, place })
  return { index, kind: 'bad', text: name, row: made }
}

function repaired({ code: name, action, index, toolCallId, detail }, count) {
  const text = `${action}: ${name}`
  const place = placeOf(index, count)
  const made = row('refused', text, { toolCallId, words: detail, place })
  return { index, kind: 'refused', text, row: made }
}

function failed({ code: name, message, details = {} }, count) {
  const place = placeOfError(details, count)
  const made = row('bad', `Error: ${name}`, { words: message, place })
  return { index: details.index, kind: 'bad', text: name, row: made }
}

function placeOfError({ index, offset, line, column }, count) {
  if (index !== undefined) return placeOf(index, count)
  if (line === undefined) return undefined
  const go = () => {
    byId('history').focus()
    byId('history').setSelectionRange(offset, offset + 1)
  }
  return { label: `Line ${line}, column ${column}`, go }
}

/**
 * Shows both lists.
 * @returns {Map<number, object[]>} index → marks for the element
 */
export function showFindings({ history = [], violations = [], result, error }) {
  const count = history.length
  const wrong = violations.map((one) => violated(one, count))
  if (error) wrong.unshift(failed(error, count))
  const done = (result?.repairs ?? []).map((one) => repaired(one, count))
  fill('violations', wrong, result ? 'None.' : 'Not known.')
  fill('repairs', done, result ? 'Nothing to repair.' : 'Not known.')
  const marks = new Map()
  for (const mark of [...wrong, ...done]) {
    marks.set(mark.index, [...(marks.get(mark.index) ?? []), mark])
  }
  return marks
}

function fill(id, findings, none) {
  const rows = findings.map((one) => one.row)
  byId(id).replaceChildren(...(rows.length ? rows : [element('li', { className: 'hint' }, none)]))
  byId(`${id}-count`).textContent = rows.length || ''
}
