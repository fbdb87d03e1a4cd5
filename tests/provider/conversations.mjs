// Which conversation a request belongs to, for clients whose address says nothing of it: those of
// `turnlock serve`. A session of the provider is one conversation.
import { look } from './behaviours.mjs'
import { misshapen } from './requests.mjs'
import { wireAt, WIRES } from './wire/all.mjs'

/** Questions that are remembered, and conversations of each: the oldest are forgotten. */
const [MOST_QUESTIONS, MOST_OF_ONE] = [200, 8]

/**
 * @param {(session: string) => { failed?: true }[]} requests what came to a session, in order
 */
export function createConversations(requests) {
  /** Behaviour and words of the user → conversations, the newest first. */
  const known = new Map()
  let count = 0

  /**
   * A request that says no more than the first one of its conversation begins another: the program was
   * started again, or runs twice. One that says more goes on with the newest which has not come so
   * far. Behind a failure, one that says the same is that request once more.
   * @param {string} behaviour
   * @param {string} path below the version
   * @param {string} text the body
   * @returns {string} the session
   */
  return function sessionOf(behaviour, path, text) {
    const view = viewOf(path, text)
    const question = JSON.stringify([behaviour, wordsOf(view)])
    const list = known.get(question) ?? []
    known.delete(question)
    known.set(question, list)
    if (known.size > MOST_QUESTIONS) known.delete(known.keys().next().value)

    const said = saidIn(view)
    const failed = ({ session, last }) => last === said && requests(session).at(-1)?.failed
    const [newest] = list
    const isFirst = !newest || said <= newest.first
    const own =
      list.find(failed) ?? (isFirst ? undefined : (list.find(({ last }) => last < said) ?? newest))
    if (own) {
      own.last = said
      return own.session
    }
    const session = `${++count}`
    list.unshift({ session, first: said, last: said })
    list.splice(MOST_OF_ONE)
    return session
  }
}

/** What a body says; undefined for one that nobody understands. */
function viewOf(path, text) {
  const wire = wireAt(path)
  try {
    const body = JSON.parse(text)
    return wire && !misshapen(body, WIRES[wire.name]) ? WIRES[wire.name].view(body) : undefined
  } catch {
    return undefined
  }
}

/** The user's. On some wires tool results are messages of the user too: these have no words. */
const wordsOf = (view) =>
  (view?.messages ?? []).flatMap(({ role, text }) => (role === 'user' && text ? [text] : []))

/** How much a request says: messages but the prompt, results, and that no tool may be called any more. */
function saidIn(view) {
  if (!view) return 0
  const { results, canCall } = look(view)
  const said = view.messages.filter(({ role }) => !['system', 'developer'].includes(role))
  return said.length + results.length + (canCall ? 0 : 1)
}
