// What goes to the provider, and into the clipboard.
import { byId, element } from '../dom.js'
import { pretty } from './json.js'

/** The parts of a result that belong in a request, in the order of reading. */
const PARTS = {
  messages: 'Messages',
  system: 'System',
  toolConfig: 'Tool config',
  threadId: 'Thread id',
}

export function showOutput({ result, remaining }) {
  byId('copied').textContent = ''
  if (!remaining) {
    byId('output').replaceChildren(element('p', { className: 'hint' }, 'Nothing yet.'))
    return
  }
  const there = Object.keys(PARTS).filter((key) => result[key] !== undefined)
  byId('output').replaceChildren(
    element('p', { className: remaining.length ? 'failed' : 'hint' }, check(result, remaining)),
    ...there.flatMap((key) => part(key, result[key])),
  )
}

function check({ messages }, remaining) {
  if (!messages.length) return 'Nothing to send: the thread has it all.'
  if (!remaining.length) return 'Checked again: no violation.'
  const codes = remaining.map(({ code }) => code).join(', ')
  return `Checked again, it still breaks rules, a fault of Turnlock: ${codes}.`
}

function part(key, value) {
  const name = PARTS[key]
  const box = element('pre', { id: `output-${key}`, tabIndex: 0 }, pretty(value))
  box.setAttribute('role', 'region')
  box.setAttribute('aria-label', name)
  const button = element('button', { type: 'button' }, `Copy ${name.toLowerCase()}`)
  button.addEventListener('click', async () => {
    const copied = await copy(JSON.stringify(value, null, 2), name, box)
    if (copied) button.textContent = `Copied ${name.toLowerCase()}`
  })
  return [element('div', { className: 'row part' }, element('h3', {}, name), button), box]
}

async function copy(text, name, shown) {
  try {
    await navigator.clipboard.writeText(text)
    byId('copied').textContent = `${name}: copied.`
    return true
  } catch {
    // Not everywhere may a page write there; what is cut in the view must not be cut in the copy.
    shown.textContent = text
    getSelection().selectAllChildren(shown)
    byId('copied').textContent = `${name}: the browser forbids copying; the text is selected.`
    return false
  }
}
