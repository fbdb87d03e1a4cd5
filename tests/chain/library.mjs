// A real search: MiniSearch over the texts of `library/`, and a host around it whose models are
// the scripted provider.
import MiniSearch from 'minisearch'
import { modelOf } from '../lanes.mjs'

/** A search over documents `{ id, text }`: the best three, as `[{ id, text }]`. */
export function createSearch(documents) {
  const index = new MiniSearch({ fields: ['text'], storeFields: ['text'] })
  index.addAll(documents)
  return (query) => {
    const found = index.search(query, { prefix: true }).slice(0, 3)
    return found.map(({ id, text }) => ({ id, text: text.trim() }))
  }
}

/** What a model of tests/provider/chains.mjs says on this wire, as pieces of text. */
async function* ask({ turnlock, url, session, dialect }, model, content, signal) {
  const baseURL = `${url}/s/${session}/chain%3A${model}/v1`
  const options = { baseURL, model, apiKey: 'secret' }
  const messages = [{ role: 'user', content }]
  const host = { model: modelOf(turnlock, dialect, options), messages, mode: 'unified' }
  const turn = turnlock.runTurn({ ...host, signal })
  for await (const event of turn) if (event.type === 'text') yield event.chunk
  const { status, error } = await turn.result
  if (status !== 'complete') throw new Error(error?.message ?? status)
}

async function whole(pieces) {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

/** What a synthesis is told: the query, and each document that was found, once. */
function report(query, results) {
  const found = results.flatMap(({ result }) => (Array.isArray(result) ? result : []))
  const lines = new Map(found.map(({ id, text }) => [id, `[${id}] ${text}`]))
  return `${query}\n\n${[...lines.values()].join('\n')}`
}

/**
 * Options for `runChain`: models behind `url` on the wire `dialect`, a search over `documents`;
 * `searched` is filled.
 */
export function chainHost({ documents, searched = [], ...provider }) {
  const search = createSearch(documents)
  return {
    answer: ({ query, signal }) => ask(provider, 'writer', query, signal),
    plan: ({ prompt, signal }) => whole(ask(provider, 'planner', prompt, signal)),
    search({ query }) {
      searched.push(query)
      return search(query)
    },
    // What a small model would do: the focus says what to take out of the results.
    refine({ focus, inputs }) {
      const text = inputs.flatMap(({ result }) => result.map((item) => item.text)).join(' ')
      return new RegExp(focus).exec(text)?.[1] ?? ''
    },
    synthesize: ({ query, results, signal }) =>
      ask(provider, 'writer', report(query, results), signal),
  }
}
