// When each step ran, as bars on one axis of time.
import { byId, element } from '../dom.js'

const SVG = 'http://www.w3.org/2000/svg'
const WIDTH = 1000
const shape = (tag, attributes) => {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  return made
}

export class Gantt {
  #since = performance.now()
  #rows = new Map()

  /** A row for each step, in the order of the plan. */
  constructor(ids) {
    this.add(ids)
    this.#draw()
  }

  add(ids) {
    for (const id of ids) if (!this.#rows.has(id)) this.#rows.set(id, {})
  }

  started(id) {
    this.add([id])
    this.#rows.get(id).from = this.#now()
    this.#draw()
  }

  done(id, state) {
    this.add([id])
    Object.assign(this.#rows.get(id), { to: this.#now(), state })
    this.#draw()
  }

  #now() {
    return performance.now() - this.#since
  }

  #draw() {
    const rows = [...this.#rows]
    const ends = rows.map(([, { from, to }]) => to ?? from ?? 0)
    const total = Math.max(1, ...ends)
    byId('chain-gantt').replaceChildren(
      ...rows.map(([id, row]) => element('li', {}, `${id}`, bar(row, total), label(row))),
    )
    byId('chain-together').textContent = together(rows.map(([, row]) => row))
  }
}

function bar({ from, to, state }, whole) {
  const svg = shape('svg', {
    viewBox: `0 0 ${WIDTH} 10`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  })
  if (from === undefined) return svg
  const x = (from / whole) * WIDTH
  const width = Math.max(4, ((to ?? whole) / whole) * WIDTH - x)
  const rect = shape('rect', { x, y: 0, width, height: 10 })
  rect.dataset.state = state ?? 'running'
  svg.append(rect)
  return svg
}

function label({ from, to, state }) {
  const text =
    from === undefined
      ? (state ?? 'waits')
      : to === undefined
        ? 'runs'
        : `${Math.round(to - from)} ms`
  return element('small', {}, text)
}

/** How many ran at once at most: what the slider bounds. */
function together(rows) {
  const ran = rows.filter(({ from }) => from !== undefined)
  const at = ran.map(
    ({ from }) => ran.filter((row) => row.from <= from && (row.to ?? Infinity) > from).length,
  )
  return at.length ? `${Math.max(...at)} at once at most.` : ''
}
