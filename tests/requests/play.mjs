// Plays one pass through the public package, against the scripted provider over HTTP. Runs in
// any JavaScript runtime: no `node:` import here. See README.md for the form of the tables.
import { byDialect, modelOf, playInLanes } from '../lanes.mjs'
import { fetchUpToTheCut } from '../provider/cut.mjs'
import { playSearch } from './search.mjs'

function assert(fact, what) {
  if (!fact) throw new Error(what)
}

/** Settles too late: when it is told that nobody waits any longer. */
const late = (signal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))

function cycle() {
  const ring = {}
  ring.self = ring
  return ring
}

/** A tool that behaves as the table says. */
function toolOf({ defineTool, canonicalize }, name, tool, executed) {
  return defineTool({
    description: name,
    inputSchema: tool.schema ?? { type: 'object' },
    ...(tool.readOnly !== undefined && { readOnly: tool.readOnly }),
    ...(tool.needsApproval !== undefined && { needsApproval: tool.needsApproval }),
    ...(tool.timeoutMs && { timeoutMs: tool.timeoutMs }),
    execute(args, { signal }) {
      executed.push(`${name} ${canonicalize(JSON.stringify(args))}`)
      if (tool.hangs) return late(signal)
      if (tool.throws) throw new Error(tool.throws)
      if (tool.returnsText) return tool.returnsText.repeat.repeat(tool.returnsText.times)
      return tool.special ? cycle() : tool.returns
    },
  })
}

const lines = {
  calls: (canonical, calls) =>
    calls.map(({ tool_name, params, status, refusal, replayed }) =>
      [tool_name, canonical(params), status, refusal, replayed && 'replayed']
        .filter(Boolean)
        .join(' '),
    ),
  results: (canonical, results) =>
    results.map((entry) => {
      assert(Number.isInteger(entry.duration_ms) && entry.duration_ms >= 0, 'duration_ms')
      assert('result' in entry !== 'error' in entry, 'a result or an error')
      const head = `${entry.tool_name} ${canonical(entry.params)}`
      if (entry.error) return `${head} !${entry.error.code}`
      const { result } = entry
      const cut = typeof result === 'string' && result.includes('… [cut')
      return `${head} ${cut ? 'cut' : canonical(result)}`
    }),
  rejected: (_, rejected) =>
    rejected.map(({ index, reason, detail }) =>
      [index, reason, detail].filter((one) => one !== null).join(' '),
    ),
  /** Results that come one behind the other come in any order; they are sorted. */
  trace(canonical, events) {
    const all = []
    let together = []
    const flush = () => {
      all.push(...together.sort())
      together = []
    }
    for (const event of events) {
      if (event.type === 'strategist_tool_result') {
        const { type, tool_name, status, result_summary } = event
        together.push(`${type} ${tool_name} ${status}: ${result_summary}`)
        continue
      }
      flush()
      assert(event.prompt_template_hash.length === 64, 'prompt_template_hash')
      if (event.type === 'llm_call') {
        const { type, prompt_template_id: id, tool_call_count, context_flags, error } = event
        const head = `${type} ${event.details.phase} ${id} ${tool_call_count}`
        all.push(`${head} [${context_flags}]${error ? ` !${error}` : ''}`)
      } else {
        const calls = event.tool_calls.map(
          ({ tool_name, refusal }) => `${tool_name}:${refusal ?? 'allowed'}`,
        )
        const wrong = lines.rejected(canonical, event.rejected).map((one) => `(${one})`)
        const notes = lines.rejected(canonical, event.notes).map((one) => `[${one}]`)
        all.push(`${event.type} ${[...calls, ...wrong, ...notes].join('; ')}`.trim())
      }
    }
    flush()
    return all
  },
}

/** All text of a part of a request. */
function said(part) {
  if (typeof part === 'string') return part
  if (Array.isArray(part)) return part.map(said).join('\n')
  return part ? [part.content, part.parts, part.text].map(said).join('\n') : ''
}

function checkRequests(requests, wanted) {
  wanted.forEach((want, at) => {
    if (!want) return
    const { body, tools: names, messages } = requests[at]
    const where = `request ${at + 1}`
    if (want.tools) {
      assert(JSON.stringify(names) === JSON.stringify(want.tools), `${where} offers ${names}`)
    }
    const text = `${said(body.system ?? body.systemInstruction)}\n${said(messages)}`
    for (const part of want.has ?? [])
      assert(text.includes(part), `${where} lacks ${part}: ${text}`)
    for (const part of want.lacks ?? [])
      assert(!text.includes(part), `${where} has ${part}: ${text}`)
  })
}

async function playPass({ turnlock, url, session, dialect }, scenario) {
  const { canonicalize, signature } = turnlock
  const canonical = (value) => canonicalize(JSON.stringify(value))
  const executed = []
  const tools = Object.fromEntries(
    Object.entries(scenario.tools).map(([name, tool]) => [
      name,
      toolOf(turnlock, name, tool, executed),
    ]),
  )
  const baseURL = `${url}/s/${session}/${encodeURIComponent(`scenario:${scenario.name}`)}/v1`
  const options = { baseURL, model: 'scripted', apiKey: 'secret' }
  options.maxRetries = scenario.maxRetries ?? 0
  if (scenario.model.some((entry) => entry.then === 'cut')) options.fetch = fetchUpToTheCut
  const model = modelOf(turnlock, dialect, options)
  const replay = scenario.replay?.map((entry) => ({
    ...entry,
    signature: signature({ tool: entry.tool_name, args: entry.params }),
  }))
  const cancelling = new AbortController()
  const trace = []
  const recorded = []
  const pass = turnlock.runPlanning({
    model,
    tools,
    policy: scenario.policy ?? {},
    signal: cancelling.signal,
    prompts: scenario.prompts,
    strict: scenario.strict,
    input: scenario.input ?? { symbol: 'BTC', global_context: { regime: 'calm' } },
    ...(replay ? { replay } : { planId: 'plan-1', runId: 'run-1', record: recorded }),
    onTrace(event) {
      trace.push(event)
      if (event.type === scenario.cancel) cancelling.abort('user')
    },
  })
  const result = await pass.catch((error) => ({
    plan: null,
    error: error.code,
    ...error.details,
  }))
  assert(
    trace.every((event) => event.source === null),
    'a source is guessed',
  )
  const got = {
    plan: result.plan,
    error: result.error ?? null,
    executed,
    calls: lines.calls(canonical, result.calls),
    results: lines.results(canonical, result.toolResults),
    rejected: lines.rejected(canonical, result.rejected),
    recorded: lines.calls(canonical, recorded),
    notes: lines.rejected(canonical, result.notes),
    trace: lines.trace(canonical, trace),
    fellBack: result.fellBack,
    usage: result.usage,
  }
  const { requests: wanted = [], ...expect } = scenario.expect
  for (const [key, want] of Object.entries(expect)) {
    // A pass without a plan says what it had, not how it would have gone on.
    if (got[key] === undefined && result.error) continue
    const [a, b] = [canonical(got[key]), canonical(want)]
    assert(a === b, `${key}: wanted\n    ${b}\n  got\n    ${a}`)
  }
  const requests = await (await fetch(`${url}/s/${session}/requests`)).json()
  for (const { body, messages } of requests) {
    const violations = turnlock.diagnoseHistory(messages, { dialect })
    assert(violations.length === 0, `refused: ${JSON.stringify({ violations, body })}`)
  }
  assert(requests.length === scenario.model.length, `${requests.length} requests were made`)
  checkRequests(requests, wanted)
}

/** Plays many, on the wires of `byDialect` where one is not named. */
export function playAll({ turnlock, url, ...host }, scenarios) {
  return playInLanes(host, byDialect(host.runtime, scenarios), ({ scenario, dialect }, at) => {
    const play = scenario.search ? playSearch : playPass
    return play({ turnlock, url, session: `${host.runtime}-${at}`, dialect }, scenario)
  })
}
