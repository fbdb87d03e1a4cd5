/** The page and a scripted model on one's own machine; the tests of Turnlock talk to the same model. */
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
      type: 'string',
      value: 'NAME',
      default: 'loop-then-answer',
      about: 'how the model behaves; or by the address, /NAME/v1',
    },
    port: { type: 'string', value: 'N', default: '8788', about: '0 is a free one' },
    list: { type: 'boolean', default: false, about: 'says how it can behave, and ends' },
  },
  ends: '0',
  async run(values) {
    const { behaviour, list, json } = values
    // Only this command loads the provider.
    const { scriptedProvider } = await import('turnlock/testing')
    const onError = (error: unknown) => complain(error, json)
    const provider = scriptedProvider({ ...LIMITS, onError })
    const { behaviours } = provider
    if (list) {
      for (const [name, about] of Object.entries(behaviours)) {
        console.log(json ? asJson({ name, about }) : `${name}: ${about}`)
      }
      return 0
    }
    if (!Object.hasOwn(behaviours, behaviour)) {
      throw new Usage(`--behaviour: there is no ${behaviour}; --list says which there are`)
    }
    const { createConversations, createEdge, isEdgePath, pageFile } =
      await import('./local-server.js')
    const edge = await createEdge(provider)
    const sessionOf = createConversations(provider.requests)
    const { origin, ended } = await listen(async (request) => {
      const { pathname } = new URL(request.url)
      if (isEdgePath(pathname)) return edge(request)
      const [, pagePath] = MODEL.exec(pathname) ?? []
      const [, name = behaviour, rest = ''] = PATH.exec(pathname) ?? []
      if (!pagePath && !rest && ['GET', 'HEAD'].includes(request.method)) {
        const file = await pageFile(pathname, behaviours)
        if (file) return file
      }
      try {
        const text = new TextDecoder().decode(await readBody(request, MOST_BYTES))
        const session = request.method === 'POST' ? sessionOf(name, rest, text) : 'none'
        const path = pagePath ?? `/s/${session}/${name}/v1/${rest}`
        // Not a copy of the request: Node does not abort the signal of a copy.
        return await provider.handle(withText(request, text), path)
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

const LIMITS = { maxSessions: 200, maxCharacters: 64 * 2 ** 20 }
const MOST_BYTES = 8 * 2 ** 20

/** A request whose body has been read. */
const withText = ({ method, url, headers, signal }: Request, text: string) =>
  ({ method, url, headers, signal, text: async () => text }) as unknown as Request
