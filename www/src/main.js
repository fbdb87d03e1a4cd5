// The page: a chat beside the timeline of its turn.
import { runTurn } from 'turnlock'
import { byId, element } from './dom.js'
import { choices, setUp } from './settings.js'
import { counts, Timeline } from './timeline.js'
import { tools } from './tools.js'

const timeline = new Timeline()
const history = []
let turn

function say(role, text = '') {
  const bubble = element('div', { className: `message ${role}` }, text)
  byId('messages').append(bubble)
  bubble.scrollIntoView({ block: 'nearest' })
  return bubble
}

function greet() {
  timeline.clear()
  byId('messages').replaceChildren(
    element(
      'p',
      { className: 'hint' },
      'Send a message. The embedded model plays the behaviour chosen in the settings: with “loop” it asks for the same tool again and again.',
    ),
  )
}

function busy(on) {
  for (const id of ['stop', 'pause']) byId(id).disabled = !on
  byId('compare').disabled = on
  byId('composer').querySelector('[type=submit]').disabled = on
}

async function send(text) {
  document.querySelector('#messages .hint')?.remove()
  say('user', text)
  timeline.clear()
  busy(true)
  const bubble = say('assistant')
  try {
    const { mode, policy, model } = choices()
    const messages = [...history, { role: 'user', content: text }]
    turn = runTurn({ model: model(), mode, policy, messages, tools })
    for await (const event of turn) {
      timeline.add(event)
      if (event.type === 'text') bubble.append(event.chunk)
    }
    const result = await turn.result
    timeline.facts(result)
    if (result.error) say('assistant failed', `${result.error.code}: ${result.error.message}`)
    // The history keeps what was said; tool calls stay inside their turn.
    history.push({ role: 'user', content: text })
    if (result.fullContent) history.push({ role: 'assistant', content: result.fullContent })
    if (!bubble.textContent)
      bubble.replaceWith(element('p', { className: 'hint' }, `(no text; ${result.status})`))
  } catch (error) {
    bubble.classList.add('failed')
    bubble.textContent = `${error.code ?? error.name}: ${error.message}`
  }
  busy(false)
}

/** The same message and model in both modes. */
async function compare(text) {
  busy(true)
  const run = async (mode) => {
    const { policy, model } = choices()
    const only = runTurn({
      model: model(),
      mode,
      policy,
      messages: [{ role: 'user', content: text }],
      tools,
    })
    return only.result
  }
  const [staged, unified] = await Promise.all([run('two_stage'), run('unified')])
  const line = (name, of) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, name),
      ...[staged, unified].map((result) => element('td', {}, String(of(result)))),
    )
  const names = Object.keys(counts(staged))
  byId('comparison')
    .querySelector('tbody')
    .replaceChildren(
      ...names.map((name) => line(name, (result) => counts(result)[name])),
      line('Answer', (result) => result.text || '(none)'),
    )
  byId('comparison').hidden = false
  byId('comparison').scrollIntoView({ block: 'nearest' })
  busy(false)
}

byId('composer').addEventListener('submit', (event) => {
  event.preventDefault()
  void send(byId('prompt').value.trim())
})
byId('prompt').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey) {
    event.preventDefault()
    byId('composer').requestSubmit()
  }
})
byId('compare').addEventListener('click', () => void compare(byId('prompt').value.trim()))
byId('stop').addEventListener('click', () => turn?.cancel('stopped by the user'))
byId('pause').addEventListener('click', () => turn?.pause())
byId('clear').addEventListener('click', () => {
  history.length = 0
  byId('comparison').hidden = true
  greet()
})
byId('settings').addEventListener('submit', (event) => event.preventDefault())

await setUp()
greet()
document.documentElement.dataset.ready = 'true'
