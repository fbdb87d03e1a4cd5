// The conversation as this browser remembers it: its messages, the turn under way, and the last turn.
// A turn is remembered as `{ id, leg, text, mode, policy, place, edge, ms }`; `leg` counts its runs.
import { recall, remember } from '../kept.js'

/** The messages: `{ role, content, turn }`, where `turn` is the id of their turn. */
export const history = () => recall('history', [])

/** The id of the turn that the history ends with. */
export const lastTurnId = () => history().at(-1)?.turn

/** The turn that the history ends with, if it is remembered. */
export function lastTurn() {
  const turn = recall('last')
  return turn?.id === lastTurnId() ? turn : undefined
}

/** The turn under way, in this tab or another. */
export const currentTurn = () => recall('turn')

/** Whether this turn is under way. A turn that another tab has ended is not. */
export const isCurrent = ({ id }) => currentTurn()?.id === id

export const rememberTurn = (turn) => remember('turn', turn)

export const forgetTurn = () => remember('turn', undefined)

/** Ends a turn: its messages become history. Another tab may have done that, or half of it. */
export function endTurn(turn, answer) {
  if (!isCurrent(turn)) return
  if (lastTurnId() !== turn.id) {
    const messages = [{ role: 'user', content: turn.text, turn: turn.id }]
    if (answer) messages.push({ role: 'assistant', content: answer, turn: turn.id })
    remember('history', [...history(), ...messages])
    remember('last', turn)
  }
  forgetTurn()
}

/** Forgets the conversation, and the effects of its tools. */
export function forgetConversation() {
  for (const key of ['turn', 'last', 'history', 'runs', 'notes']) remember(key, undefined)
}
