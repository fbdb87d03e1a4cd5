// The events of a turn, as a list that a person can follow.
import { byId, element, follow, many, short } from './dom.js'

const PHASES = {
  tool_phase: ({ maxTools }) => ['Tool phase', `at most ${many(maxTools, 'call')} may run`],
  action_phase: ({ actionTools, actionMaxTools }) => [
    'Action phase',
    actionTools.length
      ? `the model answers; at most ${many(actionMaxTools, 'call')} of ${actionTools.join(', ')}`
      : 'no tools; the model answers',
  ],
  unified: ({ maxSteps }) => [
    'Unified loop',
    `tools always offered; at most ${many(maxSteps, 'model call')}`,
  ],
}

const REASONS = {
  duplicate: 'The same call ran before',
  budget: 'The budget is spent',
  not_allowed: 'Not on the list of this phase',
  tools_disabled: 'No tools in this phase',
  unknown_tool: 'No such tool',
  invalid_arguments: 'The arguments do not fit',
}

const code = (text) => element('code', {}, text)
const row = (kind, ...children) => element('li', { className: kind }, ...children)
const callOf = ({ name, args }) => code(`${name} ${short(args)}`)

const ROWS = {
  phase_start({ phase }, { policy }) {
    const [name, rule] = PHASES[phase](policy)
    return [row('phase', name, element('small', {}, rule))]
  },
  tool_calls: ({ toolCalls, toolBatchId }) =>
    toolCalls.map((call) => row('call', `Batch ${toolBatchId}: call `, callOf(call))),
  tool_results: ({ toolResults }) => toolResults.map(resultRow),
  refused: ({ toolCalls, reason, notice }) =>
    toolCalls.map((call) =>
      row(
        'refused',
        element('strong', {}, `Refused (${reason}): `),
        callOf(call),
        element('small', {}, `${REASONS[reason]}. The model is told: “${notice}”`),
      ),
    ),
  paused: () => [row('end', 'Paused: the action phase waits to be resumed')],
  complete: ({ usage, composed }) => [
    ...(composed
      ? [row('refused', 'The model gave no answer; this one was composed from the results.')]
      : []),
    row(
      'end',
      `Complete: ${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
      element(
        'small',
        {},
        'as the model reported them; a response that was cut short reports none',
      ),
    ),
  ],
  cancelled: ({ reason }) => [row('bad', `Cancelled: ${reason}`)],
  error: ({ code: name, message }) => [row('bad', `Error ${name}: ${message}`)],
}

const KINDS = { ok: 'ok', blocked: 'refused', skipped: 'refused' }

function resultRow({ name, status, result, error, durationMs, replayed, truncated }) {
  const notes = [status, replayed && 'replayed, not run again', truncated && 'cut']
  const ran = !replayed && !(KINDS[status] === 'refused')
  return row(
    KINDS[status] ?? 'bad',
    `${name}: ${notes.filter(Boolean).join(', ')} `,
    code(short(error?.message ?? result ?? 'nothing')),
    ran ? ` in ${Math.round(durationMs)} ms` : '',
  )
}

/** Shows one turn at a time in a list. */
export class Timeline {
  /** Whether the answer was made from the results. */
  composed = false
  #list
  #facts
  #text
  #turn
  /** Signature → call, for the list of what was blocked. */
  #calls = new Map()

  /** @param {HTMLOListElement} list */
  constructor(list) {
    this.#list = list
    this.#facts = list.id === 'timeline' ? byId('facts') : undefined
  }

  clear() {
    const hint = 'Nothing yet. Each phase, call, result and refusal of the next turn appears here.'
    this.#list.replaceChildren(row('hint', hint))
    this.#facts?.replaceChildren()
  }

  start(mode, policy) {
    this.#turn = { mode, policy }
    this.#text = undefined
    this.#calls.clear()
    this.composed = false
    this.#list.replaceChildren()
    this.#facts?.replaceChildren()
  }

  add(event) {
    if (event.type === 'text' || event.type === 'reasoning') return this.#say(event)
    this.#text = undefined
    this.composed ||= event.composed === true
    for (const call of event.toolCalls ?? []) this.#calls.set(call.signature, call)
    this.#append(...(ROWS[event.type]?.(event, this.#turn) ?? []))
  }

  end(result) {
    const blocked = result.blockedSignatures.map((signature) =>
      element(
        'div',
        { className: 'blocked' },
        callOf(this.#calls.get(signature) ?? { name: 'call', args: {} }),
        element('small', { title: signature }, ` signature ${signature.slice(0, 12)}…`),
      ),
    )
    if (blocked.length) this.#append(row('refused', 'Blocked in this turn:', ...blocked))
    const items = Object.entries({ ...counts(result), ...budget(result, this.#turn) })
    this.#facts?.replaceChildren(
      ...items.map(([name, value]) => element('li', {}, `${name}: ${value}`)),
    )
  }

  #append(...rows) {
    follow(this.#list, () => this.#list.append(...rows))
  }

  /** Neighbouring pieces of text are one row. */
  #say({ type, chunk }) {
    if (this.#text?.type !== type) {
      const body = element('span')
      this.#append(row('said', `${type === 'text' ? 'Text' : 'Reasoning'}: `, body))
      this.#text = { type, body }
    }
    follow(this.#list, () => this.#text.body.append(chunk))
  }
}

const executed = ({ toolResults }) =>
  toolResults.filter((one) => !one.replayed && KINDS[one.status] !== 'refused').length

/**
 * The numbers of a turn. Tokens are none of them: a response that the freeze cuts reports no
 * usage, so two turns cannot be compared by it.
 */
export function counts(result) {
  const { inferences, toolResults, blockedSignatures, status } = result
  return {
    'Model calls': inferences,
    'Tools executed': executed(result),
    'Repeats replayed': toolResults.filter((one) => one.replayed).length,
    'Different calls blocked': blockedSignatures.length,
    Status: status,
  }
}

function budget(result, { mode, policy }) {
  if (mode === 'unified') return { 'Steps used': `${result.inferences} of ${policy.maxSteps}` }
  const action = policy.actionTools.length ? policy.actionMaxTools : 0
  const most = (policy.maxTools + action) * policy.maxCycles
  return { 'Budget used': `${executed(result)} of ${most}` }
}

/** How a turn ended, in a line for those who do not see the lists. */
export function summary(result) {
  const { inferences, blockedSignatures, status } = result
  const blocked = many(blockedSignatures.length, 'different call')
  return `Turn ${status}: ${many(inferences, 'model call')}, ${many(executed(result), 'tool')} executed, ${blocked} blocked.`
}
