// The conversation of the page, and the turn under way. The turn is stored in IndexedDB and its id is
// remembered, so the page may be reloaded or closed at any moment.
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, many } from '../dom.js'
import { requestsSent } from '../endpoint.js'
import { declared } from '../files.js'
import { askForEndpoint, choices, restore } from '../settings.js'
import { countRunsOf, turnTools } from '../tools.js'
import { chosenPlace, edgeTerms, runnerOf, showPlace } from '../where.js'
import {
  currentTurn,
  endTurn,
  forgetConversation,
  forgetTurn,
  history,
  isCurrent,
  lastTurn,
  lastTurnId,
  rememberTurn,
} from './conversation.js'
import { clearDecision, showDecision } from './decision-view.js'
import { decisionFor, standing } from './decisions.js'
import { Messages } from './messages.js'
import { isRunError, TurnPlayer } from './turn-player.js'

export class Chat {
  /** Whether the turn waits for a decision, so that no message can be sent. */
  waits = false
  #messages = new Messages()
  #timeline
  /** Runs what a decision's button starts, with the buttons to stop it. */
  #runAlone
  /** The turn that is shown. */
  #player
  /** The turn that ended the history when it was shown. */
  #shownTurnId

  constructor(timeline, runAlone) {
    this.#timeline = timeline
    this.#runAlone = runAlone
  }

  /** Shows the conversation as it is remembered, without a turn. */
  show() {
    this.#player = undefined
    this.waits = false
    clearDecision()
    this.#timeline.clear()
    showLog('turn', new Log())
    this.#messages.show(history())
    this.#shownTurnId = lastTurnId()
  }

  /** Forgets the conversation and the effects of its tools. A turn that may go on is stopped. */
  async clear() {
    if (this.#player?.isOpen) {
      await this.#player.cancel('the conversation was cleared').catch(() => {})
    }
    forgetConversation()
    this.show()
  }

  /**
   * Runs a turn: its text becomes a message, its events go to the timeline. `started` gets the turn's
   * controls.
   * @returns {Promise<string>} how it ended, in a line
   */
  async send(text, started) {
    // A turn that failed and might be tried again is left as it is.
    if (this.#player?.isOpen) this.#settle()
    const { place, ...chosen } = choices()
    const { edge, ms } = chosenPlace()
    const { mode, policy } = edge ? await edgeTerms(chosen) : chosen
    const earlier = history().map(({ role, content }) => ({ role, content }))
    const messages = [...earlier, { role: 'user', content: text }]
    const log = new Log()
    const turn = await runnerOf({ edge }).run({ place, ms, mode, policy, messages, log })
    if (!edge) {
      const wire = byId('wire').value
      log.turn = { wire, mode, policy, messages, tools: declared(turnTools()) }
    }
    countRunsOf(turn.requestId)
    this.#begin({ id: turn.requestId, leg: 0, text, mode, policy, place, edge, ms }, log)
    rememberTurn(this.#player.turn)
    return this.#play(turn, started)
  }

  /** Whether another tab, or this page before a reload, did something that is not shown here. */
  get isBehind() {
    const turn = currentTurn()
    if (!turn) return this.#player?.isOpen ?? false
    const shown = this.#player?.turn
    return turn.leg > 0 && (turn.id !== shown?.id || turn.leg !== shown.leg)
  }

  /** Whether a turn of another tab began and ended without an event that this tab received. */
  get hasMissed() {
    return lastTurnId() !== this.#shownTurnId
  }

  /** Shows the turn that is remembered: all of it, or its new events. */
  async catchUp(started) {
    const turn = currentTurn() ?? this.#player?.turn
    if (turn.id === this.#player?.turn.id) {
      this.#player.turn = turn
    } else {
      this.show()
      this.#begin(turn, new Log())
      restore(turn)
      showPlace(turn)
      // An endpoint of the user is not remembered.
      if (!turn.place) askForEndpoint()
    }
    return this.#play(await this.#player.follow(), started)
  }

  /** Shows the events of the last turn, which has ended, in the timeline and the dock. */
  async showLastTurn() {
    const turn = lastTurn()
    if (!turn) return
    restore(turn)
    showPlace(turn)
    const events = []
    for await (const event of await runnerOf(turn).follow(turn, 0)) {
      if (isRunError(event)) return // It has expired.
      events.push(event)
    }
    if (this.#player) return
    this.#timeline.start(turn.mode, turn.policy)
    const log = new Log()
    showLog('turn', log)
    for (const event of events) {
      this.#timeline.add(event)
      log.add(event)
    }
    this.#timeline.end()
  }

  #begin(turn, log) {
    this.#player = new TurnPlayer(turn, log, this.#messages, this.#timeline)
  }

  /** Shows a turn until it ends or waits. @returns {Promise<string>} how it stands, in a line */
  async #play(source, started) {
    clearDecision()
    this.waits = false
    const { error, result } = await this.#player.play(source, started)
    if (error) return this.#fail(error)
    const { place, edge } = this.#player.turn
    const requests = place ? '' : ` ${many(requestsSent(), 'request')} left this page.`
    // The requests of the edge are not known here.
    const summary = this.#timeline.end(edge ? { ...result, inferences: undefined } : result)
    const decision = this.#conclude()
    return `${summary}${requests}${this.waits ? ` ${decision}` : ''}`
  }

  #fail(error) {
    if (error.code === 'turn.not_found') return this.#lose()
    if (error.code === 'edge.off') {
      forgetTurn()
      this.#lose()
      return `${error.code}: ${error.message}.`
    }
    const text = `${error.code}: ${error.message}`
    this.#timeline.note(text, 'bad')
    this.#timeline.end(error.code === 'turn.cancelled' ? undefined : { status: 'failed' })
    this.#conclude(error, text)
    return text
  }

  /**
   * Ends the turn, or shows what the user can decide.
   * @returns {string} the title of the decision, if there is one
   */
  #conclude(error, text) {
    const player = this.#player
    const name = standing(error, player.lastEvent, isCurrent(player.turn))
    if (name === 'ended' || name === 'cancelled') this.#settle()
    if (name === 'forgotten') player.isOpen = false
    this.waits = name === 'approval' || name === 'paused'
    const decision = decisionFor(name, {
      error: text,
      approvals: player.lastEvent?.approvals,
      settledCalls: player.settledCalls,
      isEdge: player.turn.edge,
      resume: (wish) => this.#resume(wish),
      stop: () => this.#stop(),
    })
    return decision ? showDecision(decision) : ''
  }

  #resume(wish) {
    void this.#runAlone(async (started) => this.#play(await this.#player.resume(wish), started))
  }

  #stop() {
    void this.#runAlone(async (started) => {
      await this.#player.cancel('stopped by the user')
      return this.#play(await this.#player.follow(), started)
    })
  }

  /** The turn that is remembered is not stored: it never was, or has expired. */
  #lose() {
    const { text, leg } = this.#player.turn
    // Another tab may be about to store it.
    if (leg) forgetTurn()
    this.show()
    byId('prompt').value = text
    return 'Of the last turn nothing is kept. Send the message again.'
  }

  /** Ends the turn: its texts become history, its tool calls do not. */
  #settle() {
    const { turn, lastEvent } = this.#player
    this.#player.isOpen = false
    const answer = this.#messages.answerText
    if (!answer) this.#messages.add('hint', `(no text; ${lastEvent?.type ?? 'nothing'})`)
    endTurn(turn, answer)
    this.#shownTurnId = lastTurnId()
  }
}
