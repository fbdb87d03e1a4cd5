// @ts-nocheck
// Which conversation a request belongs to, for clients whose address says nothing of it: those of
// `turnlock serve`. A session of the provider is one conversation.
import { createHash } from 'node:crypto'
import { look } from '../testing/provider/behaviours.js'
import { misshapen } from '../testing/provider/requests.js'
import { wireAt, WIRES } from '../testing/provider/wire/index.js'

/** Questions that are remembered, and conversations of each: the oldest are forgotten. */
const [MOST_QUESTIONS, MOST_OF_ONE] = [200, 8]
/** Requests of one that are the same, behind failures. */
const MOST_AGAIN = 20

/**
 * @param {(session: string) => import('../testing/provider/provider.js').Kept[]} requests what came to a session, in order
 */
export function createConversations(requests) {
  /** Behaviour and words of the user → conversations, the newest first. */
  const known = new Map()
  let count = 0
  const named = () => `conversation-${++count}`

  /**
   * A request that says no more than the first one of its conversation begins another: the program was
   * started again, or runs twice. One that says more continues the newest conversation that has said
   * less. Behind a failure, one that says the same is a repetition. One that names a response
   * (`previous_response_id`) continues the conversation of that.
   * @param {string} behaviour
   * @param {string} path below the version
   * @param {string} text the body
   * @returns {string} the session
   */
  return function sessionOf(behaviour, path, text) {
    const asked = read(path, text)
    if (!asked) return named()
    const { said, words, previous } = asked
    const before = previous && [...known.values()].flat().find(holds(previous))
    if (before) return before.session

    const question = createHash('sha256')
      .update(JSON.stringify([behaviour, words]))
      .digest('hex')
    const list = known.get(question) ?? []
    known.delete(question)
    known.set(question, list)
    if (known.size > MOST_QUESTIONS) known.delete(known.keys().next().value)

    const [newest] = list
    const isFirst = !newest || said <= newest.first
    const further = () => list.find(({ last }) => last < said) ?? newest
    const own = list.find(failed(said)) ?? (isFirst ? undefined : further())
    if (own) {
      own.again = own.last === said ? own.again + 1 : 0
      own.last = said
      return own.session
    }
    const session = named()
    list.unshift({ session, first: said, last: said, again: 0 })
    list.splice(MOST_OF_ONE)
    return session
  }

  function holds(id) {
    return ({ session }) => requests(session).some(({ conversation }) => conversation?.id === id)
  }

  function failed(said) {
    return ({ session, last, again }) =>
      last === said && again < MOST_AGAIN && requests(session).at(-1)?.failed
  }
}

/** What a body says: how much, in which words of the user; undefined for one that nobody understands. */
function read(path, text) {
  const wire = WIRES[wireAt(path)?.name]
  try {
    const body = JSON.parse(text)
    if (!wire || misshapen(body, wire)) return undefined
    const view = wire.view(body)
    return { said: saidIn(view), words: wordsOf(view), previous: body.previous_response_id }
  } catch {
    return undefined
  }
}

/** The user's. On some wires tool results are messages of the user too: these have no words. */
const wordsOf = ({ messages }) =>
  messages.flatMap(({ role, text }) => (role === 'user' && text ? [text] : []))

/** How much a request says: messages but the prompt, results, and that no tool may be called any more. */
function saidIn(view) {
  const { results, canCall } = look(view)
  const said = view.messages.filter(({ role }) => !['system', 'developer'].includes(role))
  return said.length + results.length + (canCall ? 0 : 1)
}
