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
  const answered = results.map(({ text: said }) => (said ? 'an answer' : 'no answer'))
  return `Compared: two stages gave ${answered[0]}, unified ${answered[1]}.`
}

export function hideComparison() {
  byId('comparison').hidden = true
}

function show(results) {
  const counted = results.map(counts)
  const rows = Object.keys(counted[0]).map((name) => [name, counted.map((one) => one[name])])
  rows.push(['An answer arrived', results.map(arrived)])
  rows.push(['Answer', results.map((result) => result.text || '(none)')])
  const cell = (text) => element('td', {}, String(text))
  const made = rows.map(([name, values]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), ...values.map(cell)),
  )
  byId('comparison')
    .querySelector('tbody')
    .replaceChildren(...made)
}

function arrived({ text, composed, status }) {
  if (!text) return 'no'
  if (composed) return 'yes, composed from the results'
  return status === 'complete' ? 'yes' : `in part (${status})`
}
