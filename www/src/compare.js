// The same message, model and policy in both modes, side by side.
import { runTurn } from 'turnlock'
import { showLog } from './dock/dock.js'
import { Log } from './dock/log.js'
import { byId, element } from './dom.js'
import { choices, modelAt } from './settings.js'
import { counts, Timeline } from './timeline.js'
import { comparedTools } from './tools.js'

const LANES = { two_stage: 'staged', unified: 'unified' }

/**
 * Plays both turns at once. `started` gets each of them.
 * @returns {Promise<string>} what came of it, in a line
 */
export async function compare(text, started) {
  const { policy } = choices()
  const messages = [{ role: 'user', content: text }]
  const log = new Log()
  const tools = comparedTools()
  // Both are made before one is shown: bad settings throw here.
  const lanes = Object.entries(LANES).map(([mode, id]) => ({
    mode,
    timeline: new Timeline(byId(id)),
    turn: runTurn({ model: modelAt(choices().place, log), mode, policy, messages, tools }),
  }))
  byId('comparison').querySelector('tbody').replaceChildren()
  byId('comparison').hidden = false
  showLog('turn', log)
  byId('comparison-title').focus({ preventScroll: true })
  byId('comparison').scrollIntoView({ block: 'start' })
  const results = await Promise.all(
    lanes.map(async ({ mode, timeline, turn }) => {
      started(turn)
      timeline.start(mode, policy)
      for await (const event of turn) {
        timeline.add(event)
        log.add({ ...event, mode })
      }
      const result = await turn.result
      timeline.end(result)
      return { ...result, composed: timeline.composed }
    }),
  )
  show(results)
  const [staged, unified] = results.map(outcome)
  return `Compared: answer of two stages: ${staged}, of unified: ${unified}.`
}

export function hideComparison() {
  byId('comparison').hidden = true
}

function show(results) {
  const counted = results.map(counts)
  const rows = Object.keys(counted[0]).map((name) => [name, counted.map((one) => one[name])])
  rows.push(['Answer', results.map(outcome)])
  rows.push(['Text', results.map((result) => result.text || '–')])
  const cell = (text) => element('td', {}, String(text))
  const made = rows.map(([name, values]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), ...values.map(cell)),
  )
  byId('comparison')
    .querySelector('tbody')
    .replaceChildren(...made)
}

/** An answer is answered, composed (of the results), partial or none, here and in every table. */
function outcome({ text, composed, status }) {
  if (!text) return 'none'
  if (composed) return 'composed'
  return status === 'complete' ? 'answered' : `partial (${status})`
}
