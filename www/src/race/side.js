// One side of a race: what it has shown so far, and its numbers.
import { byId } from '../dom.js'

const kB = (bytes) =>
  bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`

/** A side of which so many steps are there. `id` is what the ids of its elements begin with. */
export function showSide(id, { reveal, steps, bytes, answer, ...all }, count) {
  reveal(count)
  const visible = steps.slice(0, count)
  const isOver = count >= steps.length
  const of = (...kinds) => visible.filter(({ kind }) => kinds.includes(kind)).length
  const put = (what, text) => (byId(`${id}-${what}`).textContent = text)
  put('models', of('model'))
  put('runs', of('run', 'again'))
  const repeats = isOver ? all.repeats : of('again')
  const refused = isOver ? all.refused : of('refused')
  const counts = [repeats && `${repeats} of them again`, refused && `${refused} refused`]
  put('runs-about', ['tool runs', ...counts.filter(Boolean)].join(', '))
  put('bytes', kB(isOver ? bytes : Math.round((bytes * of('model')) / (all.models || 1))))
  put('answer', isOver && answer ? `“${answer}”` : '–')
  const verdict = byId(`${id}-verdict`)
  verdict.className = `verdict ${!isOver ? '' : answer ? 'good' : 'bad'}`
  verdict.textContent = !isOver ? 'running' : answer ? '✓ Answered' : '✕ No answer'
}

/** Says what a step was, below `id`. */
export function inspect(id, { kind, phase, ...step }) {
  byId(`${id}-step`).hidden = false
  const details = { kind, ...(phase && { phase }), ...step }
  byId(`${id}-step-json`).textContent = JSON.stringify(details, null, 2)
}

/** Copies a text; without permission, it is selected. */
export async function copy(from, told) {
  try {
    await navigator.clipboard.writeText(from.textContent)
    told.textContent = 'Copied.'
  } catch {
    getSelection().selectAllChildren(from)
    told.textContent = 'Selected: press Ctrl+C.'
  }
}
