// The chain view: what a query is taken for, the graph of its plan, and why the chain stopped. The
// planner is the text field; searches are made up in this page and take a moment each.
import { classifyQuery, runChain } from 'turnlock'
import { byId, element, short } from '../dom.js'
import { EXAMPLES } from './examples.js'

let running

export function setUpChain() {
  for (const name of Object.keys(EXAMPLES)) {
    byId('chain-example').append(element('option', { value: name }, name))
  }
  byId('chain-example').addEventListener('change', take)
  byId('chain-query').addEventListener('input', classify)
  byId('chain-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void run()
  })
  byId('chain-stop').addEventListener('click', () => running?.cancel('stopped by the user'))
  take()
}

/** Takes an example over. */
function take() {
  const { query, plan } = EXAMPLES[byId('chain-example').value]
  byId('chain-query').value = query
  byId('chain-plan').value = JSON.stringify(plan, null, 2)
  classify()
}

/** Says what the query is taken for, while it is written. */
function classify() {
  const query = byId('chain-query').value
  const found = classifyQuery(query)
  const item = (name, text) => element('li', {}, `${name}: ${text}`)
  byId('chain-class').replaceChildren(
    item('It is', `${found.complexity} (score ${found.score})`),
    item('Because of', found.indicators.join(', ') || 'nothing that asks for more'),
    item('It names', found.entities.join(', ') || 'nothing'),
  )
}

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

/** A search that finds something, unless it is the one that is to fail. */
async function search({ id, query, focus, signal }) {
  // A step that refines may have nothing but what to look at.
  const about = query || focus
  // Longer texts take longer, so that steps do not end in the order of their list.
  await pause(150 + (about.length % 7) * 60, signal)
  if (String(id) === byId('chain-fails').value.trim()) throw new Error('made to fail')
  return [`what was found for “${short(about, 60)}”`]
}

async function* words(text, signal) {
  for (const word of text.split(/(?<= )/)) {
    await pause(15, signal)
    yield word
  }
}

async function run() {
  running?.cancel('another one begins')
  const graph = new Graph(byId('chain-graph'))
  byId('chain-answer').textContent = ''
  byId('chain-stopped').textContent = ''
  byId('chain-status').textContent = 'The chain is at work…'
  const chain = start()
  if (!chain) return
  running = chain
  byId('chain-stop').disabled = false
  for await (const event of chain) {
    // Another one has begun, and the page is its own now.
    if (running !== chain) return
    graph.take(event)
    if (event.type === 'text') byId('chain-answer').textContent += event.chunk
    if (event.type === 'chain_stopped') byId('chain-stopped').textContent = reasonOf(event)
    if (event.type === 'complete') byId('chain-status').textContent = endOf(event)
  }
  byId('chain-stop').disabled = true
}

function start() {
  const number = (id) => Number(byId(id).value)
  const told = ({ results, missing }) =>
    `From ${results.length} results${missing.length ? `, without ${missing.length}` : ''}: ` +
    results.map(({ result }) => short(result, 120)).join(' ')
  try {
    return runChain({
      query: byId('chain-query').value,
      limits: {
        maxSteps: number('chain-steps'),
        maxParallel: number('chain-parallel'),
        maxRetries: 0,
      },
      plan: async ({ signal }) => {
        await pause(300, signal)
        return byId('chain-plan').value
      },
      search,
      refine: search,
      synthesize: (context) => words(told(context), context.signal),
      answer: ({ query, signal }) => words(`One call answers “${query}”.`, signal),
    })
  } catch (error) {
    byId('chain-status').textContent = `${error.code ?? error.name}: ${error.message}`
    return undefined
  }
}

const REASONS = {
  complete: 'what was found is enough',
  max_steps: 'as many steps as allowed were run',
  max_cost: 'the budget is spent',
  diminishing_returns: 'the last result is much worse than the one before it',
  plan_finished: 'every step of the plan has settled',
  cancelled: 'it was stopped',
}

const reasonOf = ({ reason, skipped }) =>
  `Stopped (${reason}): ${REASONS[reason]}.${skipped.length ? ` Not run: ${skipped.join(', ')}.` : ''}`

function endOf({ status, path, coverage, fellBack, durationMs }) {
  const share = `by a chain of steps, ${Math.round(100 * coverage)} % of them with a result`
  const way = path === 'chain' ? share : 'in one call'
  const why = fellBack ? ` (${fellBack.code}: ${fellBack.message})` : ''
  return `${status}, ${way}${why}, ${durationMs} ms`
}

/** The steps in columns: one for each wave. */
class Graph {
  #place
  #steps = new Map()

  constructor(place) {
    this.#place = place
    place.replaceChildren()
  }

  take(event) {
    if ('plan' in event) this.#draw(event.plan)
    const step = this.#steps.get(event.id)
    if (event.type === 'step_started') mark(step, 'running', event.query)
    if (event.type === 'step_done')
      mark(
        step,
        event.status,
        event.reason ?? short(event.result ?? event.error?.message ?? '', 90),
      )
    if (event.type !== 'chain_stopped') return
    for (const id of event.skipped) mark(this.#steps.get(id), 'skipped')
  }

  #draw({ waves, steps }) {
    const before = this.#steps
    const card = (id) => {
      const { type, query, focus, depends_on, when } = steps.find((step) => step.id === id)
      const facts = [
        depends_on.length ? `after ${depends_on.join(', ')}` : '',
        when ? `if ${when}` : '',
      ]
      const made = element(
        'li',
        {},
        element('strong', {}, `${id} ${type}`),
        element('small', {}, query || focus),
        element('small', {}, facts.filter(Boolean).join('; ')),
        element('small', { className: 'state' }, 'pending'),
      )
      made.dataset.state = 'pending'
      return before.get(id) ?? made
    }
    const columns = waves.map((wave) => wave.map((id) => [id, card(id)]))
    this.#steps = new Map(columns.flat())
    this.#place.replaceChildren(
      ...columns.map((column, at) => {
        const list = element('ol', {}, ...column.map(([, made]) => made))
        list.setAttribute('aria-label', `Wave ${at + 1}`)
        return list
      }),
    )
  }
}

function mark(step, state, detail = '') {
  if (!step) return
  step.dataset.state = state
  step.querySelector('.state').textContent = detail ? `${state}: ${detail}` : state
}
