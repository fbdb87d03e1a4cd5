// The conversation: what was said, and the turn that says more.
import { runTurn } from 'turnlock'
import { byId, element, follow } from './dom.js'
import { choices } from './settings.js'
import { summary } from './timeline.js'
import { tools } from './tools.js'

/** The messages of the page. */
export class Chat {
  #list = byId('messages')
  #history = []

  clear() {
    this.#history = []
    const hint =
      'Send a message, or pick one of the cases above. With “loop” the model asks for the same tool again and again; see how the turn still ends with an answer.'
    this.#list.replaceChildren(element('p', { className: 'hint' }, hint))
  }

  /**
   * One turn: its text comes here, all of it into the timeline. `started` gets the turn.
   * @returns {Promise<string>} how it ended, in a line
   */
  async send(text, timeline, started) {
    const { mode, policy, model } = choices()
    const asked = { role: 'user', content: text }
    const messages = [...this.#history, asked]
    const turn = runTurn({ model: model(), mode, policy, messages, tools })
    started(turn)
    this.#list.querySelector('.hint')?.remove()
    this.#say('user', text)
    const bubble = this.#say('assistant')
    // Read out once, when it is whole.
    bubble.setAttribute('aria-busy', 'true')
    timeline.start(mode, policy)
    for await (const event of turn) {
      timeline.add(event)
      if (event.type === 'text') this.#append(bubble, event.chunk)
    }
    const result = await turn.result
    bubble.setAttribute('aria-busy', 'false')
    timeline.end(result)
    if (!bubble.textContent) bubble.remove()
    if (result.error) this.#say('assistant failed', `${result.error.code}: ${result.error.message}`)
    else if (!result.fullContent) this.#say('hint', `(no text; ${result.status})`)
    // What was said stays; tool calls stay inside their turn.
    this.#history.push(asked)
    if (result.fullContent) {
      this.#history.push({ role: 'assistant', content: result.fullContent })
    }
    return summary(result)
  }

  #say(role, text = '') {
    const bubble = element('div', { className: `message ${role}` }, text)
    follow(this.#list, () => this.#list.append(bubble))
    return bubble
  }

  #append(bubble, chunk) {
    follow(this.#list, () => bubble.append(chunk))
  }
}
