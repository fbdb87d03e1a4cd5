// A looping client at its provider, and the same client behind a proxy.
import { byId, element, many } from '../dom.js'
import { drawLane } from '../race/lane.js'
import { runPlain } from '../race/run.js'
import { copy, inspect, showSide } from '../race/side.js'
import { codeOf, runBehind } from './run.js'

const CAP = 25
const SIDES = ['direct', 'behind']
const MODES = {
  observe: 'changes nothing, says what it would do',
  repair: 'mends histories, changes nothing else',
  bound: 'ends a loop with an answer',
}
const chosen = { model: 'loop-then-answer', mode: 'bound' }
/** Only what was started last is shown. */
let started = 0

export function openProxy() {
  restore()
  for (const [name, key] of [
    ['proxy-vices', 'model'],
    ['proxy-modes', 'mode'],
  ]) {
    for (const chip of byId(name).children) {
      chip.addEventListener('click', () => {
        chosen[key] = chip.value
        void run()
      })
    }
  }
  for (const id of ['proxy-repeats', 'proxy-budget']) {
    byId(id).addEventListener('input', () => void run())
  }
  byId('proxy-copy').addEventListener(
    'click',
    () => void copy(byId('proxy-code'), byId('proxy-copied')),
  )
  void run()
}

const value = (id) => Number(byId(id).value)
const chips = () => [
  ['model', byId('proxy-vices')],
  ['mode', byId('proxy-modes')],
]

/** What the address says. */
function restore() {
  const parameters = new URLSearchParams(location.hash.split('?')[1])
  for (const [key, group] of chips()) {
    const selected = [...group.children].find((chip) => chip.value === parameters.get(key))
    chosen[key] = selected?.value ?? chosen[key]
  }
  for (const name of ['repeats', 'budget']) {
    if (/^\d+$/.test(parameters.get(name) ?? '')) byId(`proxy-${name}`).value = parameters.get(name)
  }
}

function remember(repeats, budget) {
  const search = new URLSearchParams({ ...chosen, repeats, budget })
  const isUsual = `${search}` === 'model=loop-then-answer&mode=bound&repeats=2&budget=0'
  // Another view may be shown by now.
  if (!location.hash.startsWith('#proxy')) return
  history.replaceState(null, '', isUsual ? '#proxy' : `#proxy?${search}`)
}

async function run() {
  const runNumber = ++started
  const [maxRepeats, budget] = [value('proxy-repeats'), value('proxy-budget')]
  const policy = { mode: chosen.mode, maxRepeats, ...(budget && { maxTools: budget }) }
  remember(maxRepeats, budget)
  for (const [key, group] of chips()) {
    for (const chip of group.children) {
      chip.setAttribute('aria-pressed', String(chip.value === chosen[key]))
    }
  }
  byId('proxy-repeats-value').textContent = maxRepeats
  byId('proxy-budget-value').textContent = budget || 'none'
  byId('proxy-direct-rule').textContent = `the provider, up to ${many(CAP, 'step')}`
  byId('proxy-behind-rule').textContent = `${chosen.mode}: ${MODES[chosen.mode]}`
  byId('proxy-code').textContent = codeOf(policy)
  const sides = await Promise.all([
    runPlain(chosen.model, CAP),
    runBehind(chosen.model, CAP, policy),
  ])
  if (runNumber !== started) return
  for (const [at, name] of SIDES.entries()) {
    const { steps } = sides[at]
    const choose = (step) => inspect('proxy', step)
    const { reveal } = drawLane(byId(`proxy-${name}`), steps, choose)
    showSide(`proxy-${name}`, { reveal, ...sides[at] }, steps.length)
  }
  byId('proxy-reports').replaceChildren(...sides[1].reports.map(row))
}

/** A report as a row of the table. */
function row({ mode, repairs, blocked, forced, bytes, status }, at) {
  const would = mode === 'bound' ? '' : 'would be '
  const changes = [
    ...repairs.map(({ code }) => code),
    ...blocked.map(({ name, reason, repeats }) =>
      reason === 'budget'
        ? `${name} ${would}refused: the budget is spent`
        : `${name} ${would}refused: ${many(repeats, 'same result')} before`,
    ),
    forced && `answer forced: ${forced}`,
  ].filter(Boolean)
  const cells = [at + 1, `${bytes.request} B`, changes.join('; ') || 'nothing', status]
  return element('tr', {}, ...cells.map((text) => element('td', {}, String(text))))
}
