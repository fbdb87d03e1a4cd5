/** The page and a scripted model on one's own machine; the tests of Turnlock talk to the same model. */
import { BEHAVIOURS } from '../testing/provider/behaviours.js'
import { createSessions } from '../testing/provider/provider.js'
import { readBody } from '../server/bytes.js'
import { Refusal, responseOf } from '../server/refusal.js'
import { command, Usage } from './command.js'
import { listen, portOf } from './listen.js'
import { asJson } from './printable.js'
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
        console.log(json ? asJson({ name, about }) : `${name}: ${about}`)
      }
      return 0
    }
    if (!Object.hasOwn(BEHAVIOURS, behaviour)) {
      throw new Usage(`--behaviour: there is no ${behaviour}; --list says which there are`)
    }
    const { createConversations, createEdge, EDGE, pageFile } = await import('./local-server.js')
    const report = (error: unknown) => complain(error, json)
    const sessions = createSessions({}, report, LIMITS)
    const edge = await createEdge(sessions)
    const sessionOf = createConversations(sessions.requests)
    const { origin, ended } = await listen(async (request) => {
      const { pathname } = new URL(request.url)
      if (EDGE.test(pathname)) return edge(request)
      const [, ofPage] = MODEL.exec(pathname) ?? []
      const [, own = behaviour, rest = ''] = PATH.exec(pathname) ?? []
      if (!ofPage && !rest && ['GET', 'HEAD'].includes(request.method)) {
        const file = await pageFile(pathname)
        if (file) return file
      }
      try {
        const text = new TextDecoder().decode(await readBody(request, MOST_BYTES))
        const session = request.method === 'POST' ? sessionOf(own, rest, text) : 'none'
        // Not a copy of it: Node forgets that the client of a copy has left.
        return await sessions.answer(
          asked(request, text),
          ofPage ?? `/s/${session}/${own}/v1/${rest}`,
        )
      } catch (error) {
        if (error instanceof Refusal) return responseOf(error)
        throw error
      }
    }, portOf(values))
    const address = `${origin}/v1`
    console.log(
      json
        ? asJson({ address, behaviour, page: `${origin}/` })
        : `page: ${origin}/\n${behaviour}: ${address} (BASE_URL=${address} node ask.mjs); others: ${origin}/<name>/v1, --list`,
    )
    return ended
  },
})

/** The model of the page: a session for each of its turns. Bedrock's paths at `/model/` have fewer parts. */
const MODEL = /^\/model(\/s\/[^/]+\/[^/]+\/v1\/.+)$/

/** A behaviour, a version, the path of a wire. Ollama's and Bedrock's paths have no version. */
const PATH = /^(?:\/([^/]+))??(?:\/v(?:1|2|1beta)\/|\/(?=(?:api|model)\/))(.*)$/

/** What is kept: sessions of the model, and characters of their requests. */
const LIMITS = { most: 200, bytes: 64 * 2 ** 20 }
const MOST_BYTES = 8 * 2 ** 20

/** A request whose body has been read. */
const asked = ({ method, url, headers, signal }: Request, text: string) =>
  ({ method, url, headers, signal, text: async () => text }) as unknown as Request
