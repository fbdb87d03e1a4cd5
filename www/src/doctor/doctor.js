// Your trace: paste what an agent left behind; see where it looped, what a provider would refuse, and
// how it is repaired.
import { PROVIDERS } from 'turnlock'
import { inspectText, replay } from 'turnlock/inspect'
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, element, many, short } from '../dom.js'
import { LONGEST, packed, unpacked, withoutKeys } from '../share.js'
import { showLoops } from '../trace/loops.js'
import { markChosen, showProviders } from '../trace/providers.js'
import { showElements } from './elements.js'
import { EXAMPLES } from './examples.js'
import { showFindings } from './findings.js'
import { showOutput } from './output.js'

/** After the last key, so that half a word is not called an error. */
const PAUSE_MS = 300

const STRATEGIES = {
  reconstruct: 'Every call with its result, in the order that the provider wants.',
  text_only: 'What was said, without calls and results.',
  thread: 'For a provider that keeps the history by a thread id: only what it lacks.',
}

export function setUpDoctor() {
  byId('dialect').append(
    ...PROVIDERS.map(({ dialect, title }) => element('option', { value: dialect }, title)),
  )
  byId('example').append(
    ...Object.keys(EXAMPLES).map((name) => element('option', { value: name }, name)),
  )
  let timer
  const soon = () => {
    clearTimeout(timer)
    timer = setTimeout(show, PAUSE_MS)
  }
  const now = () => {
    clearTimeout(timer)
    show()
  }
  /** What was typed, to come back to after an example. */
  let typed = ''
  const load = () => {
    const history = EXAMPLES[byId('example').value]
    byId('history').value = history ? JSON.stringify(history, null, 2) : typed
    now()
  }
  byId('history').addEventListener('input', ({ target }) => {
    typed = target.value
    byId('example').value = ''
    soon()
  })
  byId('conversation').addEventListener('input', soon)
  byId('refusal').addEventListener('input', soon)
  byId('loops-budget').addEventListener('input', ({ target }) => {
    byId('loops-budget-value').textContent = target.value
    showLoops(examined.trace, Number(target.value))
  })
  byId('loops-replay').addEventListener('click', () => void again())
  byId('replay-at').addEventListener('input', ({ target }) => point(Number(target.value)))
  setUpDrop((text) => {
    byId('history').value = typed = text
    byId('example').value = ''
    now()
  })
  byId('dialect').addEventListener('change', now)
  byId('strategy').addEventListener('change', now)
  byId('example').addEventListener('change', load)
  byId('trace-share').addEventListener('click', () => void share())
  const open = async () => {
    const [id, shared] = location.hash.split('?t=')
    if (id !== '#doctor' || !shared) return false
    try {
      typed = await unpacked(shared)
      byId('history').value = typed
      byId('example').value = ''
      now()
      return true
    } catch {
      byId('trace-shared').textContent = 'The link is broken: this is an example.'
      return false
    }
  }
  // The same page with another link is no new page.
  addEventListener('hashchange', () => void open())
  byId('example').value = Object.keys(EXAMPLES)[0]
  load()
  void open()
}

/** Puts what is in the field into an address, and that into the clipboard. */
async function share() {
  const link = `${location.href.split('#')[0]}#doctor?t=${await packed(withoutKeys(byId('history').value))}`
  const says = byId('trace-shared')
  if (link.length > LONGEST) {
    says.textContent = `Too long for a link: ${link.length} characters.`
    return
  }
  try {
    await navigator.clipboard.writeText(link)
    says.textContent = 'Copied. Whoever has the link has the trace.'
  } catch {
    history.replaceState(null, '', link)
    says.textContent = 'The link is in the address bar now.'
  }
}

/** What is examined now. */
let examined = {}
/** The events of the last replay. */
let events = []

/** A file that is dropped anywhere in the view, or chosen. */
function setUpDrop(take) {
  const read = async ([file]) => file && take(await file.text())
  byId('trace-file').addEventListener('change', ({ target }) => void read(target.files))
  byId('doctor').addEventListener('dragover', (event) => event.preventDefault())
  byId('doctor').addEventListener('drop', (event) => {
    event.preventDefault()
    void read(event.dataTransfer.files)
  })
}

/** Replays the calls of the trace, with the budget that the slider says. */
async function again() {
  const { trace } = examined
  events = []
  const log = new Log()
  showLog('doctor', log)
  byId('replay-events').replaceChildren()
  byId('replay').hidden = false
  byId('replay-said').textContent = 'Replaying…'
  const budget = Number(byId('loops-budget').value)
  const policy = { maxTools: budget }
  const { turn, messages, tools, deltas } = replay(trace, policy)
  log.turn = { mode: 'two_stage', policy, messages, tools, deltas }
  for await (const event of turn) {
    if (examined.trace !== trace) continue
    events.push(event)
    log.add(event)
  }
  const result = await turn.result
  if (examined.trace !== trace) return
  byId('replay-events').replaceChildren(...events.map(eventRow))
  byId('replay-at').max = events.length - 1
  byId('replay-at').value = events.length - 1
  const ok = result.toolResults.filter(({ status }) => status === 'ok')
  const ran = ok.filter(({ replayed }) => !replayed).length
  const again = ok.length - ran
  const refused = events.flatMap(({ type, toolCalls }) => (type === 'refused' ? toolCalls : []))
  const parts = [
    `${many(ran, 'call')} ran`,
    again && `${again} asked again and got the same result without a run`,
    refused.length && `${refused.length} refused`,
    result.fullContent ? 'then an answer' : 'no answer',
  ]
  byId('replay-said').textContent = `${result.status}: ${parts.filter(Boolean).join(', ')}.`
  point(events.length - 1)
}

const SAID = {
  phase_start: ({ phase }) => phase,
  text: ({ chunk }) => chunk,
  tool_calls: ({ toolCalls }) => toolCalls.map(({ name }) => name).join(', '),
  tool_results: ({ toolResults }) =>
    toolResults.map(({ name, status }) => `${name}: ${status}`).join(', '),
  refused: ({ toolCalls, reason }) => `${toolCalls.map(({ name }) => name).join(', ')}: ${reason}`,
}

function eventRow(event, at) {
  const summary = SAID[event.type]?.(event) ?? ''
  const button = element('button', { type: 'button' })
  button.append(element('strong', {}, event.type), ` ${short(summary, 80)}`)
  button.addEventListener('click', () => point(at))
  return element('li', { className: event.type }, button)
}

/** Shows the event at this place of the replay. */
function point(at) {
  const event = events[at]
  if (!event) return
  byId('replay-at').value = at
  byId('replay-at-value').textContent = `${at + 1} of ${events.length}`
  ;[...byId('replay-events').children].forEach((row, place) => {
    row.classList.toggle('later', place > at)
    row.firstChild.setAttribute('aria-pressed', String(place === at))
  })
  byId('replay-json').textContent = JSON.stringify(event, null, 2)
}

/** The elements of a history, as events. */
function logged(history) {
  const log = new Log()
  for (const item of history) log.add(item, { type: item?.type ?? item?.role ?? 'element' })
  return log
}

/** What was recognised, in a line. */
function recognised({ format, history, trace, otherFields, partial }) {
  if (!format) return ''
  const counts = [
    history.length && many(history.length, 'element'),
    trace?.calls.length && many(trace.calls.length, 'call'),
  ]
  if (partial) counts.push('continues state at the provider')
  const others = otherFields?.length ? `; beside it: ${otherFields.slice(0, 6).join(', ')}` : ''
  return [format, ...counts].filter(Boolean).join(' · ') + others
}

function show() {
  const [dialect, strategy] = [byId('dialect'), byId('strategy')]
  const text = byId('history').value
  byId('strategy-about').textContent = STRATEGIES[strategy.value]
  byId('thread').hidden = strategy.value !== 'thread'
  const found = text.trim()
    ? inspectText(text, {
        dialect: dialect.value,
        strategy: strategy.value,
        conversationId: byId('conversation').value,
        providerError: byId('refusal').value.trim(),
      })
    : {}
  const isNew =
    JSON.stringify(examined.history) !== JSON.stringify(found.history) ||
    examined.partial !== found.partial
  examined = found
  byId('recognised').textContent = recognised(found)
  showLoops(found.trace, Number(byId('loops-budget').value))
  byId('loops-replay').disabled = !found.trace?.calls.length
  if (isNew) {
    byId('replay').hidden = true
    showLog('doctor', logged(found.history ?? []))
    void showProviders(found)
  } else markChosen()
  const marks = showFindings(found)
  showElements(found.history ?? [], marks)
  showOutput(found)
  byId('history').setAttribute('aria-invalid', String(found.error !== undefined))
  const named = (found.violations ?? []).findIndex(({ code }) => found.refused?.includes(code))
  byId('refusal-about').textContent = refusalSaid(found, named)
  if (named >= 0 && document.activeElement === byId('refusal')) {
    byId('violations').children[named].classList.add('pointed')
    byId('violations').children[named].scrollIntoView({ block: 'nearest' })
  }
  byId('outcome').classList.toggle('failed', found.error !== undefined)
  byId('outcome').textContent = outcome(found, dialect.selectedOptions[0].text)
}

/** Where the provider's error leads. */
function refusalSaid({ refused, violations, providerError }, named) {
  if (!refused || (providerError && !violations)) return ''
  if (!refused.length) return 'No rule about histories that Turnlock knows.'
  const where = named < 0 ? 'but nothing here breaks it' : `element ${violations[named].index}`
  return `${refused.join(', ')}: ${where}.`
}

/** What came of it, in a line. */
function outcome({ history, violations, result, refused, providerError, error }, provider) {
  if (error) return `${error.code ?? error.name}: ${error.message}`
  if (providerError && !violations) {
    const rules = refused.length
      ? `It names ${refused.join(', ')}.`
      : 'It is not about the history.'
    return `${rules} Paste the request that was refused, and this beneath it.`
  }
  if (!result) return 'Paste a history, or choose an example.'
  const { messages, repairs } = result
  const made = `${many(messages.length, 'message')} for ${provider}`
  // The other strategies leave out what needs no repair.
  if (repairs.length || byId('strategy').value !== 'reconstruct') {
    return `${many(violations.length, 'violation')}, ${many(repairs.length, 'repair')}: ${made}.`
  }
  // Other words for the same are no repair, but the provider reads only its own.
  const same = JSON.stringify(messages) === JSON.stringify(history)
  return same
    ? `Nothing to repair: ${provider} takes this history as it is.`
    : `Nothing to repair, only to say in other words: ${made}.`
}
