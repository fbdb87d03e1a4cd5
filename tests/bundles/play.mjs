// Plays the tables of this folder through the public package, every replicate a model call to the
// scripted provider over HTTP. Runs in any JavaScript runtime: no `node:` import here.
import { playInLanes } from '../lanes.mjs'
import { fetchUpToTheCut } from '../provider/cut.mjs'

function assert(fact, what) {
  if (!fact) throw new Error(what)
}

/** Resolves when it is so; on a busy machine that may take its time. */
async function until(isSo, otherwise) {
  for (let tries = 0; !(await isSo()); tries++) {
    assert(tries < 6000, otherwise)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)
const short = (number) => (number === null ? null : Math.round(number * 1e4) / 1e4)

/** An event as a line. */
function line(event) {
  const { id = 'bundle', attempt } = event
  switch (event.type) {
    case 'replicate_started':
      return `started ${id}${attempt > 1 ? ` #${attempt}` : ''}`
    case 'replicate_done':
      return `done ${id} ${event.status}`
    case 'partial_summary':
      return `partial ${short(event.summary.confidence)}`
    case 'warning':
      return `warning ${event.code}${event.id ? ` ${id}` : ''}`
    case 'cancelled':
      return `cancelled ${id} ${event.reason}`
    case 'timeout':
      return `timeout ${id}`
    default:
      return `ready ${event.stopped ?? event.bundle.meta.stopped}`
  }
}

/** Settles in the order of places, or as the table says. */
class Order {
  #done = new Set()
  #waiting = []

  done(id) {
    this.#done.add(id)
    for (const go of this.#waiting.splice(0)) go()
  }

  async after(id, { after }) {
    const number = Number(id.slice(1))
    const wanted = after === undefined ? (number > 1 ? `r${number - 1}` : null) : after
    while (wanted && !this.#done.has(wanted)) {
      await new Promise((resolve) => this.#waiting.push(resolve))
    }
  }
}

/** Plays one scenario; throws what is wrong. */
async function playBundle({ turnlock, url, session }, scenario) {
  const { replicates, expect, options = {} } = scenario
  const order = new Order()
  const model = (id) =>
    turnlock.openaiChat({
      baseURL: `${url}/s/${session}-${id}/${encodeURIComponent(`bundle:${scenario.name}|${id}`)}/v1`,
      model: 'scripted',
      maxRetries: 0,
      ...(replicates[id]?.some((entry) => entry.then === 'cut') && { fetch: fetchUpToTheCut }),
    })
  const requests = async (id) => (await fetch(`${url}/s/${session}-${id}/requests`)).json()
  /** A connection that is to be seen closing has to be there first. */
  const othersAreAsked = async (id) => {
    for (const other of expect.closed ?? []) {
      if (other === id) continue
      await until(async () => (await requests(other)).length, `${other} was not asked`)
    }
  }
  const seeds = new Map()
  const replicate = async (context) => {
    seeds.set(context.id, context.seed)
    const entry = replicates[context.id][context.attempt - 1]
    const run = turnlock.replicateByModel({
      model: model(context.id),
      prompt: 'Judge {{text}}.',
      input: { text: 'this' },
    })
    const settled = await run(context).then(
      (result) => () => result,
      (error) => () => {
        throw error
      },
    )
    await order.after(context.id, entry)
    await othersAreAsked(context.id)
    return settled()
  }
  const events = []
  const take = (event) => {
    events.push(event)
    if (event.type === 'replicate_done') order.done(event.id)
    return line(event)
  }
  const played = scenario.turn
    ? await inTurn({ turnlock, model, replicate, options, take })
    : await alone({ turnlock, replicate, scenario, take })
  const { bundle } = played
  const { meta, summary } = bundle

  const lines = events.map(line)
  const list = (all) => all.map((one) => `    ${one}\n`).join('')
  assert(same(lines, expect.events), `wanted\n${list(expect.events)}  got\n${list(lines)}`)
  events.forEach((event, at) => {
    assert(event.seq === at + 1, 'seq')
    assert(event.metadata.source === (scenario.turn ? 'judge' : scenario.name), 'source')
  })
  assert(bundle.replicates.length === meta.started, 'one entry for each that was started')
  const order_ = bundle.replicates.every(({ id, seed }, at) => {
    return id === `r${at + 1}` && seed === meta.seeds[at] && seeds.get(id) === seed
  })
  assert(order_, 'ids and seeds')
  const wants = {
    confidence: () => short(summary.confidence),
    consensus: () => summary.consensus,
    valid: () => summary.valid_count,
    disagreements: () => summary.disagreements.map(({ field }) => field),
    usage: () => meta.usage.totalTokens,
    cost: () => meta.cost,
    model: () => meta.model,
    models: () => meta.per_replicate.map((one) => one.model),
    strategies: () => meta.per_replicate.map((one) => one.strategy),
  }
  for (const [name, get] of Object.entries(wants)) {
    if (!(name in expect)) continue
    assert(same(get(), expect[name]), `${name}: ${JSON.stringify(get())}`)
  }
  for (const id of Object.keys(replicates)) {
    // The seed goes along where the wire has a field for it.
    const { strategies = [] } = options
    const strategy = strategies[(Number(id.slice(1)) - 1) % strategies.length]
    const prompt = (strategy?.prompt ?? 'Judge {{text}}.').replace('{{text}}', 'this')
    for (const { body } of await requests(id)) {
      assert(body.seed === seeds.get(id), `seed of ${id}`)
      assert(body.model === (strategy?.model ?? 'scripted'), `model of ${id}: ${body.model}`)
      assert(body.messages.at(-1).content === prompt, `prompt of ${id}`)
    }
    if (!expect.closed?.includes(id)) continue
    // The provider sees the connection of a cancelled replicate close.
    const closed = async () => (await requests(id))[0]?.closedEarly
    await until(closed, `the connection of ${id} is still open`)
  }
}

async function alone({ turnlock, replicate, scenario, take }) {
  const { name, options, cancel } = scenario
  const running = turnlock.runBundle({ task: name, replicate, record: true, ...options })
  const events = []
  for await (const event of running) {
    events.push(event)
    if (take(event) === cancel?.after) running.cancel(cancel.reason)
  }
  const bundle = await running.result
  const again = await turnlock.replayBundle(running.recording)
  assert(same(again.result, bundle), 'the replay gives another bundle')
  assert(same(again.events, events), 'the replay gives other events')
  return { bundle }
}

/** The bundle as a tool: progress as events of the turn, one result for the model. */
async function inTurn({ turnlock, model, replicate, options, take }) {
  const judge = turnlock.bundleTool({
    name: 'judge',
    description: 'Judges.',
    ...options,
    replicate: (args, context) => {
      assert(same(args, { text: 'x' }), 'the arguments reach the replicate')
      return replicate(context)
    },
  })
  assert(judge.description.endsWith(turnlock.BUNDLE_HINT), 'the hint ships with the tool')
  const said = []
  const own = model('turn')
  const turn = turnlock.runTurn({
    model: { ...own, open: (request, more) => (said.push(request), own.open(request, more)) },
    messages: [{ role: 'user', content: 'go' }],
    tools: { judge },
  })
  let seq = 0
  let results
  for await (const event of turn) {
    assert(event.seq === ++seq, 'seq of the turn')
    if (event.type === 'tool_progress') {
      assert(event.toolCallId === 'c1' && event.name === 'judge', 'whose progress')
      take(event.data)
    }
    if (event.type === 'tool_results') results = event.toolResults
  }
  const { text, status } = await turn.result
  assert(status === 'complete' && text === 'Both say spam.', `${status}: ${text}`)
  const [{ result, truncated }] = results
  assert(!truncated && result.meta.encoding === 'delta', 'compact, and whole')
  const read = JSON.stringify(said[1].messages)
  assert(read.includes('pairwise_distance'), 'the model reads the bundle')
  assert(!read.includes('replicate_started'), 'and none of the progress')
  return { bundle: turnlock.expandBundle(result) }
}

/** Plays many. */
export function playAll({ turnlock, url, runtime }, scenarios) {
  // A bundle holds several connections at once, of which other runtimes have six.
  const lanes = runtime === 'node' ? 4 : 1
  return playInLanes({ runtime, lanes }, scenarios, (scenario, at) =>
    playBundle({ turnlock, url, session: `bundle-${runtime}-${at}` }, scenario),
  )
}
