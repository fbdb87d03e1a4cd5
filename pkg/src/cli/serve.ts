/** A scripted model on one's own machine: what the page and the tests of Turnlock talk to. */
import { BEHAVIOURS } from '../../../tests/provider/behaviours.mjs'
import { createSessions } from '../../../tests/provider/sessions.mjs'
import { command, Usage } from './command.js'
import { listen, portOf } from './listen.js'
import { complain } from './terminal.js'

export const serve = command({
  name: 'serve',
  about:
    'A scripted model on 127.0.0.1, without a key. It speaks every wire, and is what the page and the tests of Turnlock talk to. It calls tools that are offered, list_files before others, and answers where there are none. Runs until it is interrupted.',
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
    const { answer } = createSessions({}, (error) => complain(error, json))
    const { origin, ended } = await listen(async (request) => {
      const { pathname } = new URL(request.url)
      const [, own, rest = ''] = PATH.exec(pathname) ?? []
      const body = request.method === 'POST' ? await request.clone().text() : ''
      const script = own ?? behaviour
      return answer(request, `/s/${script}-${turnOf(body)}/${script}/v1/${rest}`)
    }, portOf(values))
    const address = `${origin}/v1`
    console.log(
      json
        ? JSON.stringify({ address, behaviour })
        : `${behaviour}: ${address} (BASE_URL=${address} node ask.mjs); others: ${origin}/<name>/v1, --list`,
    )
    return ended
  },
})

/** A behaviour, a version, the path of a wire. Ollama's and Bedrock's paths have no version. */
const PATH = /^(?:\/([^/]+))??(?:\/v(?:1|2|1beta)\/|\/(?=(?:api|model)\/))(.*)$/

/**
 * One conversation of a behaviour: the requests with the same words of the user. On some wires tool
 * results are messages of the user too, which are not looked at.
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
  return encodeURIComponent(
    said
      .filter((text) => typeof text === 'string')
      .join(' ')
      .slice(-300)
      // Half of a character has no place in an address.
      .replace(/\p{Surrogate}/gu, '') || 'none',
  )
}

interface Message {
  role?: unknown
  content?: unknown
  parts?: unknown
  text?: unknown
}
