// Beneath the race: a turn of "One turn" that may be reloaded, watched from a second tab, approved.
// What happens to it is told there; here are its counters and buttons.
import { byId, element } from '../dom.js'
import { onRemembered } from '../kept.js'
import { runs } from '../tools.js'

/** @param {(preset: string) => void} play starts a preset of "One turn" */
export function setUpSurvive(play) {
  byId('survive-slow').addEventListener('click', () => play('Reload in between'))
  byId('survive-ask').addEventListener('click', () => play('Answer, and send a note'))
  byId('survive-reload').addEventListener('click', () => location.reload())
  byId('survive-tab').addEventListener('click', () => open(location.href, '_blank', 'noopener'))
  onRemembered(count)
  const mirror = new MutationObserver(show)
  const deep = { childList: true, subtree: true, characterData: true, attributes: true }
  for (const id of ['status', 'decision']) mirror.observe(byId(id), deep)
  show()
  count()
}

function count() {
  const counted = runs().map(([name, { started, finished }]) => {
    return element('li', {}, `${name}: started ${started}, finished ${finished}`)
  })
  byId('survive-runs').replaceChildren(...counted)
}

/** The line of the turn, and what it asks. */
function show() {
  byId('survive-said').textContent =
    byId('status').textContent || 'Start one, then reload in the middle of it.'
  const asks = byId('decision').hidden ? [] : [...byId('decision-choices').children]
  const hadFocus = byId('survive-choices').contains(document.activeElement)
  byId('survive-choices').replaceChildren(
    ...asks.map((choice) => {
      const copy = element('button', { type: 'button', className: choice.className })
      copy.textContent = choice.textContent
      copy.addEventListener('click', () => choice.click())
      return copy
    }),
  )
  if (hadFocus) (byId('survive-choices').firstChild ?? byId('survive-slow')).focus()
}
