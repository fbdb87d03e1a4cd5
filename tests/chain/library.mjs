// A real search: MiniSearch over the texts of `library/`, and a host around it whose models are
// the scripted provider.
import MiniSearch from 'minisearch'

/** A search over documents `{ id, text }`: the best three, as `[{ id, text }]`. */
export function createSearch(documents) {
  const index = new MiniSearch({ fields: ['text'], storeFields: ['text'] })
  index.addAll(documents)
  return (query) => {
    const found = index.search(query, { prefix: true }).slice(0, 3)
    return found.map(({ id, text }) => ({ id, text: text.trim() }))
  }
}

/** One call of a model of tests/provider/chains.mjs, as pieces of text. */
export async function* ask(url, session, model, content, signal) {
  const response = await fetch(`${url}/s/${session}/chain%3A${model}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] }),
    signal,
  })
  if (!response.ok) throw new Error(`the model answered ${response.status}`)
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  for (const line of lines) {
    const text = JSON.parse(line.slice(6)).choices[0]?.delta?.content
    if (text) yield text
  }
}

async function whole(pieces) {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

/** What a synthesis is told: the query, and each document that was found, once. */
export function report(query, results) {
  const found = results.flatMap(({ result }) => (Array.isArray(result) ? result : []))
  const lines = new Map(found.map(({ id, text }) => [id, `[${id}] ${text}`]))
  return `${query}\n\n${[...lines.values()].join('\n')}`
}

/** Options for `runChain`: models behind `url`, a search over `documents`; `searched` is filled. */
export function chainHost({ url, session, documents, searched = [] }) {
  const search = createSearch(documents)
  return {
    answer: ({ query, signal }) => ask(url, session, 'writer', query, signal),
    plan: ({ prompt, signal }) => whole(ask(url, session, 'planner', prompt, signal)),
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
      ask(url, session, 'writer', report(query, results), signal),
  }
}
