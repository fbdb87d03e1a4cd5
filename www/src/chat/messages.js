// The messages that are shown, and the answer that streams into the last one.
import { byId, element, follow, stream } from '../dom.js'

const HINT =
  'Send a message, or pick one of the cases above. With “loop” the model asks for the same tool again and again; see how the turn still ends with an answer.'

export class Messages {
  #list = byId('messages')
  /** The bubble of the answer. */
  #answer
  /** The pieces of the answer's text; the text of a void one was generated again. */
  #pieces = []
  /** The piece that text is appended to. */
  #piece

  /** Shows a history in place of the messages, or a hint if it is empty. */
  show(history) {
    this.#list.replaceChildren()
    for (const { role, content } of history) this.add(role, content)
    if (!history.length) this.#list.append(element('p', { className: 'hint' }, HINT))
  }

  add(role, text = '') {
    const bubble = element('div', { className: `message ${role}` }, text)
    follow(this.#list, () => this.#list.append(bubble))
    return bubble
  }

  /** Shows an error, and the explanation that is found for it later. */
  addError({ code, message }, explanation) {
    const bubble = this.add('assistant failed', `${code}: ${message}`)
    void explanation?.then((text) =>
      follow(this.#list, () => bubble.append(element('p', { className: 'why' }, text))),
    )
  }

  /** Begins a turn: the user's message, and an answer without text. */
  begin(text) {
    this.#pieces = []
    this.#piece = undefined
    this.#list.querySelector('.hint')?.remove()
    this.add('user', text)
    this.beginAnswer()
  }

  /** Text that follows goes into a new bubble. */
  beginAnswer() {
    this.#answer = this.add('assistant')
  }

  /** Appends text to the answer. */
  append(chunk) {
    if (!this.#piece) {
      this.#piece = element('span')
      this.#pieces.push(this.#piece)
      follow(this.#list, () => this.#answer.append(this.#piece))
    }
    this.#answer.hidden = false
    stream(this.#list, this.#piece, chunk)
  }

  endPiece() {
    this.#piece = undefined
  }

  /** The text of the piece was cut off: it is generated again. */
  voidPiece() {
    this.#piece?.classList.add('void')
  }

  /** The answer streams: screen readers read it once, when it is whole. */
  setBusy() {
    this.#answer.setAttribute('aria-busy', 'true')
  }

  /** The answer is whole: one without text is hidden. */
  setIdle() {
    this.#answer.setAttribute('aria-busy', 'false')
    this.#answer.hidden = !this.#answer.textContent
  }

  /** The text of the answer, without void pieces. */
  get answerText() {
    const pieces = this.#pieces.filter((piece) => !piece.classList.contains('void'))
    return pieces.map((piece) => piece.textContent).join('')
  }
}
