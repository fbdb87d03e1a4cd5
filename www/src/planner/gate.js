// The gate: one row for each request, from what was asked to the plan.
import { byId, element, short } from '../dom.js'

/** What is asked of a call, in this order, with the refusals that say no. */
const CHECKS = [
  ['known', ['unknown_tool']],
  ['allowed', ['not_allowed', 'not_approved']],
  ['read-only', ['not_read_only']],
  ['fits', ['invalid_arguments']],
  ['new', ['duplicate']],
  ['within the limit', ['budget']],
]

const WHY = {
  unknown_tool: 'there is no such tool',
  not_allowed: 'not on the list',
  not_approved: 'a user would have to approve',
  not_read_only: 'it changes something',
  invalid_arguments: 'not what the tool takes',
  duplicate: 'asked before: one result serves both',
  budget: 'too many calls',
}

/** Takes what a pass returned; without one, nothing is shown. */
export function showGate({ calls = [], toolResults = [], plan } = {}) {
  const titles = ['Asked', ...CHECKS.map(([name]) => name), 'Brought', 'In the plan']
  const head = titles.map((title) => element('th', { scope: 'col' }, title))
  const results = [...toolResults]
  const rows = calls.map((call) => {
    // Results have the order of the calls that ran.
    const result = call.refusal ? undefined : results.shift()
    const used = result && 'result' in result && plan?.based_on?.includes(call.tool_name)
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, call.tool_name, element('small', {}, short(call.params, 60))),
      ...checks(call.refusal),
      brought(result),
      element('td', { className: used ? 'yes' : '' }, used ? '✓ used' : '–'),
    )
  })
  const none = element('tr', {}, element('td', { colSpan: titles.length }, 'Nothing was asked.'))
  byId('gate').replaceChildren(
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...(rows.length ? rows : [none])),
  )
}

/** A tick for each check up to the one that says no; what lies behind that was not asked. */
function checks(refusal) {
  const stops = refusal
    ? CHECKS.findIndex(([, refusals]) => refusals.includes(refusal))
    : CHECKS.length
  return CHECKS.map((_, at) => {
    if (at < stops) return element('td', { className: 'yes' }, '✓ yes')
    if (at > stops) return element('td', { className: 'off' }, '·')
    return element('td', { className: 'no' }, '✕ no', element('small', {}, WHY[refusal]))
  })
}

function brought(result) {
  if (!result) return element('td', { className: 'off' }, '–')
  if ('result' in result) return element('td', { className: 'yes' }, short(result.result, 60))
  return element('td', { className: 'no' }, `✕ ${result.error.code}`)
}
