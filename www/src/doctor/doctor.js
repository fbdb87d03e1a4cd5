// The history doctor: paste a history, see what a provider would refuse and how it is repaired.
import { byId, element, many } from '../dom.js'
import { showElements } from './elements.js'
import { examine } from './examine.js'
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
  let own = ''
  const load = () => {
    const history = EXAMPLES[byId('example').value]
    byId('history').value = history ? JSON.stringify(history, null, 2) : own
    now()
  }
  byId('history').addEventListener('input', ({ target }) => {
    own = target.value
    byId('example').value = ''
    soon()
  })
  byId('conversation').addEventListener('input', soon)
  byId('dialect').addEventListener('change', now)
  byId('strategy').addEventListener('change', now)
  byId('example').addEventListener('change', load)
  byId('example').value = Object.keys(EXAMPLES)[0]
  load()
}

function show() {
  const [dialect, strategy] = [byId('dialect'), byId('strategy')]
  const text = byId('history').value
  byId('strategy-about').textContent = STRATEGIES[strategy.value]
  byId('thread').hidden = strategy.value !== 'thread'
  const found = text.trim()
    ? examine(text, {
        dialect: dialect.value,
        strategy: strategy.value,
        conversationId: byId('conversation').value,
      })
    : {}
  const marks = showFindings(found)
  showElements(found.history ?? [], marks)
  showOutput(found)
  byId('history').setAttribute('aria-invalid', String(found.error !== undefined))
  byId('outcome').classList.toggle('failed', found.error !== undefined)
  byId('outcome').textContent = outcome(found, dialect.selectedOptions[0].text)
}

/** What came of it, in a line. */
function outcome({ history, violations, result, error }, provider) {
  if (error) return `${error.code ?? error.name}: ${error.message}`
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
