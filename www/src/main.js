// The page: what the buttons do, and that one thing runs at a time.
import { Chat } from './chat.js'
import { compare, hideComparison } from './compare.js'
import { setUpDoctor } from './doctor/doctor.js'
import { byId, element } from './dom.js'
import { setUpPlanner } from './planner/planner.js'
import { apply, setUp } from './settings.js'
import { Timeline } from './timeline.js'
import { fileNames, sent } from './tools.js'
import { setUpViews } from './views.js'

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
]

const chat = new Chat()
const timeline = new Timeline(byId('timeline'))
/** What runs now: empty, one turn, or the two of a comparison. */
const running = new Set()
let busy = false

/** Runs `work` with the buttons to stop it; nothing starts beside it. */
async function alone(work) {
  if (busy) return
  busy = true
  const before = document.activeElement
  show()
  byId('status').textContent = 'The model is at work…'
  // A button that is disabled under the focus would lose it.
  if (before?.disabled) byId('stop').focus()
  try {
    byId('status').textContent = await work((turn) => running.add(turn))
  } catch (error) {
    byId('status').textContent = `${error.code ?? error.name}: ${error.message}`
  }
  running.clear()
  busy = false
  const lost = [byId('stop'), byId('pause'), document.body].includes(document.activeElement)
  show()
  // Not the text field: on a phone that would open the keyboard.
  if (lost) before?.focus({ preventScroll: true })
}

function show() {
  for (const id of ['stop', 'pause']) byId(id).disabled = !busy
  const others = document.querySelectorAll('#compare, #clear, #presets button, [type=submit]')
  for (const button of others) button.disabled = busy
  byId('files').replaceChildren(...fileNames.map((name) => element('li', {}, name)))
  const notes = sent.map(({ to, text }) => element('li', {}, `To ${to}: ${text}`))
  byId('notes').replaceChildren(...(notes.length ? notes : [element('li', {}, 'None yet.')]))
}

function prompted() {
  const text = byId('prompt').value.trim()
  if (!text) byId('status').textContent = 'Write a message first.'
  return text
}

function send() {
  const text = prompted()
  if (text) void alone((started) => chat.send(text, timeline, started))
}

function clear() {
  chat.clear()
  timeline.clear()
  hideComparison()
  byId('status').textContent = ''
}

for (const preset of PRESETS) {
  const button = element('button', { type: 'button' }, preset.name)
  button.addEventListener('click', () => {
    clear()
    apply(preset)
    byId('prompt').value = preset.prompt ?? 'What is in my files?'
    send()
  })
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
  for (const turn of running) turn.pause()
})
byId('clear').addEventListener('click', clear)
byId('settings').addEventListener('submit', (event) => event.preventDefault())

await setUp()
clear()
show()
setUpViews({ doctor: setUpDoctor, planner: setUpPlanner })
document.documentElement.dataset.ready = 'true'
