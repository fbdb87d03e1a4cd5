// The events of a turn, as a list that a person can follow.
import { byId, element, follow, many, settle, short, stream } from './dom.js'

const PHASES = {
  tool_phase: ({ maxTools }) => ['Tool phase', `at most ${many(maxTools, 'call')} may run`],
  action_phase: ({ actionTools, actionMaxTools }) => [
    'Action phase',
    actionTools.length
      ? `the model answers; at most ${many(actionMaxTools, 'call')} of ${[actionTools].flat().join(', ')}`
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
  not_approved: 'You refused it',
}

const code = (text) => element('code', {}, text)
const row = (kind, ...children) => element('li', { className: kind }, ...children)
const callOf = ({ name, args }) => code(`${name} ${short(args)}`)

const ROWS = {
  phase_start({ phase, resumed }, { policy }) {
    const [name, rule] = PHASES[phase](policy)
    if (!resumed) return [row('phase', name, element('small', {}, rule))]
    return [row('phase', `${name}, resumed`, element('small', {}, 'goes on where it stood'))]
  },
  tool_calls: ({ toolCalls, toolBatchId }) =>
    toolCalls.map((call) => row('call', `Batch ${toolBatchId}: call `, callOf(call))),
  tool_results: ({ toolResults }) => toolResults.map(resultRow),
  stagnation: ({ tool, count }) => [
    row('note', `${tool} returned the same result ${count} times, behind other arguments`),
  ],
  refused: ({ toolCalls, reason, notice }) =>
    toolCalls.map((call) =>
      row(
        'refused',
        element('strong', {}, `Refused (${reason}): `),
        callOf(call),
        element('small', {}, `${REASONS[reason]}. The model is told: “${notice}”`),
      ),
    ),
  approval_required: ({ toolCalls }) =>
    toolCalls.map((call) => row('call', 'Needs your approval: ', callOf(call))),
  paused: ({ approvals }) => [
    row(
      'end',
      approvals
        ? `Paused: ${many(approvals.length, 'call')} to approve or refuse`
        : 'Paused: the action phase waits to be resumed',
    ),
  ],
  complete: ({ usage, composed, text }) => [
    ...(composed
      ? [row('refused', 'The model gave no answer; this one was composed from the results.')]
      : []),
    row(
      text ? 'end' : 'bad end',
      `${text ? 'Complete' : 'Complete, without an answer'}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
      element(
        'small',
        {},
        usage.incomplete
          ? 'as the model reported them; a response was not read to its end'
          : 'as the model reported them',
      ),
    ),
  ],
  cancelled: ({ reason }) => [row('bad', `Cancelled: ${reason}`)],
  error: ({ code: name, message }) => [row('bad', `Error ${name}: ${message}`)],
}

/** Characters of a text in the list: to lay out a long one again and again takes long. */
const LONG_TEXT = 2000

const KINDS = { ok: 'ok', blocked: 'refused', skipped: 'refused' }

function resultRow({ name, status, result, error, durationMs, replayed, revised, truncated }) {
  const changed = revised && (error ? 'left out by you' : 'changed by you')
  const notes = [changed || status, replayed && 'replayed, not run again', truncated && 'cut']
  const ran = !replayed && !revised && !['blocked', 'skipped', 'unknown'].includes(status)
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
  /** What the events tell, for a turn whose result this page does not get. */
  #told

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
    this.#told = { status: 'running', toolResults: [], blockedSignatures: [], repeats: {} }
    this.#list.replaceChildren()
    this.#facts?.replaceChildren()
  }

  add(event) {
    if (event.type === 'text' || event.type === 'reasoning') return this.#say(event)
    settle()
    if (event.resumed) this.#void()
    // What a failure cut off is void only when the turn goes on.
    if (event.type !== 'error') this.#text = undefined
    this.composed ||= event.composed === true
    for (const call of event.toolCalls ?? []) this.#calls.set(call.signature, call)
    for (const result of event.toolResults ?? []) {
      const { toolResults } = this.#told
      const before = toolResults.findLastIndex((one) => one.toolCallId === result.toolCallId)
      if (result.revised && before >= 0) toolResults[before] = result
      else toolResults.push(result)
    }
    this.#told.blockedSignatures = event.blockedSignatures ?? this.#told.blockedSignatures
    this.#told.repeats = event.repeats ?? this.#told.repeats
    this.#told.status = STATUS[event.type] ?? 'running'
    this.#append(...(ROWS[event.type]?.(event, this.#turn) ?? []))
  }

  /** Something that is no event of the turn: what this page does with it. */
  note(text, kind = 'note') {
    this.#append(row(kind, text))
  }

  /**
   * The turn has ended, or pauses. Those who read along get no `result`.
   * @returns {string} how it stands, in a line for those who do not see the lists
   */
  end(result) {
    const outcome = { ...this.#told, ...result }
    const blocked = outcome.blockedSignatures.map((signature) =>
      element(
        'div',
        { className: 'blocked' },
        callOf(this.#calls.get(signature) ?? { name: 'call', args: {} }),
        element('small', { title: signature }, ` signature ${signature.slice(0, 12)}…`),
      ),
    )
    if (blocked.length && outcome.status !== 'paused') {
      this.#append(row('refused', 'Blocked in this turn:', ...blocked))
    }
    const items = Object.entries({ ...counts(outcome), ...budget(outcome, this.#turn) })
    this.#facts?.replaceChildren(
      ...items.map(([name, value]) => element('li', {}, `${name}: ${value}`)),
    )
    return summary(outcome)
  }

  #append(...rows) {
    follow(this.#list, () => this.#list.append(...rows))
  }

  /** Neighbouring pieces of text are one row. */
  #say({ type, chunk }) {
    if (this.#text?.type !== type) {
      const body = element('span')
      this.#append(row('said', `${type === 'text' ? 'Text' : 'Reasoning'}: `, body))
      this.#text = { type, body, length: 0 }
    }
    const before = this.#text.length
    this.#text.length += chunk.length
    if (before >= LONG_TEXT) return
    const rest = this.#text.length > LONG_TEXT ? '… (all of it is beside, and below)' : ''
    stream(this.#list, this.#text.body, chunk.slice(0, LONG_TEXT - before) + rest)
  }

  #void() {
    const cut = this.#text?.body.parentElement
    cut?.classList.add('void')
    cut?.append(element('small', {}, 'Cut off, so void: the model is asked again.'))
  }
}

const STATUS = {
  complete: 'complete',
  paused: 'paused',
  cancelled: 'cancelled',
  error: 'failed',
}

const executed = ({ toolResults }) =>
  toolResults.filter((one) => !one.replayed && (one.revised || KINDS[one.status] !== 'refused'))
    .length

/**
 * The numbers of a turn. Tokens are none of them: a response that `readMode` cuts reports no
 * usage, so two turns cannot be compared by it. Who reads along is not told the model calls.
 */
export function counts(result) {
  const { inferences, repeats = {}, blockedSignatures, status } = result
  return {
    ...(inferences !== undefined && { 'Model calls': inferences }),
    'Tools executed': executed(result),
    'Repeats not run': Object.values(repeats).reduce((sum, times) => sum + times, 0),
    'Calls blocked (each once)': blockedSignatures.length,
    Status: status,
  }
}

function budget(result, { mode, policy }) {
  if (mode === 'unified') {
    const { inferences } = result
    return inferences === undefined ? {} : { 'Steps used': `${inferences} of ${policy.maxSteps}` }
  }
  const action = policy.actionTools.length ? policy.actionMaxTools : 0
  const most = (policy.maxTools + action) * policy.maxCycles
  return { 'Budget used': `${executed(result)} of ${most}` }
}

function summary(result) {
  const { inferences, blockedSignatures, status } = result
  const parts = [
    ...(inferences === undefined ? [] : [many(inferences, 'model call')]),
    `${many(executed(result), 'tool')} executed`,
    `${many(blockedSignatures.length, 'call')} blocked`,
  ]
  return `Turn ${status}: ${parts.join(', ')}.`
}
