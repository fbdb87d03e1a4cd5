// The evidence bundle: replicates as lanes, and the numbers that code makes of them.
import { runBundle } from 'turnlock'
import { byId, element, many } from '../dom.js'
import { EXAMPLES } from './examples.js'
import { showInLane, showLanes } from './lanes.js'
import { showSummary } from './summary.js'

/** Long enough to be seen; each lane takes a little longer than the one before. */
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
  void run()
}

const say = (text, failed = false) => {
  byId('bundle-outcome').textContent = text
  byId('bundle-outcome').classList.toggle('failed', failed)
}

/** A text field as JSON; says which one is none. */
function read(id, what) {
  try {
    return JSON.parse(byId(id).value)
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error })
  }
}

async function run() {
  running?.cancel('started again')
  let own
  try {
    const given = read('replicates', 'The replicates')
    if (!Array.isArray(given) || !given.length) throw new Error('The replicates: expected an array')
    const schema = byId('bundle-schema').value.trim()
      ? read('bundle-schema', 'The schema')
      : undefined
    const mustAgree = byId('must-agree')
      .value.split(/[\s,]+/)
      .filter(Boolean)
    const most = byId('bundle-bytes').value
    own = runBundle({
      ...(most && { limits: { max_bytes: Number(most) }, compact: true }),
      ...{ task: 'pasted', k: given.length, epsilon: Number(byId('epsilon').value) },
      ...{ must_agree: mustAgree, stop: byId('bundle-rule').value, ...(schema && { schema }) },
      replicate: ({ id, signal }) => speak(given[Number(id.slice(1)) - 1], id, signal),
    })
    running = own
    showLanes(given.length)
  } catch (error) {
    return say(error.message, true)
  }
  byId('bundle-stop').disabled = false
  say('The replicates are at work…')
  try {
    await follow(own)
  } catch (error) {
    // A schema that the core refuses, or a core that cannot be loaded.
    if (running === own) say(error.message, true)
  }
  if (running === own) byId('bundle-stop').disabled = true
}

async function follow(own) {
  for await (const event of own) {
    if (running !== own) return
    showInLane(event)
    if (event.type === 'partial_summary') showSummary(event.summary)
  }
  const bundle = await own.result
  if (running !== own) return
  const { meta, summary } = bundle
  showSummary(summary)
  const ran = `${many(meta.started, 'replicate')} of ${meta.k} ran: ${STOPPED[meta.stopped]}.`
  say(`${ran}${shownOf(bundle)}`)
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
    const timer = setTimeout(() => resolve({ data }), PACE_MS * (1 + Number(id.slice(1)) / 4))
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}
