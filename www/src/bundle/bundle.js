// The evidence bundle: replicates as lanes, and the numbers that code makes of them.
import { runBundle } from 'turnlock/evidence'
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, element, many } from '../dom.js'
import { EXAMPLES } from './examples.js'
import { clearGlance, showGlance } from './glance.js'
import { showInLane, showLanes } from './lanes.js'
import { clearSummary, showSummary } from './summary.js'

/** For the examples. Long enough to be seen; each lane takes a little longer than the one before. */
const PACE_MS = 350

const STOPPED = {
  early: 'stopped early, they agree',
  full: 'all have run',
  budget: 'the budget was spent',
  cancelled: 'cancelled',
}

let running

export function setUpBundle() {
  byId('bundle-example').append(
    ...Object.keys(EXAMPLES).map((name) => element('option', { value: name }, name)),
  )
  byId('bundle-example').addEventListener('change', load)
  for (const id of ['replicates', 'bundle-schema']) {
    byId(id).addEventListener('input', () => (byId('bundle-example').value = ''))
  }
  // Of pasted answers each one counts, unless it is asked what an early stop would have saved.
  byId('replicates').addEventListener('input', () => (byId('bundle-rule').value = 'never'))
  for (const id of ['replicates', 'bundle-schema', 'must-agree']) {
    byId(id).addEventListener('input', glance)
  }
  byId('epsilon').addEventListener('input', () => {
    byId('epsilon-value').textContent = byId('epsilon').value
    glance()
  })
  byId('epsilon').addEventListener('change', () => void run())
  byId('bundle-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void run()
  })
  byId('bundle-stop').addEventListener('click', () => running?.cancel('stopped by the user'))
  byId('bundle-example').value = Object.keys(EXAMPLES)[0]
  load()
}

function load() {
  const example = EXAMPLES[byId('bundle-example').value]
  if (!example) return
  byId('replicates').value = JSON.stringify(example.replicates, null, 1)
  byId('bundle-schema').value = example.schema ? JSON.stringify(example.schema, null, 1) : ''
  byId('bundle-bytes').value = example.bytes ?? ''
  byId('bundle-rule').value = 'agreement'
  void run()
}

const showOutcome = (text, failed = false) => {
  byId('bundle-outcome').textContent = text
  byId('bundle-outcome').classList.toggle('failed', failed)
}

/** What is wrong; numbers of another run do not stand beside it. */
function fail(error) {
  showLanes(0)
  clearSummary()
  clearGlance()
  showLog('bundle', new Log())
  showOutcome(error.message, true)
}

/** A text field as JSON; says which one is none. */
function read(id, what) {
  try {
    return JSON.parse(byId(id).value)
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error })
  }
}

/** The answers: a JSON array, else one in each line, as JSON or as text. */
function readAnswers() {
  const text = byId('replicates').value.trim()
  const lines = text.split('\n').filter((line) => line.trim())
  const isArray = text.startsWith('[')
  if (isArray || lines.length < 2 || isJson(text)) {
    const replicates = read('replicates', 'The replicates')
    if (!Array.isArray(replicates) || !replicates.length)
      throw new Error('The replicates: expected an array')
    return replicates
  }
  return lines.map((line) => (isJson(line) ? JSON.parse(line) : line.trim()))
}

function isJson(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What the fields ask for, of a run and of the table. */
function options() {
  const schema = byId('bundle-schema').value.trim()
    ? read('bundle-schema', 'The schema')
    : undefined
  const mustAgree = byId('must-agree')
    .value.split(/[\s,]+/)
    .filter(Boolean)
  return {
    epsilon: Number(byId('epsilon').value),
    // Without a field, the page shows what ε alone does.
    mustAgree,
    ...(schema && { schema }),
  }
}

/** The table of what stands in the fields now; while they are half written, none. */
function glance() {
  try {
    showGlance(readAnswers(), options())
  } catch {
    // What is wrong is said by a run.
    clearGlance()
  }
}

async function run() {
  running?.cancel('started again')
  let bundle
  try {
    const answers = readAnswers()
    const most = byId('bundle-bytes').value
    bundle = runBundle({
      ...(most && { limits: { maxBytes: Number(most) }, compact: true }),
      task: 'pasted',
      k: answers.length,
      stop: byId('bundle-rule').value,
      ...options(),
      replicate: ({ id, signal }) => speak(answers[Number(id.slice(1)) - 1], id, signal),
    })
    running = bundle
    showLanes(answers.length)
    glance()
  } catch (error) {
    return fail(error)
  }
  byId('bundle-stop').disabled = false
  showOutcome('The replicates are at work…')
  try {
    await follow(bundle)
  } catch (error) {
    // A schema that the core refuses, or a core that cannot be loaded.
    if (running === bundle) fail(error)
  }
  if (running === bundle) byId('bundle-stop').disabled = true
}

async function follow(own) {
  const log = new Log()
  showLog('bundle', log)
  for await (const event of own) {
    if (running !== own) return
    log.add(event)
    showInLane(event)
    if (event.type === 'partial_summary') showSummary(event.summary)
  }
  const bundle = await own.result
  if (running !== own) return
  const { meta, summary } = bundle
  showSummary(summary)
  const ran = `${many(meta.started, 'replicate')} of ${meta.k} ran: ${STOPPED[meta.stopped]}.`
  showOutcome(`${ran}${shownOf(bundle)}`)
}

/** How much of a bundle is shown where its bytes have a cap. */
function shownOf(bundle) {
  const { truncated, counts } = bundle.summary
  if (!byId('bundle-bytes').value) return ''
  const bytes = new TextEncoder().encode(JSON.stringify(bundle)).length
  if (!truncated) return ` All of it is in ${bytes} bytes.`
  const of = ({ shown, total }) => `${shown} of ${total}`
  return (
    ` In ${bytes} bytes: data of ${of(counts.replicates)}, ${of(counts.long_strings)} long texts ` +
    `whole, ${of(counts.disagreements)} disagreements.`
  )
}

/** Says what was pasted, after a while. */
function speak(data, id, signal) {
  return new Promise((resolve) => {
    const pace = byId('bundle-example').value ? PACE_MS : 0
    const timer = setTimeout(() => resolve({ data }), pace * (1 + Number(id.slice(1)) / 4))
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}
