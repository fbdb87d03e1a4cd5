// The graph of a plan: a column of steps for each wave, and an edge for each dependency.
import { element, short } from '../dom.js'

const SVG = 'http://www.w3.org/2000/svg'

/** States in which a step hands nothing on. */
const BROKEN = ['failed', 'skipped', 'cycle']

export class Graph {
  #place
  #onBreak
  #steps = new Map()
  #edges = []
  #lines

  /** `onBreak(id)`: the button of a step was pressed. */
  constructor(place, onBreak) {
    this.#place = place
    this.#onBreak = onBreak
    new ResizeObserver(() => this.#route()).observe(place)
  }

  /** The plan as `parsePlan` returns it; steps of `cycle` are drawn as what is wrong. */
  draw({ waves, steps }, { broken = '', cycle = false } = {}) {
    const before = this.#steps
    const stepById = new Map(steps.map((step) => [step.id, step]))
    const columns = waves.map((wave) =>
      wave.map((id) => [id, before.get(id) ?? this.#card(stepById.get(id), broken)]),
    )
    this.#steps = new Map(columns.flat())
    this.#lines = document.createElementNS(SVG, 'svg')
    this.#lines.setAttribute('aria-hidden', 'true')
    this.#edges = steps.flatMap(({ id, depends_on: needs }) =>
      needs.filter((from) => stepById.has(from)).map((from) => this.#edge(from, id)),
    )
    const lists = columns.map((column, at) => {
      const list = element('ol', {}, ...column.map(([, card]) => card))
      list.setAttribute('aria-label', `Wave ${at + 1}`)
      return list
    })
    this.#place.replaceChildren(this.#lines, ...lists)
    if (cycle) for (const id of this.#steps.keys()) this.mark(id, 'cycle')
    this.#route()
  }

  clear() {
    this.#steps = new Map()
    this.#edges = []
    this.#place.replaceChildren()
  }

  get ids() {
    return [...this.#steps.keys()]
  }

  mark(id, state, detail = '') {
    const card = this.#steps.get(id)
    if (!card) return
    card.dataset.state = state
    const stateLabel = card.querySelector('.state')
    stateLabel.textContent = detail ? `${state}: ${detail}` : state
    stateLabel.title = detail
    for (const { from, path } of this.#edges) {
      if (from !== id) continue
      path.dataset.state = BROKEN.includes(state) ? 'cut' : state === 'done' ? 'done' : 'waiting'
    }
  }

  #card({ id, type, query, focus, depends_on: needs, when }, broken) {
    const facts = [needs.length ? `after ${needs.join(', ')}` : '', when ? `if ${when}` : '']
    const button = element(
      'button',
      { type: 'button', ariaPressed: String(String(id) === broken) },
      'Make it fail',
    )
    button.setAttribute('aria-label', `Make it fail: step ${id}`)
    button.addEventListener('click', () => this.#onBreak(id))
    const card = element(
      'li',
      {},
      element('strong', {}, `${id} ${type}`),
      element('small', {}, query || focus),
      element('small', {}, facts.filter(Boolean).join('; ')),
      element('small', { className: 'state' }, 'pending'),
      // An answer is made of what there is: only what searches can be made to fail.
      ...(type === 'synthesize' ? [] : [button]),
    )
    card.dataset.state = 'pending'
    return card
  }

  #edge(from, to) {
    const path = document.createElementNS(SVG, 'path')
    path.dataset.state = 'waiting'
    path.dataset.edge = `${from} ${to}`
    this.#lines.append(path)
    return { from, to, path }
  }

  /** Puts each edge between the two steps where they stand now. */
  #route() {
    if (!this.#edges.length) return
    const { scrollWidth, scrollHeight } = this.#place
    this.#lines.setAttribute('viewBox', `0 0 ${scrollWidth} ${scrollHeight}`)
    this.#lines.setAttribute('width', scrollWidth)
    this.#lines.setAttribute('height', scrollHeight)
    for (const { from, to, path } of this.#edges) {
      const [a, b] = [this.#box(from), this.#box(to)]
      const bend = Math.max(12, Math.abs(b.left - a.right) / 2)
      path.setAttribute(
        'd',
        `M${a.right} ${a.middle}C${a.right + bend} ${a.middle} ${b.left - bend} ${b.middle} ${b.left} ${b.middle}`,
      )
    }
  }

  #box(id) {
    const origin = this.#place.getBoundingClientRect()
    const { left, right, top, height } = this.#steps.get(id).getBoundingClientRect()
    const [x, y] = [this.#place.scrollLeft - origin.left, this.#place.scrollTop - origin.top]
    return { left: left + x, right: right + x, middle: top + y + height / 2 }
  }
}

/** A plan that the core refuses, as far as it can be drawn: every step in one wave. */
export function refusedPlan(text) {
  try {
    const { steps } = JSON.parse(text)
    const drawn = steps.map(({ id, type, query, focus, depends_on: needs }) => ({
      id,
      type: short(type ?? '', 20),
      query: short(query ?? '', 90),
      focus: short(focus ?? '', 90),
      depends_on: Array.isArray(needs) ? needs : [],
    }))
    return { waves: drawn.map(({ id }) => [id]), steps: drawn }
  } catch {
    return undefined
  }
}
