/** The page and a scripted model on one's own machine; the tests of Turnlock talk to the same model. */
import { createHash } from 'node:crypto'
import { BEHAVIOURS } from '../../../tests/provider/behaviours.mjs'
import { createSessions } from '../../../tests/provider/sessions.mjs'
import { createEdge, EDGE } from '../../../www/server/edge.mjs'
import { command, Usage } from './command.js'
import { listen, portOf } from './listen.js'
import { pageFile } from './page.js'
import { complain } from './terminal.js'

export const serve = command({
  name: 'serve',
  about:
    'The page of Turnlock and a scripted model on 127.0.0.1, without a key. The model speaks every wire, and is what the page and the tests of Turnlock talk to. It calls tools that are offered, list_files before others, and answers where there are none. Runs until it is interrupted.',
  positionals: [],
  options: {
    behaviour: {
      ...{ type: 'string', value: 'NAME', default: 'loop-then-answer' },
      about: 'how the model behaves; or by the address, /NAME/v1',
    },
    port: { type: 'string', value: 'N', default: '8788', about: '0 is a free one' },
    list: { type: 'boolean', default: false, about: 'says how it can behave, and ends' },
  },
  ends: '0',
  async run(values) {
    const { behaviour, list, json } = values
    if (list) {
      for (const [name, { about }] of Object.entries(BEHAVIOURS)) {
        console.log(json ? JSON.stringify({ name, about }) : `${name}: ${about}`)
      }
      return 0
    }
    if (!Object.hasOwn(BEHAVIOURS, behaviour)) {
      throw new Usage(`--behaviour: there is no ${behaviour}; --list says which there are`)
    }
    const sessions = createSessions({}, (error) => complain(error, json))
    const edge = await createEdge(sessions)
    const conversations = new Conversations()
    const { origin, ended } = await listen(async (request) => {
      const { pathname } = new URL(request.url)
      if (EDGE.test(pathname)) return edge(request)
      const [, ofPage] = MODEL.exec(pathname) ?? []
      if (ofPage !== undefined) return sessions.answer(request, ofPage)
      const [, own, rest] = PATH.exec(pathname) ?? []
      const isRead = ['GET', 'HEAD'].includes(request.method)
      const found = rest === undefined && isRead ? await pageFile(pathname) : undefined
      if (found) return found
      const body = request.method === 'POST' ? await request.clone().text() : ''
      const script = own ?? behaviour
      const session = encodeURIComponent(conversations.of(`${script}-${turnOf(body)}`, body))
      return sessions.answer(request, `/s/${session}/${script}/v1/${rest ?? ''}`)
    }, portOf(values))
    const address = `${origin}/v1`
    console.log(
      json
        ? JSON.stringify({ address, behaviour, page: `${origin}/` })
        : `page: ${origin}/\n${behaviour}: ${address} (BASE_URL=${address} node ask.mjs); others: ${origin}/<name>/v1, --list`,
    )
    return ended
  },
})

/** The model of the page: a session for each of its turns. Bedrock's paths below it are shorter. */
const MODEL = /^\/model(\/s\/[^/]+\/[^/]+\/v1\/.+)$/

/** A behaviour, a version, the path of a wire. Ollama's and Bedrock's paths have no version. */
const PATH = /^(?:\/([^/]+))??(?:\/v(?:1|2|1beta)\/|\/(?=(?:api|model)\/))(.*)$/

/** More are forgotten, the oldest first; the sessions of the model too. */
const MOST = 2000

/**
 * Which conversation a request belongs to. The first request of one, once more behind others of it,
 * begins another: the program was started again. At once behind itself it is a repetition.
 */
class Conversations {
  readonly #known = new Map<string, { first: string; last: string; begun: number }>()

  of(name: string, body: string): string {
    const digest = createHash('sha256').update(body).digest('base64')
    const known = this.#known.get(name)
    const isAnew = !known || (digest === known.first && digest !== known.last)
    const begun = (known?.begun ?? 0) + (isAnew ? 1 : 0)
    this.#known.delete(name)
    this.#known.set(name, { first: isAnew ? digest : known.first, last: digest, begun })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest)
    return `${name}-${begun}`
  }
}

/**
 * The words by which a conversation is known: the user's. On some wires tool results are messages of
 * the user too, which are not looked at.
 */
function turnOf(body: string): string {
  const said: unknown[] = []
  try {
    const { messages, input, contents } = JSON.parse(body) as Record<string, unknown>
    const all = messages ?? input ?? contents
    for (const { role, content, parts } of Array.isArray(all) ? (all as Message[]) : []) {
      const own = role === 'user' ? (content ?? parts) : []
      said.push(...(Array.isArray(own) ? (own as Message[]).map(({ text }) => text) : [own]))
    }
    if (typeof all === 'string') said.push(all)
  } catch {
    // The model answers to what is no JSON.
  }
  const words = said.filter((text) => typeof text === 'string').join(' ')
  // Half of a character has no place in an address.
  return words.slice(-300).replace(/\p{Surrogate}/gu, '')
}

interface Message {
  role?: unknown
  content?: unknown
  parts?: unknown
  text?: unknown
}
