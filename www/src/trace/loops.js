// Loops: one row for each signature, its calls in order; repeats are hollow.
import { estimateSavings, groupCalls } from 'turnlock/inspect'
import { byId, element, many, short } from '../dom.js'

const SVG = 'http://www.w3.org/2000/svg'
const ROWS = 12
const HEIGHT = 18

const size = (bytes) => (bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`)

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

/** @param {import('turnlock/inspect').CallTrace | undefined} found */
export function showLoops(found, budget) {
  byId('loops-verdict').className = ''
  if (!found?.calls.length) {
    byId('loops-verdict').textContent = found
      ? 'No call of a tool in it.'
      : 'Nothing to look at yet.'
    byId('loops-saved').textContent = ''
    byId('loops-rows').replaceChildren()
    return
  }
  const groups = groupCalls(found.calls)
  const gain = estimateSavings(found, budget)
  byId('loops-verdict').textContent = verdict(groups, found.calls)
  byId('loops-verdict').className = groups[0].places.length > 1 ? 'bad' : 'good'
  byId('loops-saved').textContent = saving(gain, budget)
  const gap = Math.max(5, Math.min(18, Math.floor(460 / found.calls.length)))
  const rows = groups.slice(0, ROWS).map((group) => row(group, found.calls.length, gap, gain.cut))
  if (groups.length > ROWS) {
    rows.push(
      element(
        'li',
        { className: 'hint' },
        `and ${groups.length - ROWS} more that stand alone or repeat less`,
      ),
    )
  }
  byId('loops-rows').replaceChildren(...rows)
}

function verdict(groups, calls) {
  const [worst] = groups
  const times = worst.places.length
  if (times === 1) return `${many(calls.length, 'call')}, none of them twice.`
  const spelled = worst.texts.length > 1 ? ' (spelled differently)' : ''
  const novelty =
    worst.results === 1 ? `${many(times - 1, 'run')} told nothing new` : 'the results differ'
  return `${worst.name} with the same arguments${spelled} ${times} times in one turn: ${novelty}.`
}

function saving({ inferences, runs, bytes }, budget) {
  if (!inferences && !runs) return `With maxTools: ${budget} nothing would have been different.`
  const parts = [
    inferences && `${many(inferences, 'model call')} and ${size(bytes)} of requests`,
    runs && `${many(runs, 'run')} of tools`,
  ]
  return `With maxTools: ${budget} the answer is asked for there: ${parts.filter(Boolean).join(', ')} less.`
}

function row({ name, args, places, texts }, count, gap, cut) {
  const width = count * gap + gap
  const plot = drawn('svg', { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` })
  plot.setAttribute('aria-hidden', 'true')
  plot.append(drawn('line', { class: 'axis', x1: 0, x2: width, y1: HEIGHT / 2, y2: HEIGHT / 2 }))
  if (cut !== undefined && cut < count) {
    const x = cut * gap + gap / 2
    plot.append(drawn('line', { class: 'cut', x1: x, x2: x, y1: 0, y2: HEIGHT }))
  }
  places.forEach((place, nth) => {
    const kind = nth ? 'again' : 'run'
    const after = cut !== undefined && place >= cut ? ' after' : ''
    const r = Math.min(6, gap / 2 - 0.5)
    plot.append(drawn('circle', { class: kind + after, cx: (place + 1) * gap, cy: HEIGHT / 2, r }))
  })
  const label = element(
    'code',
    { title: texts.join('\n').slice(0, 2000) },
    `${name} ${short(args || '{}', 60)}`,
  )
  const times = element(
    'span',
    { className: places.length > 1 ? 'times bad' : 'times' },
    `${places.length}×`,
  )
  return element('li', {}, times, label, plot)
}
