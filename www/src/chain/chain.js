// The chain view: what a query is taken for, the graph of its plan, and why the chain stopped. The
// planner is the text field; searches are made up in this page and take a moment each.
import { classifyQuery, parsePlan, runChain } from 'turnlock/chain'
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, element, short } from '../dom.js'
import { EXAMPLES } from './examples.js'
import { Gantt } from './gantt.js'
import { Graph, refusedPlan } from './graph.js'

let running
let graph
let gantt

export function setUpChain() {
  for (const name of Object.keys(EXAMPLES)) {
    byId('chain-example').append(element('option', { value: name }, name))
  }
  graph = new Graph(byId('chain-graph'), breakStep)
  byId('chain-example').addEventListener('change', take)
  byId('chain-plan').addEventListener('input', draw)
  byId('chain-parallel').addEventListener('input', () => {
    byId('chain-parallel-value').textContent = byId('chain-parallel').value
    void run()
  })
  byId('chain-query').addEventListener('input', classify)
  byId('chain-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void run()
  })
  byId('chain-stop').addEventListener('click', () => running?.cancel('stopped by the user'))
  take()
  void run()
}

/** Makes a step fail, or no longer, and runs the chain to show what that takes down. */
function breakStep(id) {
  const field = byId('chain-fails')
  field.value = field.value.trim() === String(id) ? '' : String(id)
  void run()
  // The button that was pressed has been drawn again.
  byId('chain-graph')
    .querySelector(`[aria-label="Make it fail: step ${CSS.escape(String(id))}"]`)
    ?.focus()
}

/** Draws the plan of the text field, with nothing run. */
function draw() {
  const text = byId('chain-plan').value
  const broken = byId('chain-fails').value.trim()
  graph.clear()
  byId('chain-stopped').textContent = ''
  try {
    graph.draw(parsePlan(text, { maxSteps: Number(byId('chain-steps').value) }), { broken })
  } catch (error) {
    const plan = refusedPlan(text)
    if (plan) graph.draw(plan, { cycle: error.code === 'plan.cycle' })
    byId('chain-stopped').textContent =
      `${error.code ?? error.name}: ${error.message}. One call answers instead.`
  }
  gantt = new Gantt(graph.ids)
}

/** Takes an example over. */
function take() {
  const { query, plan } = EXAMPLES[byId('chain-example').value]
  byId('chain-query').value = query
  byId('chain-plan').value = JSON.stringify(plan, null, 2)
  byId('chain-fails').value = ''
  running?.cancel('another example')
  running = undefined
  byId('chain-stop').disabled = true
  byId('chain-answer').textContent = ''
  byId('chain-status').textContent = ''
  draw()
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
  return `what was found for “${short(about, 60)}”`
}

async function* words(text, signal) {
  for (const word of text.split(/(?<= )/)) {
    await pause(15, signal)
    yield word
  }
}

async function run() {
  running?.cancel('another one begins')
  draw()
  byId('chain-answer').textContent = ''
  byId('chain-status').textContent = 'The chain is at work…'
  const chain = start()
  if (!chain) return
  running = chain
  byId('chain-stop').disabled = false
  const log = new Log()
  showLog('chain', log)
  for await (const event of chain) {
    // Another one has begun, and the page is its own now.
    if (running !== chain) return
    log.add(event)
    show(event)
    if (event.type === 'text') byId('chain-answer').textContent += event.chunk
    if (event.type === 'chain_stopped') byId('chain-stopped').textContent = reasonOf(event)
    if (event.type === 'complete') {
      byId('chain-status').textContent = endOf(event)
      if (event.path !== 'chain' && !event.fellBack) {
        for (const id of graph.ids) graph.mark(id, 'unused', 'a simple question needs no plan')
      }
    }
  }
  byId('chain-stop').disabled = true
}

/** What an event says of the steps. */
function show(event) {
  if ('plan' in event) {
    graph.draw(event.plan, { broken: byId('chain-fails').value.trim() })
    gantt.add(graph.ids)
  }
  if (event.type === 'step_started') {
    graph.mark(event.id, 'running', event.query)
    gantt.started(event.id)
  }
  if (event.type === 'step_done') {
    const { id, status, reason, result, error } = event
    graph.mark(id, status, reason ?? short(result ?? error?.message ?? '', 90))
    gantt.done(id, status)
  }
  if (event.type !== 'chain_stopped') return
  for (const id of event.skipped) {
    graph.mark(id, 'skipped')
    gantt.done(id, 'skipped')
  }
}

function start() {
  const number = (id) => Number(byId(id).value)
  const resultsText = ({ results, missing }) =>
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
      synthesize: (context) => words(resultsText(context), context.signal),
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
  max_time: 'the time is over',
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
