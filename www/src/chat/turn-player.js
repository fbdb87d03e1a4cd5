// Shows a turn, whoever runs it: its text among the messages, its events in the timeline and the dock.
import { showLog } from '../dock/dock.js'
import { byId, settle } from '../dom.js'
import { whyUnreachable } from '../endpoint.js'
import { runnerOf } from '../where.js'
import { isCurrent, rememberTurn } from './conversation.js'

/** Errors of this tab's run; they are no events of the turn and have no number in it. */
const RUN_ERROR =
  /^(turn\.(conflict|cancelled|not_found|interrupted|events_gone)|(store|remote|edge)\.)/
export const isRunError = ({ type, code }) => type === 'error' && RUN_ERROR.test(code)

export class TurnPlayer {
  /** The turn as it is remembered: `{ id, leg, text, mode, policy, place, edge, ms }`. */
  turn
  /** Whether more may come of it. */
  isOpen = true
  /** The last event that was shown. */
  lastEvent
  /** Signature → `{ call, result }`. */
  #calls = new Map()
  #log
  #messages
  #timeline

  constructor(turn, log, messages, timeline) {
    this.turn = turn
    this.#log = log
    this.#messages = messages
    this.#timeline = timeline
    showLog('turn', log)
    messages.begin(turn.text)
    timeline.start(turn.mode, turn.policy)
  }

  /** The calls that have a result: `{ call, result }`. */
  get settledCalls() {
    return [...this.#calls.values()].filter(({ result }) => result)
  }

  /** The events after the last one that was shown. */
  follow() {
    return runnerOf(this.turn).follow(this.turn, this.lastEvent?.seq ?? 0)
  }

  resume(wish) {
    // A test case cannot repeat a decision.
    this.#log.turn = undefined
    return runnerOf(this.turn).resume(this.turn, wish, this.#log)
  }

  /** Stops the turn, wherever it runs. */
  cancel(reason) {
    return runnerOf(this.turn).cancel(this.turn, reason)
  }

  /**
   * Shows events until the turn ends or waits. A turn that another tab goes on with is followed, one
   * whose tab is gone is resumed.
   * @returns {Promise<{ error?: object, result?: object }>} the error of the run, or the turn's result
   */
  async play(source, started) {
    this.#messages.setBusy()
    let error = await this.#read(source, started)
    while (error) {
      const next = await this.#sourceAfter(error)
      if (!next) break
      source = next
      error = await this.#read(source, started)
    }
    settle()
    this.#messages.setIdle()
    return error ? { error } : { result: await source.result }
  }

  /** The events that follow an error of the run; `undefined` if the user has to decide. */
  async #sourceAfter({ code }) {
    if (code === 'turn.conflict') {
      this.#timeline.note('turn.conflict: another tab has gone on with this turn. Reading along.')
      return this.follow()
    }
    if (code === 'turn.interrupted' && this.turn.place) {
      this.#timeline.note('turn.interrupted: whoever ran this turn is gone. Going on with it.')
      return this.resume()
    }
    return undefined
  }

  /** Shows events. @returns {Promise<object | undefined>} the error of the run */
  async #read(source, started) {
    const runsHere = 'result' in source
    const ended = started(
      runsHere ? source : { cancel: (reason) => void this.#cancelElsewhere(reason) },
    )
    let isAnnounced = !runsHere
    let error
    for await (const event of source) {
      if (isRunError(event)) {
        error = event
        continue
      }
      if (!isAnnounced && isCurrent(this.turn)) {
        // The store has it by now, so other tabs may read along.
        isAnnounced = true
        this.turn = { ...this.turn, leg: this.turn.leg + 1 }
        rememberTurn(this.turn)
      }
      this.#show(event)
      this.lastEvent = event
    }
    ended()
    return error
  }

  async #cancelElsewhere(reason) {
    try {
      await this.cancel(reason)
    } catch ({ code, message }) {
      this.#timeline.note(`${code}: ${message}`, 'bad')
    }
  }

  #show(event) {
    this.#timeline.add(event)
    this.#log.add(event)
    if (event.type === 'text') return this.#messages.append(event.chunk)
    if (event.resumed) {
      this.#messages.voidPiece()
      if (this.lastEvent.type === 'error') this.#messages.beginAnswer()
    }
    if (event.type === 'error') return this.#showError(event)
    this.#messages.endPiece()
    for (const call of event.toolCalls ?? []) this.#calls.set(call.signature, { call })
    for (const result of event.toolResults ?? []) {
      const { signature, name } = result
      const { call } = this.#calls.get(signature) ?? { call: { name, args: {} } }
      this.#calls.set(signature, { call, result })
    }
  }

  #showError(error) {
    const isEndpoint = error.code === 'model.unreachable' && !this.turn.place
    const explanation = isEndpoint ? whyUnreachable(byId('baseURL').value.trim()) : undefined
    this.#messages.addError(error, explanation)
  }
}
