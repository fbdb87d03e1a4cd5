// The start page: a loop without a judge and a two-stage turn, with the same model.
import { showLog } from '../dock/dock.js'
import { byId, many } from '../dom.js'
import { drawLane } from './lane.js'
import { copy, inspect, showSide } from './side.js'
import { codeOf, runPlain, runStaged } from './run.js'

const PLAY_MS = 2400
const still = matchMedia('(prefers-reduced-motion: reduce)')

let vice = 'loop'
/** Only what was started last is shown; it stops what was started before. */
let started = 0
let running

export function openRace() {
  restore()
  for (const chip of byId('race-vices').children) {
    chip.addEventListener('click', () => {
      vice = chip.value
      void (vice === 'real' ? wait() : race())
    })
  }
  for (const id of ['race-budget', 'race-cap']) {
    // Requests to a real endpoint cost money: they begin by the button.
    byId(id).addEventListener(
      'input',
      () => void (vice === 'real' ? wait() : race({ atOnce: true })),
    )
  }
  byId('race-replay').addEventListener('click', () => void race())
  byId('race-copy').addEventListener(
    'click',
    () => void copy(byId('race-code'), byId('race-copied')),
  )
  void (vice === 'real' ? wait() : race())
}

const value = (id) => Number(byId(id).value)

/** What the address says. */
function restore() {
  const parameters = new URLSearchParams(location.hash.split('?')[1])
  const chips = [...byId('race-vices').children]
  vice = chips.find((chip) => chip.value === parameters.get('model'))?.value ?? vice
  for (const name of ['budget', 'cap']) {
    if (/^\d+$/.test(parameters.get(name) ?? '')) byId(`race-${name}`).value = parameters.get(name)
  }
}

function remember() {
  const [budget, cap] = [value('race-budget'), value('race-cap')]
  const isUsual = vice === 'loop' && budget === 1 && cap === 25
  const search = new URLSearchParams({ model: vice, budget, cap })
  const hash = isUsual ? '#race' : `#race?${search}`
  if (location.hash !== hash && (location.hash || !isUsual)) history.replaceState(null, '', hash)
}

/** Says what would run now. Gives the budget and the cap. */
function showSetting(verdict) {
  const [budget, cap] = [value('race-budget'), value('race-cap')]
  remember()
  byId('race-budget-value').textContent = budget
  byId('race-cap-value').textContent = cap
  byId('race-plain-rule').textContent = `capped at ${many(cap, 'step')}`
  byId('race-staged-rule').textContent = budget
    ? `at most ${many(budget, 'call')}, then an answer`
    : 'no calls, only an answer'
  byId('race-code').textContent = codeOf(budget, vice)
  for (const chip of byId('race-vices').children) {
    chip.setAttribute('aria-pressed', String(chip.value === vice))
  }
  byId('race-replay').textContent = vice === 'real' ? '▸ Race' : '↻ Replay'
  byId('race-real').hidden = vice !== 'real'
  byId('race-real-said').textContent = ''
  for (const name of ['plain', 'staged']) {
    const verdictBox = byId(`race-${name}-verdict`)
    Object.assign(verdictBox, { className: 'verdict', textContent: verdict })
  }
  return [budget, cap]
}

/** Nothing runs; the button begins. */
function wait(problem = '') {
  started += 1
  running?.abort()
  showSetting('ready')
  for (const name of ['plain', 'staged']) {
    showSide(`race-${name}`, { ...drawLane(byId(`race-${name}`), [], inspected), ...NOTHING }, 0)
    Object.assign(byId(`race-${name}-verdict`), { className: 'verdict', textContent: 'ready' })
  }
  byId('race-real-said').textContent = problem
}

const inspected = (step) => inspect('race', step)

const NOTHING = { steps: [], bytes: 0, answer: '', repeats: 0, refused: 0, models: 0 }

/** A real endpoint takes its time: each step is shown as it comes. */
const live = (name, own) => (side) => {
  if (own !== started || vice !== 'real') return
  const { reveal } = drawLane(byId(`race-${name}`), side.steps, inspected)
  showSide(`race-${name}`, { reveal, ...side }, side.steps.length)
  const isOver = ['answer', 'cap', 'lost'].includes(side.steps.at(-1).kind)
  if (!isOver) {
    Object.assign(byId(`race-${name}-verdict`), { className: 'verdict', textContent: 'running' })
  }
}

/** Runs both sides, then plays what happened. */
async function race({ atOnce = false } = {}) {
  const raceNumber = ++started
  running?.abort()
  running = new AbortController()
  const { signal } = running
  const [budget, cap] = showSetting('running')
  let sides
  try {
    sides = await Promise.all([
      runPlain(vice, cap, { signal, onStep: live('plain', raceNumber) }),
      runStaged(vice, budget, { signal, onStep: live('staged', raceNumber) }),
    ])
  } catch (error) {
    if (raceNumber === started) wait(`${error.message}.`)
    return
  }
  if (raceNumber !== started) return
  showLog('race', sides[1].log)
  const lanes = ['plain', 'staged'].map((name, at) => {
    const { reveal } = drawLane(byId(`race-${name}`), sides[at].steps, inspected)
    return { name, reveal, ...sides[at] }
  })
  const most = Math.max(...lanes.map(({ steps }) => steps.length))
  const show = (count) => {
    for (const lane of lanes) showSide(`race-${lane.name}`, lane, count)
  }
  if (atOnce || still.matches || vice === 'real') return show(most)
  const begun = performance.now()
  let drawn = -1
  const play = () => {
    if (raceNumber !== started) return
    const part = Math.min(1, (performance.now() - begun) / PLAY_MS)
    const count = Math.ceil(part * most)
    // Most frames have nothing new.
    if (count > drawn) show((drawn = count))
    if (part < 1) requestAnimationFrame(play)
  }
  play()
}
