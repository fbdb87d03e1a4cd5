// The numbers of a bundle: matrix, consensus, disagreements, distributions.
import { byId, element, many, short } from '../dom.js'

const round = (number) => (number === null ? '–' : String(Math.round(number * 1000) / 1000))
const cell = (text, properties = {}) => element('td', properties, text)
const head = (text, scope) => element('th', { scope }, text)
const name = (place) => `r${place + 1}`
const field = (pointer) => pointer || '(the whole value)'

export function clearSummary() {
  for (const id of ['matrix', 'confidence', 'consensus', 'disagreements', 'distributions']) {
    byId(id).replaceChildren()
  }
}

export function showSummary(summary) {
  showMatrix(summary.pairwise_distance)
  const { confidence, confidence_reason: reason, valid_count: valid } = summary
  byId('confidence').textContent =
    confidence === null
      ? `No confidence: ${reason === 'one_valid_replicate' ? 'one valid replicate agrees with nobody' : 'no valid replicate'}.`
      : `Confidence ${round(confidence)}: how much ${many(valid, 'valid replicate')} agree. It is not the probability of being right.`
  list('consensus', Object.entries(summary.consensus), ([pointer, value]) => [
    element('code', {}, field(pointer)),
    ` ${short(value)} `,
    element('span', { className: 'hint' }, backing(summary.support[pointer])),
  ])
  list('disagreements', summary.disagreements, (one) => [
    element('code', {}, field(one.field)),
    one.kind === 'order'
      ? ' the same members in another order'
      : ` mean distance ${round(one.mean_distance)}, weight ${round(one.weight)}`,
    element('ul', {}, ...one.values.map(clusterItem)),
    one.common ? ` most have ${one.common.map(short).join(', ')}` : '',
  ])
  list('distributions', Object.entries(summary.distributions), ([pointer, one]) => [
    element('code', {}, field(pointer)),
    ...('counts' in one ? bars(one) : [numbers(one)]),
  ])
}

const backing = ({ count, of, method }) =>
  method === 'median' ? `the middle one of ${of}, all near` : `${count} of ${of}`

function clusterItem({ value, replicates, missing, invalid }) {
  const who = replicates.map(name).join(', ')
  const what = missing ? 'nothing' : short(value)
  return element('li', { className: invalid ? 'invalid' : '' }, `${what}: ${who}`)
}

const numbers = ({ n, mean, stdev, min, max, median }) =>
  ` n ${n}, mean ${round(mean)}, stdev ${round(stdev)}, median ${round(median)}, ${round(min)} to ${round(max)}`

/** Counted values, each with a bar as long as its share. */
function bars({ n, missing, counts }) {
  const rows = missing ? [...counts, { value: 'missing', count: missing }] : counts
  return [
    element(
      'ul',
      { className: 'bars' },
      ...rows.map(({ value, count }) =>
        element(
          'li',
          {},
          element('meter', { min: 0, max: n + missing, value: count, ariaHidden: 'true' }),
          ` ${short(value)}: ${count}`,
        ),
      ),
    ),
  ]
}

function showMatrix(matrix) {
  const top = element('tr', {}, element('td'), ...matrix.map((_, at) => head(name(at), 'col')))
  const rows = matrix.map((row, at) => {
    const cells = row.map((value) => {
      const made = cell(round(value), { className: value === null ? 'none' : '' })
      if (value !== null) made.style.setProperty('--far', String(value))
      return made
    })
    return element('tr', {}, head(name(at), 'row'), ...cells)
  })
  byId('matrix').replaceChildren(top, ...rows)
}

function list(id, items, render) {
  const made = items.map((item) => element('li', {}, ...render(item)))
  byId(id).replaceChildren(
    ...(made.length ? made : [element('li', { className: 'hint' }, 'None.')]),
  )
}
