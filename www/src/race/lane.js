// One side of the race: a glyph for each step, in order. Shape, colour and word differ by kind.
import { element } from '../dom.js'

const WORDS = {
  model: 'model call',
  run: 'tool ran',
  again: 'the same call ran again',
  refused: 'call refused',
  answer: 'answer',
  cap: 'cap reached, no answer',
  lost: 'no answer',
}

const PHASES = { tool_phase: 'tool phase', action_phase: 'action phase: no tools' }

/**
 * Draws the steps, hidden: `reveal(n)` shows the first `n`.
 * @param {HTMLElement} place
 * @param {object[]} steps
 * @param {(step: object) => void} choose is told which step was clicked
 */
export function drawLane(place, steps, choose) {
  const glyphs = steps.map((step, at) => glyph(step, at, steps.length, choose))
  const bands = []
  for (const [at, step] of steps.entries()) {
    const before = at > 0 ? steps[at - 1].phase : undefined
    if (at === 0 || step.phase !== before) bands.push(band(step.phase))
    bands
      .at(-1)
      .querySelector('ol')
      .append(element('li', {}, glyphs[at]))
  }
  place.replaceChildren(...bands)
  // One stop for the Tab key; arrows lead from step to step.
  place.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = glyphs.indexOf(document.activeElement)
    const next = glyphs[at + by]
    if (!by || at < 0 || !next) return
    event.preventDefault()
    glyphs[at].tabIndex = -1
    next.tabIndex = 0
    next.focus()
  }
  return {
    reveal(count) {
      for (const [at, one] of glyphs.entries()) one.classList.toggle('shown', at < count)
    },
  }
}

function band(phase) {
  const list = element('ol', { className: 'steps' })
  const name = PHASES[phase]
  if (!name) return element('div', { className: 'band plain' }, list)
  return element(
    'div',
    { className: 'band' },
    element('p', { className: 'phase-name' }, name),
    list,
  )
}

function glyph(step, at, of, choose) {
  const made = element('button', { type: 'button', className: `glyph ${step.kind}` })
  made.tabIndex = at === 0 ? 0 : -1
  made.append(element('span', { className: 'shape' }))
  const called = step.name ? `: ${step.name}` : ''
  made.setAttribute('aria-label', `${at + 1} of ${of}: ${WORDS[step.kind]}${called}`)
  made.title = `${WORDS[step.kind]}${called}`
  made.addEventListener('click', () => choose(step))
  return made
}
