/**
 * Finds the conversation of a request, for clients whose address has no session: those of
 * `turnlock serve`. Each conversation is a session of the scripted provider.
 */
import { createHash } from 'node:crypto'
import { observe } from '../testing/provider/behaviours.js'
import { describeInvalidBody } from '../testing/provider/requests.js'
import type { ProviderRequest } from '../testing/provider/sessions.js'
import type { RequestView } from '../testing/provider/wire/entry.js'
import { endpointAt, WIRES } from '../testing/provider/wire/index.js'

/** Maximum questions, and conversations of each: the least recently used ones are discarded. */
const MAX_QUESTIONS = 200
const MAX_CONVERSATIONS = 8
/** Maximum identical requests of a conversation after failures. */
const MAX_REPEATS = 20

interface Conversation {
  session: string
  /** The size of its first and of its last request. */
  first: number
  last: number
  /** How often the last request was repeated. */
  repeats: number
}

/**
 * Returns a function that returns the session of a request.
 *
 * A request that is no larger than the first one of its conversation begins a new conversation: the
 * program was restarted, or runs twice. A larger one continues the newest conversation whose last
 * request was smaller. After a failure, a request of the same size is a repetition. A request that
 * names a response (`previous_response_id`) continues the conversation of that response.
 *
 * @param requests returns the requests of a session, in order
 */
export function createConversations(
  requests: (session: string) => readonly Pick<ProviderRequest, 'conversation' | 'failed'>[],
) {
  /** Hash of the behaviour and the user's words → conversations, the newest first. */
  const questions = new Map<string, Conversation[]>()
  let count = 0
  const newSession = () => `conversation-${++count}`

  const hasResponse =
    (id: string) =>
    ({ session }: Conversation) =>
      requests(session).some(({ conversation }) => conversation?.id === id)

  const hasFailedAt =
    (size: number) =>
    ({ session, last, repeats }: Conversation) =>
      last === size && repeats < MAX_REPEATS && requests(session).at(-1)?.failed

  /**
   * @param path the path after the version
   * @param text the body
   */
  return function sessionOf(behaviour: string, path: string, text: string): string {
    const summary = summarize(path, text)
    if (!summary) return newSession()
    const { size, words, previous } = summary
    const continued = previous && [...questions.values()].flat().find(hasResponse(previous))
    if (continued) return continued.session

    const question = createHash('sha256')
      .update(JSON.stringify([behaviour, words]))
      .digest('hex')
    const conversations = questions.get(question) ?? []
    questions.delete(question)
    questions.set(question, conversations)
    const [oldest = ''] = questions.keys()
    if (questions.size > MAX_QUESTIONS) questions.delete(oldest)

    const [newest] = conversations
    const larger = () => conversations.find(({ last }) => last < size) ?? newest
    const isFirst = !newest || size <= newest.first
    const match = conversations.find(hasFailedAt(size)) ?? (isFirst ? undefined : larger())
    if (match) {
      match.repeats = match.last === size ? match.repeats + 1 : 0
      match.last = size
      return match.session
    }
    const session = newSession()
    conversations.unshift({ session, first: size, last: size, repeats: 0 })
    conversations.splice(MAX_CONVERSATIONS)
    return session
  }
}

/** Returns the size of a request, the user's words in it, and the response that it names. */
function summarize(path: string, text: string) {
  const endpoint = endpointAt(path)
  if (!endpoint) return undefined
  const wire = WIRES[endpoint.name]
  try {
    const body = JSON.parse(text) as { previous_response_id?: string }
    if (describeInvalidBody(body, wire)) return undefined
    const view = wire.view(body)
    return { size: sizeOf(view), words: userWords(view), previous: body.previous_response_id }
  } catch {
    return undefined
  }
}

/** In some wire formats tool results are messages of the user, too: they have no text. */
const userWords = ({ messages }: RequestView) =>
  messages.flatMap(({ role, text }) => (role === 'user' && text ? [text] : []))

/** The number of messages without prompts, of results, and 1 if no tool may be called any more. */
function sizeOf(view: RequestView): number {
  const { results, canCall } = observe(view)
  const messages = view.messages.filter(({ role }) => !['system', 'developer'].includes(role))
  return messages.length + results.length + (canCall ? 0 : 1)
}
