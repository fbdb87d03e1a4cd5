// Plays chain tables (README.md) through the package. Web standards only: it runs in Node, workerd
// and Chromium.

import { byDialect, playInLanes } from '../lanes.mjs'
import { playSearch } from './search.mjs'

/**
 * Plays scenarios, whose callbacks ask no model, and the searches among them, which do, on the wires
 * of `byDialect`; one behind the other.
 */
export function playAll({ turnlock, url, runtime }, jobs) {
  const searches = byDialect(
    runtime,
    jobs.filter(({ documents }) => documents),
  )
  const tables = jobs.filter(({ documents }) => !documents)
  return playInLanes({ runtime, lanes: 1 }, [...tables, ...searches], async (job) => {
    const { scenario, dialect } = job
    const wrong = scenario
      ? await playSearch(turnlock, { ...scenario, url, runtime, dialect })
      : await play(turnlock, job)
    if (wrong.length) throw new Error([job.why, ...wrong].filter(Boolean).join('\n  '))
  })
}

const QUERY = 'Compare the two, and say which one came first.'

async function play({ runChain }, scenario) {
  const host = new Host(scenario)
  const chain = runChain(host.options())
  const events = []
  for await (const event of chain) {
    const name = nameOf(event)
    if (name !== 'text' || events.at(-1) !== 'text') events.push(name)
    if (name === scenario.cancelOn) chain.cancel('as scripted')
  }
  const result = await chain.result
  return [...compare(scenario.expect, seen(events, result, host.asked)), ...host.forgotten()]
}

function nameOf(event) {
  const { type, id, status, reason } = event
  if (type === 'step_done') return `${type} ${id} ${status}`
  return [type, { step_started: id, chain_stopped: reason, complete: status }[type]]
    .filter((part) => part !== undefined)
    .join(' ')
}

function seen(events, result, asked) {
  const of = (value) => Object.fromEntries(result.steps.map((step) => [step.id, value(step)]))
  const status = ({ status, reason, cached }) =>
    reason ? `${status}:${reason}` : cached ? `${status}:cached` : status
  const { path, stopped, coverage, text, cost } = result
  return {
    events,
    status: result.status,
    path,
    stopped,
    coverage,
    text,
    cost,
    asked,
    fellBack: result.fellBack?.code ?? null,
    steps: of(status),
    queries: of(({ query }) => query),
    costs: of(({ cost }) => cost),
  }
}

/** What is expected and is not so. Of steps, queries and costs only those that are named are compared. */
function compare(expected, found) {
  return Object.entries(expected).flatMap(([key, value]) => {
    const part = ['steps', 'queries', 'costs'].includes(key)
      ? Object.fromEntries(Object.keys(value).map((id) => [id, found[key][id]]))
      : found[key]
    const [want, got] = [sorted(value), sorted(part)]
    return want === got ? [] : [`${key}: expected ${want}, found ${got}`]
  })
}

const sorted = (value) =>
  JSON.stringify(value, (_, part) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )

/** The callbacks of a scenario. */
class Host {
  asked = {}
  #scenario
  #cache
  #counts = new Map()
  /** Opened when the step has settled. */
  #gates = new Map()

  constructor(scenario) {
    this.#scenario = scenario
    const entry = ({ key, value, ageMs }) => [sorted(key), { value, storedAt: Date.now() - ageMs }]
    if (scenario.cache) this.#cache = new Map(scenario.cache.map(entry))
  }

  options() {
    const { query = QUERY, options = {}, assess, replan, condition } = this.#scenario
    const { quality, short, enhance } = this.#scenario
    const { rollout, broken, ...own } = options
    const step = (kind) => async (context) => this.#step(kind, context)
    return {
      query,
      ...own,
      ...(rollout !== undefined && { enabled: rollout }),
      ...(broken && { breaker: { open: true, record() {} } }),
      ...(enhance && { enhance: ({ step }) => this.#count('enhance', enhance[step.id]) }),
      ...(this.#cache && { cache: this.#cache }),
      ...(this.#scenario.classify !== null && {
        classify: async () => this.#count('classify', this.#scenario.classify ?? 'complex'),
      }),
      ...(assess && {
        assess: async () => assess[Math.min(this.#next('assess'), assess.length - 1)],
      }),
      ...(replan && { replan: async () => replan[this.#next('replan')] ?? null }),
      ...(condition && {
        condition: async ({ id }) => this.#count('condition', condition[id]),
      }),
      answer: (context) => this.#write('answer', this.#scenario.answer, context),
      plan: async (context) => this.#planned(context),
      search: step('search'),
      ...(this.#scenario.refine !== false && { refine: step('refine') }),
      ...(quality && { quality: async (_, { id }) => this.#count('quality', quality[id]) }),
      ...(short && { summarizeResult: (_, { id }) => this.#count('summarizeResult', short[id]) }),
      synthesize: (context) =>
        context.final
          ? this.#write('synthesize', this.#scenario.synthesize, context)
          : this.#step('synthesize', context),
    }
  }

  /** Keys that should be in the cache and are not. */
  forgotten() {
    const missing = (this.#scenario.kept ?? []).filter((key) => !this.#cache.has(sorted(key)))
    return missing.map((key) => `not kept: ${sorted(key)}`)
  }

  #spend(id, spend) {
    const cost = this.#scenario.spends?.[id]
    if (cost !== undefined) spend(cost)
  }

  #count(kind, value) {
    this.#next(kind)
    return value
  }

  #next(kind) {
    const n = this.asked[kind] ?? 0
    this.asked[kind] = n + 1
    return n
  }

  async #planned({ signal, attempt, error, spend }) {
    this.#spend('plan', spend)
    const n = this.#next('plan')
    const { plans } = this.#scenario
    if (attempt !== n + 1 || n > 0 !== (error !== null)) throw new Error('attempt of the plan')
    const plan = plans ? plans[n] : this.#scenario.plan
    if (plan?.fails) throw new Error(plan.fails)
    if (plan?.hangs) await hanging(signal)
    return plan ?? null
  }

  async #step(kind, { id, query, task, signal, spend }) {
    this.#next(kind)
    this.#spend(id, spend)
    const call = this.#scenario.calls?.[id] ?? {}
    const n = this.#counts.get(id) ?? 0
    this.#counts.set(id, n + 1)
    if (call.hangs) await hanging(signal)
    for (const other of call.after ?? []) await this.#gate(other).open
    // Behind everything that this settles.
    setTimeout(this.#gate(id).tell)
    if (call.fails && n < (call.times ?? Infinity)) {
      throw Object.assign(new Error(call.fails), { retryable: call.retryable ?? true })
    }
    return 'returns' in call ? call.returns : [`${id}: ${query ?? task}`]
  }

  #gate(id) {
    if (!this.#gates.has(String(id))) {
      let tell
      const open = new Promise((resolve) => (tell = resolve))
      this.#gates.set(String(id), { open, tell })
    }
    return this.#gates.get(String(id))
  }

  async *#write(kind, script, { id, results = [], missing = [], spend }) {
    const n = this.#next(kind)
    this.#spend(id, spend)
    if (script?.fails && n < (script.times ?? Infinity)) throw new Error(script.fails)
    if (Array.isArray(script)) {
      for (const piece of script) {
        yield piece
        await new Promise((resolve) => setTimeout(resolve))
      }
      return
    }
    const ids = (list) => list.map(({ id }) => id).join(',')
    yield `from ${ids(results)}${missing.length ? ` without ${ids(missing)}` : ''}`
  }
}

const hanging = (signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
