// The events of a turn, as a list that a person can follow.
import { byId, element, short } from './dom.js'

const PHASES = {
  tool_phase: 'Tool phase',
  action_phase: 'Action phase',
  unified: 'Unified loop',
}

const code = (text) => element('code', {}, text)
const row = (kind, ...children) => element('li', { className: kind }, ...children)

const ROWS = {
  phase_start: ({ phase }) => [row('phase', PHASES[phase])],
  tool_calls: ({ toolCalls, toolBatchId }) =>
    toolCalls.map(({ name, args }) =>
      row('call', `Batch ${toolBatchId}: call `, code(`${name} ${short(args)}`)),
    ),
  tool_results: ({ toolResults }) =>
    toolResults.map(({ name, status, result, error, durationMs, replayed, truncated }) =>
      row(
        status === 'ok' ? 'ok' : 'bad',
        `${name}: ${status}${replayed ? ', replayed' : ''}${truncated ? ', cut' : ''} `,
        code(short(error?.message ?? result ?? '')),
        replayed ? '' : ` in ${durationMs} ms`,
      ),
    ),
  refused: ({ toolCalls, reason, notice }) =>
    toolCalls.map(({ name, args }) =>
      row(
        'refused',
        element('strong', {}, `Refused (${reason}): `),
        code(`${name} ${short(args)}`),
        ` ${notice}`,
      ),
    ),
  paused: () => [row('end', 'Paused: the action phase waits to be resumed')],
  complete: ({ usage, composed }) => [
    row(
      'end',
      `Complete${composed ? ', answer composed from the results' : ''}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
    ),
  ],
  cancelled: ({ reason }) => [row('bad', `Cancelled: ${reason}`)],
  error: ({ code: name, message }) => [row('bad', `Error ${name}: ${message}`)],
}

/** Shows one turn at a time. */
export class Timeline {
  #list = byId('timeline')
  #text

  clear() {
    this.#list.replaceChildren(
      row(
        'hint',
        'Nothing yet. Each phase, call, result and refusal of the next turn appears here.',
      ),
    )
    byId('facts').replaceChildren()
    this.#text = undefined
  }

  add(event) {
    if (event.seq === 1) this.#list.replaceChildren()
    if (event.type === 'text' || event.type === 'reasoning') return this.#say(event)
    this.#text = undefined
    const rows = ROWS[event.type]?.(event) ?? []
    this.#list.append(...rows)
    rows.at(-1)?.scrollIntoView({ block: 'nearest' })
  }

  /** Neighbouring pieces of text are one row. */
  #say({ type, chunk }) {
    if (this.#text?.type !== type) {
      const body = element('span')
      this.#list.append(row('said', `${type === 'text' ? 'Text' : 'Reasoning'}: `, body))
      this.#text = { type, body }
    }
    this.#text.body.append(chunk)
  }

  facts(result) {
    const items = Object.entries(counts(result)).map(([name, value]) => `${name}: ${value}`)
    byId('facts').replaceChildren(...items.map((item) => element('li', {}, item)))
  }
}

/** The numbers of a turn. */
export function counts({ inferences, toolResults, blockedSignatures, status }) {
  const executed = toolResults.filter(
    (one) => !one.replayed && !['blocked', 'skipped'].includes(one.status),
  )
  return {
    'Model calls': inferences,
    'Tools executed': executed.length,
    'Repeats replayed': toolResults.filter((one) => one.replayed).length,
    'Different calls blocked': blockedSignatures.length,
    Status: status,
  }
}
