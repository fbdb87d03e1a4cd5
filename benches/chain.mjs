// Chains: model calls and tokens beside a plain tool loop over the same queries, both with the
// scripted models and the same search; and the time of `classifyQuery`. npm run bench -- chains
import { readFileSync } from 'node:fs'
import * as turnlock from 'turnlock'
import { classifyQuery, runChain } from 'turnlock/chain'
import { documents } from '../tests/chain/documents.mjs'
import { chainHost, createSearch } from '../tests/chain/library.mjs'
import { data } from '../tests/data.mjs'
import { QUERIES } from '../tests/provider/chains.mjs'
import { createProvider } from '../tests/provider/server.mjs'

const { defineTool, openaiChat, runTurn } = turnlock

/** About four characters a token, for both alike. */
const tokens = (text) => Math.ceil(text.length / 4)
const provider = await createProvider()
const { url } = provider

/** `said` is all that models wrote. */
async function counted(session, said) {
  const kept = provider.requests(session)
  const input = kept.reduce((sum, { body }) => sum + tokens(JSON.stringify(body)), 0)
  return { calls: kept.length, input, output: tokens(said) }
}

console.log('pattern | way | model calls | searches | input tokens | output tokens | end')
for (const [at, [query, { plan, loop: queries }]] of Object.entries(QUERIES).entries()) {
  const searched = []
  const session = `bench-chain-${at}`
  const host = { turnlock, url, session, dialect: 'openai-chat', documents, searched }
  const chain = runChain({ ...chainHost(host), query })
  const { text, stopped } = await chain.result
  const ours = await counted(session, JSON.stringify(plan) + text)
  console.log(
    `${plan.pattern} | chain | ${ours.calls} | ${searched.length} | ${ours.input} | ${ours.output} | ${stopped}`,
  )

  const find = createSearch(documents)
  let calls = 0
  const loop = runTurn({
    model: openaiChat({ baseURL: `${url}/s/bench-loop-${at}/chain%3Aloop/v1`, model: 'loop' }),
    messages: [{ role: 'user', content: query }],
    mode: 'unified',
    policy: { maxSteps: 8 },
    tools: {
      search: defineTool({
        description: 'Searches the library of texts and gives the best three of them.',
        inputSchema: {
          type: 'object',
          properties: { query: { type: 'string', description: 'What to look for.' } },
          required: ['query'],
        },
        readOnly: true,
        execute: (args) => (calls++, find(args.query)),
      }),
    },
  })
  const done = await loop.result
  const asked = done.toolResults.map(
    ({ name }, n) => name + JSON.stringify({ query: queries()[n] }),
  )
  const theirs = await counted(`bench-loop-${at}`, asked.join('') + done.text)
  console.log(
    `${plan.pattern} | tool loop | ${theirs.calls} | ${calls} | ${theirs.input} | ${theirs.output} | ${done.status}`,
  )
}
await provider.close()

const lines = readFileSync(data('complexity/given/questions.jsonl'), 'utf8').trim().split('\n')
const questions = lines.map((line) => JSON.parse(line).question)
const rounds = []
for (let round = 0; round < 30; round++) {
  const from = performance.now()
  for (const question of questions) classifyQuery(question)
  rounds.push(((performance.now() - from) * 1000) / questions.length)
}
rounds.sort((a, b) => a - b)
console.log(
  `classifyQuery: ${rounds[15].toFixed(1)} µs a query (median of 30 rounds), best ${rounds[0].toFixed(1)}`,
)
process.exit(0)
