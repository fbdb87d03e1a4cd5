// One lane for each replicate: what it is doing, then what it said.
import { byId, element, short } from '../dom.js'

const WORDS = {
  valid: 'valid',
  invalid: 'does not fit the schema',
  error: 'failed',
  timeout: 'took too long',
  token_limit: 'used too many tokens',
  cancelled: 'cancelled',
}

/** Lanes for `k` replicates; those that never start say so. */
export function showLanes(k) {
  const lanes = Array.from({ length: k }, (_, at) =>
    element(
      'li',
      { className: 'lane' },
      element('h3', {}, `r${at + 1}`),
      element('p', { className: 'state' }, 'not started'),
      element('pre', {}),
    ),
  )
  byId('lanes').replaceChildren(...lanes)
}

/** Puts an event where it belongs. */
export function showInLane(event) {
  const lane = byId('lanes').children[Number(event.id?.slice(1)) - 1]
  if (!lane) return
  const [, state, data] = lane.children
  if (event.type === 'replicate_started') {
    lane.className = 'lane running'
    state.textContent = `running, seed ${event.seed}`
  }
  if (event.type === 'replicate_done') {
    lane.className = `lane ${event.status === 'valid' ? 'good' : 'bad'}`
    state.textContent = `${WORDS[event.status]}, seed ${event.seed}`
    const errors = event.quality.errors.map((error) => `! ${error}`)
    const dataLines = 'data' in event ? [JSON.stringify(event.data, null, 1)] : []
    data.textContent = [...dataLines, ...errors.map((one) => short(one))].join('\n')
  }
}
