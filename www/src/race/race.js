// The start page: a loop without a judge and a two-stage turn, with the same model.
import { byId, many } from '../dom.js'
import { drawLane } from './lane.js'
import { copy, inspect, showSide } from './side.js'
import { codeOf, runPlain, runStaged } from './run.js'

const PLAY_MS = 2400
const still = matchMedia('(prefers-reduced-motion: reduce)')

let vice = 'loop'
/** Only what was started last is shown. */
let started = 0

export function openRace() {
  restore()
  for (const chip of byId('race-vices').children) {
    chip.addEventListener('click', () => {
      vice = chip.value
      void race()
    })
  }
  for (const id of ['race-budget', 'race-cap']) {
    byId(id).addEventListener('input', () => void race({ atOnce: true }))
  }
  byId('race-replay').addEventListener('click', () => void race())
  byId('race-copy').addEventListener(
    'click',
    () => void copy(byId('race-code'), byId('race-copied')),
  )
  void race()
}

const value = (id) => Number(byId(id).value)

/** What the address says. */
function restore() {
  const given = new URLSearchParams(location.hash.split('?')[1])
  const chips = [...byId('race-vices').children]
  vice = chips.find((chip) => chip.value === given.get('model'))?.value ?? vice
  for (const name of ['budget', 'cap']) {
    if (/^\d+$/.test(given.get(name) ?? '')) byId(`race-${name}`).value = given.get(name)
  }
}

function remember() {
  const [budget, cap] = [value('race-budget'), value('race-cap')]
  const isUsual = vice === 'loop' && budget === 1 && cap === 25
  const search = new URLSearchParams({ model: vice, budget, cap })
  const hash = isUsual ? '#race' : `#race?${search}`
  if (location.hash !== hash && (location.hash || !isUsual)) history.replaceState(null, '', hash)
}

/** Runs both sides, then plays what happened. */
async function race({ atOnce = false } = {}) {
  const own = ++started
  const [budget, cap] = [value('race-budget'), value('race-cap')]
  remember()
  byId('race-budget-value').textContent = budget
  byId('race-cap-value').textContent = cap
  byId('race-plain-rule').textContent = `capped at ${many(cap, 'step')}`
  byId('race-staged-rule').textContent = budget
    ? `at most ${many(budget, 'call')}, then an answer`
    : 'no calls, only an answer'
  byId('race-code').textContent = codeOf(budget)
  for (const chip of byId('race-vices').children) {
    chip.setAttribute('aria-pressed', String(chip.value === vice))
  }
  for (const name of ['plain', 'staged']) {
    const verdict = byId(`race-${name}-verdict`)
    Object.assign(verdict, { className: 'verdict', textContent: 'running' })
  }
  const sides = await Promise.all([runPlain(vice, cap), runStaged(vice, budget)])
  if (own !== started) return
  const lanes = ['plain', 'staged'].map((name, at) => {
    const { reveal } = drawLane(byId(`race-${name}`), sides[at].steps, (step) =>
      inspect('race', step),
    )
    return { name, reveal, ...sides[at] }
  })
  const most = Math.max(...lanes.map(({ steps }) => steps.length))
  const show = (count) => {
    for (const lane of lanes) showSide(`race-${lane.name}`, lane, count)
  }
  if (atOnce || still.matches) return show(most)
  const begun = performance.now()
  const play = () => {
    if (own !== started) return
    const part = Math.min(1, (performance.now() - begun) / PLAY_MS)
    show(Math.ceil(part * most))
    if (part < 1) requestAnimationFrame(play)
  }
  play()
}
