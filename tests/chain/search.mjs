// Chains end to end: scripted models over HTTP, a real full-text search, the built package.
import { chainHost } from './library.mjs'

const [COMPARE, FOLLOW, INVESTIGATE] = [
  'Compare the Ashby lighthouse and the Corran lighthouse: which one is older, and who built each?',
  'Who built the lighthouse on the island where the writer of The Long Tide was born?',
  'Investigate the Halcyon lamp oil: was it recalled, and if so, what was the cause of it?',
]

/** Plays one of the tests below; says what is wrong. */
export async function playSearch(turnlock, { name, url, documents, runtime, dialect }) {
  const session = `chain-${runtime}-${dialect}-${name.replaceAll(/\W/g, '-')}`
  const wrong = []
  const check = (ok, what) => ok || wrong.push(what)
  const run = async (query, own = {}) => {
    const searched = []
    const provider = { turnlock, url, session, dialect }
    const host = { ...chainHost({ ...provider, documents, searched }), ...own, query }
    const chain = turnlock.runChain(host)
    const events = []
    for await (const event of chain) events.push(event)
    const result = await chain.result
    check(events.filter(({ type }) => type === 'complete').length === 1, 'one terminal event')
    check(events.at(-1)?.type === 'complete', 'the terminal event comes last')
    const text = events.map((event) => (event.type === 'text' ? event.chunk : '')).join('')
    check(text === result.text, 'the text is what was streamed')
    return { events, result, searched }
  }
  const requests = async () => (await fetch(`${url}/s/${session}/requests`)).json()
  await TESTS[name]({ run, check, requests, turnlock })
  return wrong
}

const TESTS = {
  async 'a comparison searches side by side'({ run, check, requests }) {
    const { result, events } = await run(COMPARE)
    check(result.path === 'chain' && result.stopped === 'plan_finished', JSON.stringify(result))
    const order = events.map(({ type, id }) => `${type} ${id ?? ''}`)
    check(order.indexOf('step_started 2') < order.indexOf('step_done 1'), `${order}`)
    for (const fact of ['1843', 'Ida Thorne', '1861', 'Samuel Okoye']) {
      check(result.text.includes(fact), `${fact} is not in: ${result.text}`)
    }
    check((await requests()).length === 2, 'a plan and a synthesis, no other request')
  },

  async 'a chain follows what it finds'({ run, check, requests }) {
    const { result, searched } = await run(FOLLOW)
    check(searched[1] === 'lighthouse built engineer Veyra', `${searched}`)
    check(result.text.includes('Ida Thorne'), result.text)
    check(result.steps.map(({ status }) => status).join() === 'done,done,done,done', 'all done')
    check((await requests()).length === 2, 'two requests')
  },

  async 'a condition picks the way'({ run, check }) {
    const { result } = await run(INVESTIGATE)
    const status = Object.fromEntries(result.steps.map(({ id, status }) => [id, status]))
    check(status[2] === 'done' && status[3] === 'skipped', JSON.stringify(status))
    check(result.text.includes('supplier'), result.text)
  },

  async 'a simple query is one request'({ run, check, requests }) {
    const { result, searched } = await run('What is a causeway?')
    check(result.path === 'simple' && searched.length === 0, JSON.stringify(result))
    check((await requests()).length === 1, 'one request')
  },

  async 'a planner without a plan'({ run, check, requests }) {
    const query = 'Compare the tax rules of Veyra and Stell and how they have changed since 1900.'
    const { result } = await run(query)
    check(result.path === 'simple' && result.fellBack?.code === 'plan.syntax', 'falls back')
    check((await requests()).length === 3, 'the planner twice, then the answer')
  },

  async 'what was searched is not searched again'({ run, check }) {
    const cache = new Map()
    const first = await run(COMPARE, { cache })
    const second = await run(COMPARE, { cache })
    check(first.searched.length === 2 && second.searched.length === 0, 'from the cache')
    check(second.result.steps.filter(({ cached }) => cached).length === 2, 'marked as cached')
    check(first.result.text === second.result.text, 'the same answer')
  },

  async 'cancelled in the middle'({ run, check }) {
    const controller = new AbortController()
    let told = false
    const { result } = await run(COMPARE, {
      signal: controller.signal,
      search({ signal }) {
        signal.addEventListener('abort', () => (told = true))
        setTimeout(() => controller.abort('enough'))
        return new Promise(() => {})
      },
    })
    check(result.status === 'cancelled' && result.stopped === 'cancelled', result.status)
    check(result.error?.message === 'enough' && told, 'the search is told why')
  },

  async 'feedback is counted by pattern'({ check, turnlock }) {
    const feedback = turnlock.patternStats()
    const host = { ...NO_MODEL, query: COMPARE, feedback }
    const chain = turnlock.runChain(host)
    await chain.feedback(true)
    await chain.feedback(false)
    const { parallel } = feedback.export().patterns
    check(parallel.n === 1 && parallel.successes === 1, JSON.stringify(parallel))
    check(feedback.choose() === null, 'nothing is chosen without data')
  },
}

/** Callbacks that need no model. */
const NO_MODEL = {
  classify: () => 'complex',
  answer: () => 'x',
  plan: () => ({
    pattern: 'parallel',
    steps: [
      { id: 1, type: 'search', query: 'x' },
      { id: 2, type: 'search', query: 'y' },
    ],
  }),
  search: ({ query }) => [query],
  synthesize: () => 'done',
}

/** Their names. */
export const SEARCHES = Object.keys(TESTS)
