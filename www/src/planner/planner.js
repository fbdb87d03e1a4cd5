// The tool-request pass: write what the model asks for, see what it gets and what the plan is.
import { auditToolUse, runPlanning } from 'turnlock/planning'
import { customModel, defineTool } from 'turnlock'
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, element, many, short } from '../dom.js'
import { tools as pageTools } from '../tools.js'
import { EXAMPLES } from './examples.js'
import { showGate } from './gate.js'

const tools = {
  ...pageTools,
  slow_report: defineTool({
    description: 'The weekly numbers; takes its time.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: (_, { signal }) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, 60_000, 'numbers')
        signal.addEventListener('abort', () => clearTimeout(timer))
      }),
  }),
}

/** Why a plan was made from the input alone. */
const FELL_BACK = {
  no_request: 'the model asked for nothing',
  invalid_request: 'what the model said is no request',
  all_failed: 'no call brought a result',
  all_blocked: 'no call was allowed to run',
  model_failed: 'the model failed before it could ask',
}

/** Where the results of a plan are from. */
const MADE = { paper: 'Live', backtest: 'From the recording' }

let recording = []

export function setUpPlanner() {
  const names = Object.keys(EXAMPLES).map((name) => element('option', { value: name }, name))
  byId('ask-example').append(...names)
  const load = () => {
    byId('ask').value = EXAMPLES[byId('ask-example').value] ?? byId('ask').value
    void run()
  }
  byId('ask-example').addEventListener('change', load)
  byId('ask').addEventListener('input', () => (byId('ask-example').value = ''))
  byId('ask-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void run()
  })
  for (const name of Object.keys(tools)) {
    const box = element('input', { type: 'checkbox', value: name, checked: true })
    box.addEventListener('change', () => void run())
    byId('gate-tools').append(element('label', {}, box, ` ${name}`))
  }
  byId('ask-limit').addEventListener('input', () => {
    byId('ask-limit-value').textContent = byId('ask-limit').value
    void run()
  })
  showGate()
  byId('ask-replay').addEventListener('click', () => void run(recording))
  byId('ask-example').value = Object.keys(EXAMPLES)[0]
  load()
}

/** First what stands in the field, then a plan that names what it was given. */
function scripted(text) {
  let requests = 0
  return customModel(async function* ({ messages }) {
    yield { type: 'text', text: requests++ === 0 ? text : JSON.stringify(planFrom(messages)) }
  })
}

function planFrom(messages) {
  const content = messages.at(-1).content
  const box = /^TOOL RESULT [0-9a-f]{32}\n(.*)\nEND/m.exec(content)
  const results = box ? JSON.parse(box[1]).global_context.tool_results : []
  const used = results.filter((one) => 'result' in one).map((one) => one.tool_name)
  return { action: used.length ? 'act on what was read' : 'wait', based_on: used }
}

const allowed = () => [...byId('gate-tools').querySelectorAll(':checked')].map(({ value }) => value)

let latest = 0

async function run(replay) {
  const mine = ++latest
  const trace = []
  const recorded = []
  byId('ask-outcome').textContent = 'The planner is at work…'
  try {
    const result = await runPlanning({
      model: scripted(byId('ask').value),
      tools,
      planId: 'plan-1',
      input: JSON.parse(byId('ask-input').value),
      policy: {
        maxToolCalls: Number(byId('ask-limit').value),
        toolTimeoutMs: 500,
        allow: allowed(),
      },
      onTrace: (event) => trace.push(event),
      ...(replay ? { replay, source: 'backtest' } : { record: recorded, source: 'paper' }),
    })
    // What was started later is shown instead.
    if (mine !== latest) return
    if (!replay) recording = recorded
    log(trace)
    show(result, trace)
  } catch (error) {
    if (mine === latest) {
      // Nothing of another pass stands beside an error.
      for (const id of ['ask-calls', 'ask-results', 'ask-plan', 'ask-audit']) {
        byId(id).replaceChildren()
      }
      showGate()
      log(trace)
      byId('ask-outcome').textContent = `${error.code ?? error.name}: ${error.message}`
    }
  }
}

function log(trace) {
  const all = new Log()
  for (const event of trace) all.add(event)
  showLog('planner', all)
}

function show(result, trace) {
  const { calls, rejected, notes, toolResults, fellBack, plan } = result
  const entries = [...rejected.map(spoiled), ...calls.map(requested), ...notes.map(noted)]
  showGate(result)
  fill('ask-calls', entries, 'Nothing.')
  fill('ask-results', toolResults.map(brought), 'None.')
  byId('ask-plan').textContent = JSON.stringify(plan, null, 2)
  fill('ask-audit', trace.map(traced), 'Nothing.')
  const { source, calls: audited } = auditToolUse(trace, result.planId)
  const ran = audited.filter((call) => call.duration_ms !== null).length
  const why = fellBack ? `the input alone: ${FELL_BACK[fellBack]}` : 'the input and the results'
  byId('ask-outcome').textContent =
    `${MADE[source]}: ${many(calls.length, 'call')} requested, ${ran} ran; a plan from ${why}.`
}

function fill(id, rows, none) {
  byId(id).replaceChildren(...(rows.length ? rows : [element('li', { className: 'hint' }, none)]))
}

const row = (kind, title, ...words) =>
  element(
    'li',
    { className: kind },
    element('strong', {}, title),
    ...words.map((text) => element('small', {}, text)),
  )

const about = ({ index, detail }) => `${index === null ? '' : `call ${index} `}${detail ?? ''}`
const spoiled = ({ reason, ...one }) =>
  row('bad', `Not a ${one.index === null ? 'request' : 'call'}: ${reason}`, about(one))
const noted = ({ reason, ...one }) => row('hint', `Noted: ${reason}`, about(one))

function requested({ tool_name, params, reason, refusal, status }) {
  const title = refusal ? `${tool_name}: ${status}, ${refusal}` : `${tool_name}: allowed`
  return row(refusal ? 'refused' : 'call', title, short(params), `why: ${reason}`)
}

function brought({ tool_name, duration_ms, ...entry }) {
  const fine = 'result' in entry
  const outcome = fine ? short(entry.result) : `${entry.error.code}: ${entry.error.message}`
  return row(fine ? 'ok' : 'bad', `${tool_name}, ${duration_ms} ms`, outcome)
}

function traced({ type, atMs, details, ...event }) {
  const summaries = {
    llm_call: () =>
      `${event.prompt_template_id} ${event.prompt_template_hash.slice(0, 8)}… [${event.context_flags}]`,
    strategist_tool_request: () => many(event.tool_calls.length, 'call'),
    strategist_tool_result: () => `${event.tool_name} ${event.status}: ${event.result_summary}`,
  }
  return row('phase', type, `${atMs} ms, ${details.phase}: ${summaries[type]()}`)
}
