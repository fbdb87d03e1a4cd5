// The conversation: what was said, and the turn that says more. The turn is kept in IndexedDB and
// its id is remembered, so this page may go away at any moment.
import { ask, revisions, unask } from './decision.js'
import { showLog } from './dock/dock.js'
import { Log } from './dock/log.js'
import { byId, element, follow, many, settle, stream } from './dom.js'
import { requestsSent, whyUnreachable } from './endpoint.js'
import { recall, remember } from './kept.js'
import { askForEndpoint, choices, restore } from './settings.js'
import { countRunsOf, turnTools } from './tools.js'
import { declared } from './files.js'
import { chosenPlace, edgeTerms, runnerOf, showPlace } from './where.js'

/** How it went for this tab; such an error is no event of the turn and has no number of its own. */
const OWN = /^(turn\.(conflict|cancelled|not_found|interrupted|events_gone)|(store|remote|edge)\.)/
const isOwn = ({ type, code }) => type === 'error' && OWN.test(code)

/** The turn that the last message of the history is of. */
const lastTold = () => recall('history', []).at(-1)?.turn

/** The messages of the page. */
export class Chat {
  /** Whether the turn waits for a decision, so that nothing else is to be said. */
  waits = false
  #list = byId('messages')
  #timeline
  /** Does what a button of a decision starts, with the buttons to stop it. */
  #alone
  /** What is remembered of the turn: `{ id, leg, text, mode, policy, place, edge, ms }`. */
  #turn
  /** Whether more may come of it. */
  #open = false
  /** The last event of it that was shown. */
  #last
  /** The turn that was the last one of the history when it was shown. */
  #told
  /** Where text goes, and the pieces of it: a void one was cut off and asked for again. */
  #bubble
  #pieces = []
  /** The events of the turn, for the dock. */
  #log = new Log()
  #piece
  /** Signature → call and result. */
  #calls = new Map()

  constructor(timeline, alone) {
    this.#timeline = timeline
    this.#alone = alone
  }

  /** The conversation as it is remembered, without a turn. */
  show() {
    this.#turn = undefined
    this.#open = this.waits = false
    unask()
    this.#timeline.clear()
    showLog('turn', new Log())
    this.#list.replaceChildren()
    const history = recall('history', [])
    for (const { role, content } of history) this.#say(role, content)
    this.#told = lastTold()
    const hint =
      'Send a message, or pick one of the cases above. With “loop” the model asks for the same tool again and again; see how the turn still ends with an answer.'
    if (!history.length) this.#list.append(element('p', { className: 'hint' }, hint))
  }

  /** Forgets the conversation and what came of it. A turn that may go on is stopped. */
  async clear() {
    if (this.#open) await this.#cancel('the conversation was cleared').catch(() => {})
    for (const key of ['turn', 'last', 'history', 'runs', 'notes']) remember(key, undefined)
    this.show()
  }

  /**
   * One turn: its text comes here, all of it into the timeline. `started` gets what stops it.
   * @returns {Promise<string>} how it ended, in a line
   */
  async send(text, started) {
    // One that failed and might be tried again is left as it is.
    if (this.#open) this.#settle()
    const { place, ...chosen } = choices()
    const { edge, ms } = chosenPlace()
    const { mode, policy } = edge ? await edgeTerms(chosen) : chosen
    const said = recall('history', []).map(({ role, content }) => ({ role, content }))
    const messages = [...said, { role: 'user', content: text }]
    const log = new Log()
    const turn = await runnerOf({ edge }).run({ place, ms, mode, policy, messages, log })
    if (!edge) {
      const wire = byId('wire').value
      log.turn = { wire, mode, policy, messages, tools: declared(turnTools()) }
    }
    countRunsOf(turn.requestId)
    this.#begin({ id: turn.requestId, leg: 0, text, mode, policy, place, edge, ms }, log)
    remember('turn', this.#turn)
    return this.#play(turn, started)
  }

  /** Whether another tab, or this page before a reload, did something that is not shown here. */
  get isBehind() {
    const turn = recall('turn')
    if (!turn) return this.#open
    return turn.leg > 0 && (turn.id !== this.#turn?.id || turn.leg !== this.#turn.leg)
  }

  /** Whether a turn of another tab began and ended while this one heard nothing. */
  get hasMissed() {
    return lastTold() !== this.#told
  }

  /** Reads the turn that is remembered: all of it, or what has come since. */
  async catchUp(started) {
    const turn = recall('turn', this.#turn)
    if (turn.id === this.#turn?.id) {
      this.#turn = turn
    } else {
      this.show()
      this.#begin(turn)
      restore(turn)
      showPlace(turn)
      // Of a real endpoint nothing was remembered.
      if (!turn.place) askForEndpoint()
    }
    return this.#play(await this.#follow(), started)
  }

  /** Shows again what happened in the last turn, which is over. */
  async recount() {
    const last = recall('last')
    if (!last || last.id !== lastTold()) return
    restore(last)
    showPlace(last)
    const events = []
    for await (const event of await runnerOf(last).follow(last, 0)) {
      if (isOwn(event)) return // It has expired.
      events.push(event)
    }
    if (this.#turn) return
    this.#timeline.start(last.mode, last.policy)
    const log = new Log()
    showLog('turn', log)
    for (const event of events) {
      this.#timeline.add(event)
      log.add(event)
    }
    this.#timeline.end()
  }

  #begin(turn, log = new Log()) {
    this.#turn = turn
    this.#log = log
    showLog('turn', log)
    this.#open = true
    this.#last = this.#piece = undefined
    this.#pieces = []
    this.#calls.clear()
    this.#list.querySelector('.hint')?.remove()
    this.#say('user', turn.text)
    this.#bubble = this.#say('assistant')
    this.#timeline.start(turn.mode, turn.policy)
  }

  #follow() {
    return runnerOf(this.#turn).follow(this.#turn, this.#last?.seq ?? 0)
  }

  #resume(wish) {
    // What a test case would have to do in between is not told.
    this.#log.turn = undefined
    return runnerOf(this.#turn).resume(this.#turn, wish, this.#log)
  }

  /** Stops the turn, wherever it runs. */
  #cancel(reason) {
    return runnerOf(this.#turn).cancel(this.#turn, reason)
  }

  async #cancelElsewhere(reason) {
    try {
      await this.#cancel(reason)
    } catch ({ code, message }) {
      this.#timeline.note(`${code}: ${message}`, 'bad')
    }
  }

  /** Shows a turn, whoever runs it, until it ends or waits. */
  async #play(source, started) {
    unask()
    this.waits = false
    // Read out once, when it is whole.
    this.#bubble.setAttribute('aria-busy', 'true')
    let problem = await this.#read(source, started)
    while (problem) {
      if (problem.code === 'turn.conflict') {
        this.#timeline.note('turn.conflict: another tab has gone on with this turn. Reading along.')
        source = await this.#follow()
      } else if (problem.code === 'turn.interrupted' && this.#turn.place) {
        this.#timeline.note('turn.interrupted: whoever ran this turn is gone. Going on with it.')
        source = await this.#resume()
      } else {
        break
      }
      problem = await this.#read(source, started)
    }
    settle()
    this.#bubble.setAttribute('aria-busy', 'false')
    this.#bubble.hidden = !this.#bubble.textContent
    if (problem?.code === 'turn.not_found') return this.#lost()
    if (problem?.code === 'edge.off') {
      remember('turn', undefined)
      this.#lost()
      return `${problem.code}: ${problem.message}.`
    }
    if (!problem) {
      const sent = this.#turn.place ? '' : ` ${many(requestsSent(), 'request')} left this page.`
      const result = await source.result
      // What the edge asked its model is not told.
      const told = this.#turn.edge ? { ...result, inferences: undefined } : result
      const summary = `${this.#timeline.end(told)}${sent}`
      const asked = this.#stand()
      return this.waits ? `${summary} ${asked}` : summary
    }
    const said = `${problem.code}: ${problem.message}`
    this.#timeline.note(said, 'bad')
    this.#timeline.end(problem.code === 'turn.cancelled' ? undefined : { status: 'failed' })
    this.#stand(problem, said)
    return said
  }

  /** Shows events. What this tab alone has met is given back. */
  async #read(source, started) {
    const own = 'result' in source
    const ended = started(own ? source : { cancel: (reason) => void this.#cancelElsewhere(reason) })
    let announced = !own
    let problem
    for await (const event of source) {
      if (isOwn(event)) {
        problem = event
        continue
      }
      if (!announced && recall('turn')?.id === this.#turn.id) {
        // It is kept by now, so other tabs may read along.
        announced = true
        this.#turn = { ...this.#turn, leg: this.#turn.leg + 1 }
        remember('turn', this.#turn)
      }
      this.#add(event)
      this.#last = event
    }
    ended()
    return problem
  }

  #add(event) {
    this.#timeline.add(event)
    this.#log.add(event)
    if (event.type === 'text') return this.#append(event.chunk)
    if (event.resumed) this.#void()
    if (event.type === 'error') return this.#fail(event)
    this.#piece = undefined
    for (const call of event.toolCalls ?? []) this.#calls.set(call.signature, { call })
    for (const result of event.toolResults ?? []) {
      const { call } = this.#calls.get(result.signature) ?? {
        call: { name: result.name, args: {} },
      }
      this.#calls.set(result.signature, { call, result })
    }
  }

  /**
   * What is to be done now, and by whom.
   * @returns {string} what is asked, if anything
   */
  #stand(problem, said) {
    const { type, approvals, code = '' } = this.#last ?? {}
    const isRemembered = recall('turn')?.id === this.#turn.id
    const resume = (label) => ({ label, act: () => this.#goOn({ results: revisions() }) })
    const stop = { label: 'Stop', act: () => this.#stop() }
    if (problem?.code === 'turn.cancelled') {
      return ask({ title: 'The resume was refused', about: `${said}.` })
    }
    if (type === 'complete') {
      this.#settle()
    } else if (type === 'cancelled') {
      this.#settle()
      const about = 'It cannot go on any more, in no tab. See for yourself:'
      return ask({ title: 'Stopped', about, choices: [resume('Try to resume')] })
    } else if (!isRemembered) {
      this.#open = false
    } else if (problem?.code === 'turn.interrupted') {
      const about = 'Its endpoint and key were in memory only: give them again, then resume.'
      return ask({ title: 'Interrupted', about, choices: [resume('Resume'), stop] })
    } else if (problem || code.startsWith('model.')) {
      const found = [...this.#calls.values()].some(({ result }) => result)
      const kept = found ? 'What the tools found is kept; the' : 'No tool has run. The'
      const about = said ? `${said}.` : `${kept} model is asked again.`
      return ask({ title: 'Not answered', about, choices: [resume('Try again')] })
    } else if (type === 'paused') {
      this.waits = true
      return approvals
        ? this.#askToRun(approvals, stop)
        : this.#askToResume([resume('Resume'), stop])
    } else {
      this.#settle()
    }
    return ''
  }

  #askToResume([resume, stop]) {
    const found = [...this.#calls.values()].filter(({ result }) => result)
    const mayWrite = !this.#turn.edge
    const items = found.map((one) => ({
      ...one,
      mayChange: one.result.status === 'ok',
      mayWrite,
    }))
    const about = `${many(items.length, 'result')} kept. Reload the page if you like: no tool runs again. You decide what the model reads.`
    const choices = [{ ...resume, primary: true }, stop]
    return ask({ title: 'Paused behind the tools', about, items, choices })
  }

  #askToRun(calls, stop) {
    const [title, all] =
      calls.length > 1 ? [`Run these ${calls.length} calls?`, ' all'] : ['Run this call?', '']
    const say = (approved) => () =>
      this.#goOn({ approvals: calls.map(({ signature }) => ({ signature, approved })) })
    return ask({
      title,
      about: 'It has not run. An approval is for these very arguments.',
      items: calls.map((call) => ({ call })),
      choices: [
        { label: `Approve${all}`, primary: true, act: say(true) },
        { label: `Refuse${all}`, act: say(false) },
        stop,
      ],
    })
  }

  #goOn(wish) {
    void this.#alone(async (started) => this.#play(await this.#resume(wish), started))
  }

  #stop() {
    void this.#alone(async (started) => {
      await this.#cancel('stopped by the user')
      return this.#play(await this.#follow(), started)
    })
  }

  /** Nothing is kept of the turn that is remembered: it never was, or has expired. */
  #lost() {
    const { text, leg } = this.#turn
    // Another tab may be about to keep it.
    if (leg) remember('turn', undefined)
    this.show()
    byId('prompt').value = text
    return 'Of the last turn nothing is kept. Send the message again.'
  }

  /** What was said stays; tool calls stay inside their turn. */
  #settle() {
    this.#open = false
    const { id, text } = this.#turn
    const said = this.#pieces.filter((piece) => !piece.classList.contains('void'))
    const content = said.map((piece) => piece.textContent).join('')
    const answer = content && { role: 'assistant', content }
    if (!content) this.#say('hint', `(no text; ${this.#last?.type ?? 'nothing'})`)
    // Another tab may have done it, or the first half of it.
    if (recall('turn')?.id === id) {
      if (lastTold() !== id) {
        const added = [{ role: 'user', content: text }, answer].filter(Boolean)
        const marked = added.map((message) => ({ ...message, turn: id }))
        remember('history', [...recall('history', []), ...marked])
        remember('last', this.#turn)
      }
      remember('turn', undefined)
    }
    this.#told = lastTold()
  }

  #fail({ code, message }) {
    const bubble = this.#say('assistant failed', `${code}: ${message}`)
    if (code !== 'model.unreachable' || this.#turn.place) return
    void whyUnreachable(byId('baseURL').value.trim()).then((why) =>
      follow(this.#list, () => bubble.append(element('p', { className: 'why' }, why))),
    )
  }

  #say(role, text = '') {
    const bubble = element('div', { className: `message ${role}` }, text)
    follow(this.#list, () => this.#list.append(bubble))
    return bubble
  }

  #append(chunk) {
    if (!this.#piece) {
      this.#piece = element('span')
      this.#pieces.push(this.#piece)
      follow(this.#list, () => this.#bubble.append(this.#piece))
    }
    this.#bubble.hidden = false
    stream(this.#list, this.#piece, chunk)
  }

  /** What was being said when the turn was cut off is void. */
  #void() {
    this.#piece?.classList.add('void')
    if (this.#last.type === 'error') this.#bubble = this.#say('assistant')
  }
}
