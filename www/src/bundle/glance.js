// The answers at a glance: fields in rows, answers in columns, and how far the first ones that may
// end a bundle are apart. Computed at once, from what the text fields say.
import { distance, summarizeReplicates } from 'turnlock/evidence'
import { byId, element, short } from '../dom.js'

/** Columns and rows that are drawn; the numbers below are of all. */
const MOST = { answers: 12, fields: 40 }
const SVG = 'http://www.w3.org/2000/svg'

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const escaped = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1')

export function clearGlance() {
  byId('agreement').replaceChildren()
  byId('agreement-line').replaceChildren()
  for (const id of ['agreement-said', 'agreement-stop']) byId(id).textContent = ''
}

/** `answers` as pasted; `options` are those of `summarizeReplicates`. */
export function showGlance(answers, options) {
  const replicates = answers.map((data) => ({ data }))
  const summary = summarizeReplicates(replicates, options)
  const stop = stopOf(replicates, options)
  byId('agreement-said').textContent = sentence(summary, answers.length)
  byId('agreement-stop').textContent = distanceText(stop, answers.length, options.epsilon)
  drawLine(stop.apart)
  drawTable(answers, summary, stop.needed, options.schema)
}

/** How many answers an early stop needs, and the mean distance of the first two. */
function stopOf(replicates, options) {
  let apart = null
  for (let needed = 2; needed <= replicates.length; needed++) {
    const { early_stop: stops, pairwise_distance: far } = summarizeReplicates(
      replicates.slice(0, needed),
      options,
    )
    if (needed === 2) apart = far[0][1]
    if (stops) return { needed, apart }
    // Each round compares every pair: with many answers only the first rounds are of interest.
    if (needed === MOST.answers) break
  }
  return { needed: replicates.length, apart }
}

function distanceText({ needed, apart }, all, epsilon) {
  const spare = all - needed
  if (apart === null) return 'The first two cannot be compared: one does not fit.'
  const far = Math.round(apart * 1000) / 1000
  const first = `The first two are ${far} apart, ε is ${epsilon}: `
  if (needed === 2 && spare) return `${first}near enough, ${spare} not needed.`
  if (needed === 2) return `${first}near enough.`
  return `${first}more answers are needed${spare ? `; after ${needed} they agree, ${spare} not needed` : ''}.`
}

function sentence({ disagreements, consensus, support, valid_count: valid }, all) {
  if (!valid) return 'No answer fits.'
  const outside = all - valid ? ` ${all - valid} of ${all} does not fit the schema.` : ''
  if (valid === 1) return `One answer agrees with nobody.${outside}`
  if (!disagreements.length) return `All ${valid} agree.${outside}`
  const most = disagreements.find(({ field }) => field in consensus)
  const names = disagreements.slice(0, 4).map(({ field }) => field || 'the whole value')
  const differ = `they differ on ${names.join(', ')}${disagreements.length > 4 ? ' and more' : ''}.`
  if (!most) return `No majority: ${differ}${outside}`
  const { count, of } = support[most.field]
  return `${count ?? of} of ${of} say ${short(consensus[most.field], 60)}; ${differ}${outside}`
}

/** The distance as a dot on the line on which ε is dragged. */
function drawLine(apart) {
  const line = byId('agreement-line')
  line.replaceChildren()
  if (apart === null) return
  const dot = document.createElementNS(SVG, 'circle')
  for (const [name, value] of Object.entries({ cx: `${apart * 100}%`, cy: 0, r: 6 })) {
    dot.setAttribute(name, value)
  }
  line.append(dot)
}

function drawTable(answers, summary, needed, schema) {
  const visible = answers.slice(0, MOST.answers)
  const invalid = new Set(summary.invalid.map(({ replicate }) => replicate))
  const names = [...new Set(visible.flatMap((one) => (isObject(one) ? Object.keys(one) : [])))]
  const hasScalars = visible.some((one) => !isObject(one))
  const fields = [...(hasScalars ? [undefined] : []), ...names].slice(0, MOST.fields)
  const spare = (at) => (at >= needed ? 'spare' : '')
  const head = element(
    'tr',
    {},
    element('th', { scope: 'col' }, 'Field'),
    ...visible.map((_, at) =>
      element(
        'th',
        { scope: 'col', className: spare(at) },
        `r${at + 1}`,
        element('small', {}, invalid.has(at) ? 'does not fit' : at >= needed ? 'not needed' : ''),
      ),
    ),
    element('th', { scope: 'col' }, 'Consensus'),
  )
  const rows = fields.map((field) => {
    const pointer = field === undefined ? '' : `/${escaped(field)}`
    const agreed = summary.consensus[pointer]
    const of = summary.support[pointer]
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, field === undefined ? 'the whole value' : pointer),
      ...visible.map((one, at) => {
        const value = field === undefined ? (isObject(one) ? undefined : one) : memberOf(one, field)
        const part = schema?.properties?.[field]
        const far = invalid.has(at) ? undefined : apartOf(value, agreed, part)
        return tinted(value, far, spare(at))
      }),
      element(
        'td',
        { className: 'agreed' },
        agreed === undefined ? '–' : short(agreed, 60),
        element('small', {}, of ? `${of.count ?? of.of} of ${of.of}` : 'no majority'),
      ),
    )
  })
  byId('agreement').replaceChildren(element('thead', {}, head), element('tbody', {}, ...rows))
}

const memberOf = (value, field) =>
  isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined

/** How far a value is from the consensus; undefined where there is nothing to compare. */
function apartOf(value, agreed, schema) {
  if (agreed === undefined) return undefined
  if (value === undefined) return 1
  try {
    return distance(value, agreed, schema ? { schema } : {})
  } catch {
    // A schema that names another place cannot be read alone.
    return distance(value, agreed)
  }
}

/** Tint, glyph and word say the same. */
function tinted(value, far, className) {
  const text = value === undefined ? '(none)' : short(value, 60)
  const made = element('td', { className }, text)
  if (far === undefined) return made
  const [glyph, word] = far === 0 ? ['=', 'same'] : far < 0.5 ? ['≈', 'near'] : ['≠', 'far']
  made.style.setProperty('--far', String(far))
  made.append(element('small', {}, `${glyph} ${word}`))
  return made
}
