// What a turn waits for: the user's word.
import { byId, element, short } from '../dom.js'

/**
 * Shows what is to be decided.
 * @param {{ title: string, about: string,
 *   items?: { call: object, result?: object, mayChange?: boolean, mayWrite?: boolean }[],
 *   choices?: { label: string, primary?: boolean, act: () => void }[] }} what
 * @returns {string} its title
 */
export function showDecision({ title, about, items = [], choices = [] }) {
  byId('decision-title').textContent = title
  byId('decision-about').textContent = about
  byId('decision-items').replaceChildren(...items.map(item))
  const buttons = choices.map(({ label, primary, act }) => {
    const button = element('button', { type: 'button', className: primary ? 'primary' : '' }, label)
    button.addEventListener('click', act)
    return button
  })
  byId('decision-choices').replaceChildren(...buttons)
  byId('decision').hidden = false
  return title
}

export function clearDecision() {
  byId('decision').hidden = true
  byId('decision-choices').replaceChildren()
}

/** The button that goes on, for the focus. */
export const firstChoice = () => byId('decision-choices').querySelector('button')

/** What the user wants of the results, as `resumeTurn` takes it. */
export const revisions = () =>
  [...byId('decision-items').children].map(({ revision }) => revision?.()).filter(Boolean)

function item({ call, result, mayChange, mayWrite }) {
  const found = result?.error?.message ?? result?.result
  const own = mayChange ? choiceOf(result, mayWrite) : []
  const made = element(
    'li',
    {},
    element('code', {}, `${call.name}(${short(call.args)})`),
    result ? ` ${result.status}: ` : '',
    result ? element('code', {}, short(found ?? 'nothing')) : '',
    ...own,
  )
  const [label, text] = own
  made.revision = () => {
    const wanted = label?.querySelector('select').value
    if (wanted === 'nothing') return { toolCallId: result.toolCallId, drop: true }
    return wanted === 'text' && { toolCallId: result.toolCallId, result: text.value }
  }
  return made
}

/** Whether the model reads the result, nothing of it, or what the user writes instead. */
function choiceOf({ name }, mayWrite) {
  const text = element('input', { type: 'text', hidden: true, ariaLabel: `Instead of ${name}` })
  const written = mayWrite && { text: 'what I write:' }
  const choices = { result: 'this result', nothing: 'nothing of it', ...written }
  const select = element('select')
  for (const [value, words] of Object.entries(choices)) {
    select.append(element('option', { value }, words))
  }
  select.addEventListener('change', () => {
    text.hidden = select.value !== 'text'
    if (!text.hidden) text.focus()
  })
  return [element('label', { className: 'reads' }, 'The model reads ', select), text]
}
