// Plays one scenario through the public package, against the scripted provider over HTTP.
// Runs in any JavaScript runtime: no `node:` import here.
//
// See README.md for the form of the tables and of the lines.
import { byDialect, modelOf, offered, playInLanes } from '../lanes.mjs'
import { fetchUpToTheCut } from '../provider/cut.mjs'

const TERMINAL = ['complete', 'paused', 'cancelled', 'error']
/** What `complete` and the result both say. */
const SHARED = [
  'text',
  'object',
  'fullContent',
  'blockedSignatures',
  'repeats',
  'usage',
  'composed',
  'finishReason',
  'rawFinishReason',
  'model',
]
const ORDER = { tool_phase: 0, unified: 0, action_phase: 1, complete: 2 }
/** Settles too late: when it is told that nobody waits any longer. */
const late = (signal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))

function assert(fact, what) {
  if (!fact) throw new Error(what)
}

/** Starts of a tool in a list of executions. */
const starts = (executed, name) => executed.filter((one) => one.startsWith(`${name} `)).length

/** A tool that behaves as the table says; `die` ends the simulated process. */
function toolOf({ defineTool, canonicalize }, conversationId, name, tool, executed, die) {
  const special = {
    undefined: () => undefined,
    cycle: () => {
      const ring = {}
      ring.self = ring
      return ring
    },
    bigint: () => ({ big: 1n }),
    function: () => () => 1,
  }
  return defineTool({
    description: name,
    inputSchema: tool.fills ? filling(tool.fills) : (tool.schema ?? { type: 'object' }),
    ...(tool.readOnly !== undefined && { readOnly: tool.readOnly }),
    ...(tool.idempotent !== undefined && { idempotent: tool.idempotent }),
    ...(tool.dedupe && { dedupe: tool.dedupe }),
    ...(tool.timeoutMs && { timeoutMs: tool.timeoutMs }),
    ...(tool.maxResultBytes && { maxResultBytes: tool.maxResultBytes }),
    ...(tool.untrusted && { untrusted: true }),
    ...(tool.maxCalls && { maxCalls: tool.maxCalls }),
    ...(tool.reuseMs && { reuseMs: tool.reuseMs }),
    ...(tool.needsApproval && { needsApproval: true }),
    ...(tool.denies && { needsApproval: async () => ({ decision: 'deny', reason: tool.denies }) }),
    ...(tool.action && { action: (args) => String(args[tool.action]) }),
    ...(tool.reconciles && {
      reconcile({ name: asked, args }, { idempotencyKey, signal }) {
        assert(asked === name && /^[0-9a-f]{64}$/.test(idempotencyKey), 'a call to reconcile')
        assert(executed.includes(`${name} ${canonicalize(JSON.stringify(args))}`), 'its arguments')
        if (tool.reconciles === 'hangs') return late(signal)
        if (tool.reconciles.throws) throw new Error(tool.reconciles.throws)
        const { result, error } = tool.reconciles
        return result === undefined && error === undefined ? undefined : tool.reconciles
      },
    }),
    execute: tool.page
      ? undefined
      : (args, { signal, reportUsage, conversationId: told }) => {
          assert(told === conversationId, 'conversationId of the context')
          executed.push(`${name} ${canonicalize(JSON.stringify(args))}`)
          if (starts(executed, name) <= (tool.crashes ?? 0)) return die()
          if (tool.hangs) return late(signal)
          if (tool.spends) reportUsage(tool.spends)
          if (tool.throws) throw new Error(tool.throws)
          if (tool.returnsText) return tool.returnsText.repeat.repeat(tool.returnsText.times)
          return tool.special ? special[tool.special]() : tool.returns
        },
  })
}

/** A schema of which the validator adds members that are not there. */
const filling = (fills) => ({
  '~standard': {
    version: 1,
    vendor: 'table',
    jsonSchema: { input: () => ({ type: 'object' }) },
    validate: (args) => ({ value: { ...fills, ...args } }),
  },
})

/** Events as lines. */
class Reduction {
  #lines = []
  #known
  /** What happens in one batch: it is told call by call, and written in the order of the calls. */
  #group = { head: '', calls: [], refused: [], results: [], stagnation: [] }

  /** `known`: signature → the call behind it, shared by the legs of a turn. */
  constructor(turnlock, scenario, known = new Map()) {
    this.turnlock = turnlock
    this.scenario = scenario
    this.#known = known
  }

  canonical(value) {
    return this.turnlock.canonicalize(JSON.stringify(value))
  }

  #call({ id, name, args, signature }) {
    const text = this.canonical(args)
    const key = this.scenario.tools?.[name]?.action
    const projectId = this.scenario.projectId ?? null
    const of = (action) => this.turnlock.signature({ tool: name, args: text, action, projectId })
    // A call that was not checked has no action.
    const expected = [of(null)]
    if (key && args?.[key] !== undefined) expected.push(of(String(args[key])))
    assert(expected.includes(signature), `signature of ${id}`)
    this.#known.set(signature, `${name} ${text}`)
    return `${id} ${name} ${text}`
  }

  #result(result) {
    assert(Number.isFinite(result.durationMs) && result.durationMs >= 0, 'durationMs')
    const call = `${result.name} ${this.canonical(result.args)}`
    assert(this.#known.get(result.signature) === call, 'a result without its call')
    let line = `${result.toolCallId} ${result.status}`
    if ('result' in result && !result.truncated) {
      const told = ['blocked', 'skipped'].includes(result.status)
      if (!told) line += ` ${this.canonical(result.result)}`
      else if (result.result.startsWith('DUPLICATE_BLOCKED')) line += ' DUPLICATE_BLOCKED'
    }
    if (result.error) line += ` !${result.error.code}`
    if (result.replayed) line += ' replayed'
    if (result.revised) line += ' revised'
    if (result.reconciled) line += ' reconciled'
    if (result.truncated) line += ' truncated'
    return line
  }

  #blocked(signatures) {
    return signatures.map((one) => {
      assert(this.#known.has(one), 'a blocked signature without its call')
      return this.#known.get(one)
    })
  }

  #rest(event) {
    switch (event.type) {
      case 'phase_start':
        return event.resumed ? 'resumed' : ''
      case 'phase_end':
        // The budget of calls ends most phases.
        return !event.ended || event.ended === 'max_tools' ? '' : `ended: ${event.ended}`
      case 'paused':
        return ['calls', 'approvals']
          .filter((name) => event[name])
          .map((name) => `${name}: ${event[name].map((call) => this.#call(call)).join('; ')}`)
          .join(' ')
      case 'approval_required':
        return event.toolCalls.map((call) => this.#call(call)).join('; ')
      case 'complete': {
        assert(event.done === true, 'done')
        const blocked = this.#blocked(event.blockedSignatures).join('; ')
        const times = ([one, times]) => `${this.#blocked([one])[0]} ×${times}`
        const repeats = Object.entries(event.repeats).map(times).sort().join('; ')
        const rest = JSON.stringify(event.fullContent) + (blocked && ` blocked: ${blocked}`)
        return rest + (repeats && ` repeats: ${repeats}`) + (event.composed ? ' composed' : '')
      }
      case 'provider_tool':
        return [event.name, event.id, event.status].filter(Boolean).join(' ')
      case 'tool_arguments':
        return `${event.index} ${event.name} ${event.bytes}`
      case 'cancelled':
        return JSON.stringify(event.reason)
      case 'error':
        return event.code + (event.details?.status ? ` ${event.details.status}` : '')
      default:
        return ''
    }
  }

  /** The lines of all events. */
  get lines() {
    this.#flush()
    return this.#lines
  }

  #flush() {
    const { head, calls, refused, results, stagnation } = this.#group
    this.#group = { head: '', calls: [], refused: [], results: [], stagnation: [] }
    const place = (id) => calls.findIndex(([one]) => one === id)
    results.sort(([a], [b]) => place(a) - place(b))
    const list = (kind, all) => {
      if (all.length > 0) this.#lines.push(`${head} ${kind} ${all.join('; ')}`)
    }
    list(
      'tool_calls',
      calls.map(([, line]) => line),
    )
    for (const line of refused) list('refused', [line])
    list(
      'tool_results',
      results.map(([, line]) => line),
    )
    list('stagnation', stagnation.sort())
  }

  #refused(event) {
    assert(event.notice.length > 0, 'an empty notice')
    const calls = event.toolCalls.map((call) => this.#call(call)).join('; ')
    for (const { args } of event.toolCalls) {
      const text = this.canonical(args)
      assert(text === '{}' || !event.notice.includes(text), 'the notice echoes')
    }
    this.#blocked(event.blockedSignatures)
    return `${event.reason}: ${calls}`
  }

  /** Takes an event of a batch. Returns whether it is one. */
  #grouped(event, head) {
    const grouped = ['tool_calls', 'refused', 'tool_results', 'stagnation'].includes(event.type)
    if (!grouped || this.#group.head !== head) {
      this.#flush()
      this.#group.head = head
    }
    const { calls, refused, results, stagnation } = this.#group
    if (event.type === 'stagnation') stagnation.push(`${event.tool} ×${event.count}`)
    if (event.type === 'refused') refused.push(this.#refused(event))
    if (event.type === 'tool_calls') {
      const [call, more] = event.toolCalls
      assert(call && !more, 'each call is told by itself')
      calls.push([call.id, this.#call(call)])
    }
    if (event.type === 'tool_results') {
      const [result, more] = event.toolResults
      assert(result && !more, 'each result is told by itself')
      assert(!results.some(([id]) => id === result.toolCallId), 'a result twice')
      results.push([result.toolCallId, this.#result(result)])
    }
    return grouped
  }

  take(event) {
    if (this.#grouped(event, `${event.phase}/${event.toolBatchId}`)) return
    const head = `${event.phase}/${event.toolBatchId} ${event.type}`
    if (event.type === 'text' || event.type === 'reasoning') {
      const last = this.#lines.at(-1)
      const said = last?.startsWith(`${head} `)
        ? JSON.parse(this.#lines.pop().slice(head.length))
        : ''
      this.#lines.push(`${head} ${JSON.stringify(said + event.chunk)}`)
    } else {
      this.#lines.push(`${head} ${this.#rest(event)}`.trim())
    }
  }
}

function invariants(scenario, events) {
  let last = 0
  events.forEach((event, at) => {
    assert(event.seq === at + 1, 'seq')
    assert(event.requestId === 'request-1', 'requestId')
    assert(event.projectId === (scenario.projectId ?? null), 'projectId')
    assert(event.conversationId === scenario.conversationId, 'conversationId')
    assert(
      TERMINAL.includes(event.type) === (at === events.length - 1),
      'one terminal event, the last',
    )
    const order = ORDER[event.phase]
    assert(order >= last || event.type === 'phase_start', 'only a cycle goes back')
    last = order
  })
}

function checkRequests(requests, wanted) {
  wanted.forEach((given, at) => {
    if (!given) return
    const { body, wire, tools: names, choice } = requests[at] ?? {}
    const want = offered(wire, given)
    const where = `request ${at + 1}`
    assert(body, `${where} was not made`)
    const same = (got, expected, what) =>
      assert(
        JSON.stringify(got) === JSON.stringify(expected),
        `${what} of ${where}: ${JSON.stringify(got)}`,
      )
    if ('tools' in want) same(names, want.tools, 'tools')
    if ('choice' in want) same(choice, want.choice, 'tool choice')
    const text = JSON.stringify(body)
    if ('structured' in want) {
      const format = body.response_format ?? body.text?.format ?? body.format
      const said = format ?? body.generationConfig?.responseJsonSchema
      const takes = want.structured && !['anthropic', 'bedrock'].includes(wire)
      assert(Boolean(said) === takes, `structured output of ${where}: ${text}`)
    }
    const places = (want.ordered ?? []).map((part) => text.indexOf(part))
    const sorted = places.every((place, n) => place >= 0 && (n === 0 || place > places[n - 1]))
    assert(sorted, `${where} has another order: ${text}`)
    for (const part of want.has ?? [])
      assert(text.includes(part), `${where} lacks ${part}: ${text}`)
    for (const part of want.lacks ?? [])
      assert(!text.includes(part), `${where} has ${part}: ${text}`)
  })
}

/** Whether what happened is what was wanted. */
function met(expect, { lines, executed, result, requests }) {
  const list = (all) => all.map((line) => `    ${line}\n`).join('')
  assert(
    JSON.stringify(lines) === JSON.stringify(expect.events),
    `wanted\n${list(expect.events)}  got\n${list(lines)}`,
  )
  if (expect.executed) {
    assert(JSON.stringify(executed) === JSON.stringify(expect.executed), `executed: ${executed}`)
  }
  checkRequests(requests, expect.requests ?? [])
  if (!result) return
  for (const key of ['status', 'text', 'fullContent', 'model', 'finishReason']) {
    assert(
      !(key in expect) || result[key] === expect[key],
      `${key}: ${JSON.stringify(result[key])}`,
    )
  }
  for (const all of ['usage', 'totalUsage']) {
    for (const [key, value] of Object.entries(expect[all] ?? {})) {
      assert(result[all][key] === value, `${all}: ${JSON.stringify(result[all])}`)
    }
  }
  if ('object' in expect) {
    const [got, wanted] = [result.object, expect.object].map((one) => JSON.stringify(one))
    assert(got === wanted, `object: ${got}`)
  }
  if (expect.messages) {
    const [got, wanted] = [result.messages, expect.messages].map((one) => JSON.stringify(one))
    assert(got === wanted, `messages: ${got}`)
  }
  if (expect.repairs) {
    const codes = result.repairs.map((repair) => repair.code)
    assert(
      JSON.stringify(codes) === JSON.stringify(expect.repairs),
      `repairs: ${JSON.stringify(result.repairs)}`,
    )
  }
}

/** Pauses or cancels where the table says. */
function intervene(turn, facts, event, counts) {
  counts[event.type] = (counts[event.type] ?? 0) + 1
  for (const fact of facts ?? []) {
    if (fact.after !== event.type || (fact.nth ?? 1) !== counts[event.type]) continue
    if (fact.do === 'cancel') turn.cancel(fact.reason)
    else turn.pause()
  }
}

/**
 * Plays a scenario; throws what is wrong.
 * @param {{ turnlock: any, url: string, session: string, dialect: string }} host
 */
export async function playScenario({ turnlock, url, session, dialect }, scenario) {
  const baseURL = `${url}/s/${session}/${encodeURIComponent(`scenario:${scenario.name}`)}/v1`
  const options = {
    baseURL,
    model: 'scripted',
    apiKey: 'secret',
    maxRetries: scenario.maxRetries ?? 0,
    ...(scenario.model.some((entry) => entry.then === 'cut') && { fetch: fetchUpToTheCut }),
  }
  const http = modelOf(turnlock, dialect, options)
  const model = scenario.strategy === 'thread' ? { ...http, threads: true } : http
  const asked = async () => (await fetch(`${url}/s/${session}/requests`)).json()
  const fallbacks = scenario.fallbacks?.map((wire, at) =>
    modelOf(turnlock, wire, { ...options, model: `fallback-${at + 1}` }),
  )
  const play = scenario.store ? playLegs : playOnce
  await play({ turnlock, model, fallbacks, asked }, scenario)
  const requests = await asked()
  // Whatever the history was, every request is one that the provider takes.
  for (const { body, messages, wire } of requests) {
    if (!messages) continue
    // A thread that goes on has its beginning already.
    const violations = turnlock
      .diagnoseHistory(messages, { dialect: fallbacks ? wire : dialect })
      .filter(({ code }) => !body.threadId || code !== 'MSG_LIST_EMPTY')
    assert(violations.length === 0, `refused: ${JSON.stringify({ violations, body })}`)
  }
  // A turn that is cancelled at once may end before its request has left.
  const early = scenario.expect.status === 'cancelled' && requests.length < scenario.model.length
  assert(
    early || requests.length === scenario.model.length,
    `${requests.length} requests were made`,
  )
}

/** What a scenario says of a new turn. */
const given = (scenario) => ({
  requestId: 'request-1',
  projectId: scenario.projectId ?? null,
  messages: scenario.messages ?? [{ role: 'user', content: 'go' }],
  ...(scenario.conversationId && { conversationId: scenario.conversationId }),
  ...(scenario.strategy && { strategy: scenario.strategy }),
  ...(scenario.system && { system: scenario.system }),
  ...(scenario.answerSchema && { answerSchema: scenario.answerSchema }),
  ...('repairOnError' in scenario && { repairOnError: scenario.repairOnError }),
  ...(scenario.mode && { mode: scenario.mode }),
  ...(scenario.policy && { policy: scenario.policy }),
})

function toolsOf(turnlock, scenario, executed, die) {
  const of = ([name, tool]) => [
    name,
    toolOf(turnlock, scenario.conversationId, name, tool, executed, die),
  ]
  return Object.fromEntries(Object.entries(scenario.tools ?? {}).map(of))
}

async function playOnce({ turnlock, model, fallbacks, asked }, scenario) {
  const executed = []
  const tools = toolsOf(turnlock, scenario, executed)
  const turn = turnlock.runTurn({ model, fallbacks, tools, ...given(scenario) })
  const [events, counts] = [[], {}]
  for await (const event of turn) {
    events.push(event)
    intervene(turn, scenario.facts, event, counts)
  }
  const result = await turn.result
  invariants(scenario, events)
  const reduction = new Reduction(turnlock, scenario)
  for (const event of events) reduction.take(event)
  met(scenario.expect, { lines: reduction.lines, executed, result, requests: await asked() })
}

/** What was said before is read by then: it waits for nothing. */
const nextTask = () => new Promise((resolve) => setTimeout(resolve))

/** A turn with a store: the first run, and each leg behind it, by an owner of its own. */
async function playLegs({ turnlock, model, fallbacks, asked }, scenario) {
  let skew = 0
  const store = turnlock.memoryStore({ now: () => performance.now() + skew })
  const executed = []
  const waits = new Map()
  /** Calls that wait for a page. */
  const pages = new Map()
  const known = new Map()
  let stands = []
  // The `seq` of what the legs of each turn showed.
  const taken = new Set()
  const first = { run: true, facts: scenario.facts, expect: scenario.expect }
  for (const [at, leg] of [first, ...scenario.legs].entries()) {
    skew += leg.later ?? 0
    // A process that dies is not heard of any more: nothing it writes arrives.
    let dead = false
    let died
    const death = new Promise((resolve) => (died = resolve))
    const die = () => {
      dead = true
      died()
      return new Promise(() => {})
    }
    const own = { requestId: leg.requestId ?? 'request-1', tenant: leg.tenant ?? '' }
    /** As a page does: claims the calls, and runs them. */
    const answered = async ({ toolBatchId, outcomes }) => {
      const toolCallIds = Object.keys(outcomes)
      const { granted } = await turnlock.claimCalls({ ...own, toolBatchId, toolCallIds })
      assert(granted.join() === toolCallIds.join(), `granted: ${granted}`)
      return granted.map((toolCallId) => {
        const { name, args } = pages.get(toolCallId)
        executed.push(`${name} ${turnlock.canonicalize(JSON.stringify(args))}`)
        return { toolCallId, result: scenario.tools[name].returns }
      })
    }
    const tools = toolsOf(turnlock, scenario, executed, die)
    own.store = {
      async read(key) {
        const kept = await store.read(key)
        return kept && leg.ownerGone ? { ...kept, idleMs: Infinity } : kept
      },
      async commit(key, commit) {
        if (dead) throw new Error('the process is dead')
        return store.commit(key, commit)
      },
      events: (...wanted) => store.events(...wanted),
      recall: (key) => store.recall(key),
    }
    const [before, started] = [(await asked()).length, executed.length]
    try {
      if ('cancel' in leg) {
        const said = turnlock.cancelTurn({ ...own, reason: leg.cancel })
        const got = await said.then(
          ({ status }) => ({ status }),
          ({ code }) => ({ code }),
        )
        assert(JSON.stringify(got) === JSON.stringify(leg.expect), JSON.stringify(got))
        continue
      }
      const approvals = Object.entries(leg.resume?.approvals ?? {}).map(([id, decision]) => ({
        signature: waits.get(id) ?? id,
        ...(typeof decision === 'object' ? decision : { approved: decision }),
      }))
      const { toolBatchId, results } = leg.resume ?? {}
      const outcomes = leg.resume?.outcomes && (await answered(leg.resume))
      const turn = leg.run
        ? turnlock.runTurn({ model, fallbacks, tools, ...given(scenario), ...own })
        : turnlock.resumeTurn({
            model,
            fallbacks,
            tools,
            ...own,
            toolBatchId,
            approvals,
            results,
            outcomes,
            ...(scenario.answerSchema && { answerSchema: scenario.answerSchema }),
          })
      const [events, counts] = [[], {}]
      const reader = turn[Symbol.asyncIterator]()
      for (;;) {
        // Nothing more comes of a dead process: what it had said is read to the end.
        const next = await Promise.race([reader.next(), death.then(nextTask)])
        if (!next || next.done) break
        events.push(next.value)
        intervene(turn, leg.facts, next.value, counts)
      }
      events.forEach(({ seq, requestId, type }, n) => {
        assert(seq === events[0].seq + n, 'seq')
        const number = `${own.tenant} ${requestId} ${seq}`
        assert(type === 'error' || !taken.has(number), `two events have the seq ${seq}`)
        taken.add(number)
        assert(requestId === own.requestId, 'requestId')
        const ends = !dead && n === events.length - 1
        assert(TERMINAL.includes(type) === ends, 'one terminal event, the last')
      })
      assert(dead === (leg.expect.crashed ?? false), `crashed: ${dead}`)
      const result = dead ? undefined : await turn.result
      if (dead) turn.cancel('what is left of the dead process')
      const reduction = new Reduction(turnlock, scenario, known)
      for (const event of events) {
        reduction.take(event)
        for (const call of event.type === 'paused' ? (event.calls ?? []) : [])
          pages.set(call.id, call)
        if (event.type !== 'approval_required') continue
        for (const { id, signature } of event.toolCalls) waits.set(id, signature)
      }
      for (const event of events) {
        if (event.voidFrom) stands = stands.filter(({ seq }) => seq < event.voidFrom)
        if (event.type === 'text') stands.push(event)
      }
      if (!leg.requestId && ['complete', 'paused'].includes(result?.status)) {
        const said = stands.map(({ chunk }) => chunk).join('')
        assert(said === result.fullContent, `fullContent: ${result.fullContent}, not ${said}`)
      }
      if (result?.status === 'complete') {
        const last = events.at(-1)
        for (const name of SHARED) {
          const [told, got] = [last[name], result[name]].map((one) => JSON.stringify(one))
          assert(told === got, `${name} of complete and of the result: ${told}, ${got}`)
        }
      }
      const requests = (await asked()).slice(before)
      const ran = executed.slice(started)
      met(leg.expect, { lines: reduction.lines, executed: ran, result, requests })
    } catch (error) {
      throw new Error(`leg ${at + 1}: ${error.message}`, { cause: error })
    }
  }
}

/** Plays many, on the wires of `byDialect` where a scenario does not name one. */
export function playAll({ turnlock, url, ...host }, scenarios) {
  return playInLanes(host, byDialect(host.runtime, scenarios), ({ scenario, dialect }, at) =>
    playScenario({ turnlock, url, session: `${host.runtime}-${at}`, dialect }, scenario),
  )
}
