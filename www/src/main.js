// The page: what the buttons do, and that one thing runs at a time.
import { setUpBundle } from './bundle/bundle.js'
import { setUpChain } from './chain/chain.js'
import { Chat } from './chat/chat.js'
import { compare, hideComparison } from './compare.js'
import { followView, setUpDock } from './dock/dock.js'
import { setUpDoctor } from './doctor/doctor.js'
import { firstChoice } from './chat/decision-view.js'
import { byId, element } from './dom.js'
import { onRemembered, recall } from './kept.js'
import { setUpPlanner } from './planner/planner.js'
import { openRace } from './race/race.js'
import { setUpSurvive } from './race/survive.js'
import { setUpOwnTools } from './own-tools.js'
import { apply, setUp } from './settings.js'
import { openShared, setUpShare } from './share-view.js'
import { setUpTheme } from './theme.js'
import { Timeline } from './timeline.js'
import { fileNames } from './files.js'
import { runs, sent } from './tools.js'
import { setUpViews } from './views.js'
import { keepTo, setUpWhere } from './where.js'

const PRESETS = [
  { name: 'A model that loops', behaviour: 'loop' },
  { name: 'List, then read', behaviour: 'list-then-read', policy: { maxTools: 2 } },
  { name: 'No tool needed', behaviour: 'answer', prompt: 'Hello, who are you?' },
  { name: 'Never a word', behaviour: 'loop-silent' },
  {
    name: 'Answer, and send a note',
    behaviour: 'read-then-note',
    policy: { actionTools: 'send_note' },
    prompt: 'Read my notes and tell Ada what is next.',
  },
  { name: 'Pause, then resume', behaviour: 'one-call', policy: { pauseAfterTools: true } },
  { name: 'Reload in between', behaviour: 'unhurried', toolMs: 3000 },
]

const timeline = new Timeline(byId('timeline'))
const chat = new Chat(timeline, alone)
/** What runs now: empty, one turn, or the two of a comparison. */
const running = new Set()
let busy = false

/** Runs `work` with the buttons to stop what it has `started`; nothing starts beside it. */
async function alone(work, status = 'The model is at work…') {
  if (busy) return
  busy = true
  const before = document.activeElement
  const wasElsewhere = before === document.body
  show()
  byId('status').textContent = status
  try {
    byId('status').textContent = await work((turn) => {
      running.add(turn)
      show()
      // A button that is disabled or gone loses the focus.
      if (before.disabled || !before.isConnected) byId('stop').focus()
      return () => running.delete(turn)
    })
  } catch (error) {
    byId('status').textContent = `${error.code ?? error.name}: ${error.message}`
  }
  running.clear()
  busy = false
  const lost = [byId('stop'), byId('pause'), document.body].includes(document.activeElement)
  show()
  if (lost && !wasElsewhere) {
    // Not the text field: on a phone that would open the keyboard.
    const next = [chat.waits ? firstChoice() : undefined, before, byId('send')]
    next.find((one) => one?.isConnected && !one.disabled)?.focus({ preventScroll: true })
  }
  keepUp()
}

/** Reads what another tab has done. */
function keepUp() {
  if (busy) return
  if (chat.isBehind) void alone((started) => chat.catchUp(started), 'Reading along…')
  else if (chat.hasMissed) chat.show()
}

function show() {
  byId('stop').disabled = !running.size
  byId('pause').disabled = ![...running].some((turn) => turn.pause)
  const others = document.querySelectorAll(
    '#compare, #clear, #presets button, #survive-slow, #survive-ask',
  )
  for (const button of others) button.disabled = busy
  byId('send').disabled = busy || chat.waits
  byId('files').replaceChildren(...fileNames.map((name) => element('li', {}, name)))
  const notes = sent().map(({ to, text }) => element('li', {}, `To ${to}: ${text}`))
  byId('notes').replaceChildren(...(notes.length ? notes : [element('li', {}, 'None yet.')]))
  const counted = runs().map(([name, { started, finished }]) =>
    element('li', {}, `${name}: ${started} started, ${finished} finished`),
  )
  byId('runs').replaceChildren(...counted)
  byId('counted').hidden = !counted.length
}

function prompted() {
  const text = byId('prompt').value.trim()
  if (!text) byId('status').textContent = 'Write a message first.'
  return text
}

function send() {
  if (chat.waits) {
    byId('status').textContent = 'The turn waits for your decision.'
    return
  }
  const text = prompted()
  if (text) void alone((started) => chat.send(text, started))
}

const clear = () =>
  alone(async () => {
    await chat.clear()
    hideComparison()
    return ''
  })

async function play(preset) {
  await clear()
  keepTo(preset.policy)
  apply(preset)
  byId('prompt').value = preset.prompt ?? 'What is in my files?'
  send()
}

for (const preset of PRESETS) {
  const button = element('button', { type: 'button' }, preset.name)
  button.addEventListener('click', () => void play(preset))
  byId('presets').append(button)
}
byId('composer').addEventListener('submit', (event) => {
  event.preventDefault()
  send()
})
byId('prompt').addEventListener('keydown', (event) => {
  // Enter that ends a composed character (an input method's) is not meant for us.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  send()
})
byId('compare').addEventListener('click', () => {
  const text = prompted()
  if (text) void alone((started) => compare(text, started))
})
byId('stop').addEventListener('click', () => {
  for (const turn of running) turn.cancel('stopped by the user')
})
byId('pause').addEventListener('click', () => {
  for (const turn of running) turn.pause?.()
})
byId('clear').addEventListener('click', () => void clear())
byId('settings').addEventListener('submit', (event) => event.preventDefault())

onRemembered((key, elsewhere) => {
  show()
  if (elsewhere) keepUp()
})

setUpTheme()
setUpDock()
await setUp()
setUpOwnTools()
await setUpWhere()
chat.show()
show()
setUpSurvive((name) => void play(PRESETS.find((preset) => preset.name === name)))
setUpShare()
setUpViews(followView, openShared, {
  race: openRace,
  doctor: setUpDoctor,
  bundle: setUpBundle,
  planner: setUpPlanner,
  chain: setUpChain,
  // Loads the proxy's part of the core.
  proxy: async () => (await import('./proxy/proxy.js')).openProxy(),
})
document.documentElement.dataset.ready = 'true'
if (recall('turn')) void alone((started) => chat.catchUp(started), 'Reading a turn that is open…')
else void chat.showLastTurn()
