// What a turn waits for: the user's word.
import { byId, element, short } from './dom.js'

/**
 * Shows what is to be decided.
 * @param {{ title: string, about: string, items?: { call: object, result?: object }[],
 *   choices?: { label: string, primary?: boolean, act: () => void }[] }} what
 * @returns {string} its title
 */
export function ask({ title, about, items = [], choices = [] }) {
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

export function unask() {
  byId('decision').hidden = true
  byId('decision-choices').replaceChildren()
}

/** The button that goes on, for the focus. */
export const firstChoice = () => byId('decision-choices').querySelector('button')

function item({ call, result }) {
  const found = result?.error?.message ?? result?.result
  return element(
    'li',
    {},
    element('code', {}, `${call.name}(${short(call.args)})`),
    result ? ` ${result.status}: ` : '',
    result ? element('code', {}, short(found ?? 'nothing')) : '',
  )
}
