// Valid?: what each provider would refuse in the history as it is, and how many repairs it takes.
import { inspectHistory } from 'turnlock/inspect'
import { byId, element } from '../dom.js'

let requests = 0

/** Counts for each option of `#dialect`, one after the other, so that typing is not held up. */
export async function showProviders({ error, violations, result, ...recognized }) {
  const mine = ++requests
  const options = [...byId('dialect').options]
  const chips = options.map((option) => {
    const chip = element('button', { type: 'button', className: 'chip', value: option.value })
    chip.append(element('span', {}, option.text), element('strong', {}, '…'))
    chip.addEventListener('click', () => {
      byId('dialect').value = option.value
      byId('dialect').dispatchEvent(new Event('change'))
    })
    return chip
  })
  byId('providers').replaceChildren(...chips)
  for (const chip of chips) {
    await new Promise((resolve) => setTimeout(resolve))
    if (mine !== requests) return
    show(chip, recognized)
  }
  markChosen()
}

function show(chip, recognized) {
  const label = chip.lastChild
  if (!recognized.history?.length) {
    label.textContent = '–'
    return
  }
  const { violations, result, error } = inspectHistory(recognized, { dialect: chip.value })
  if (error) {
    label.textContent = '?'
    chip.title = error.message
    return
  }
  const wrong = violations.length
  label.textContent = wrong ? `✕ ${wrong}` : '✓'
  chip.className = `chip ${wrong ? 'bad' : 'good'}`
  chip.title = `${wrong} refused as it is, ${result.repairs.length} repaired`
}

export function markChosen() {
  for (const chip of byId('providers').children) {
    chip.setAttribute('aria-pressed', String(chip.value === byId('dialect').value))
  }
}
