// The README's table of what a loop does and what a turn does, measured: every number comes from
// the scripted provider and the package as they are here.
//
//   node benches/compare.mjs [--write | --check]
import { readFileSync, writeFileSync } from 'node:fs'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { defineTool, normalizeHistory, openaiChat, runTurn } from 'turnlock'
import { plainLoop } from '../www/src/race/plain.js'
import { createProvider } from '../tests/provider/server.mjs'
import * as ai from './peers/ai.mjs'
import { faults } from './peers/oracle.mjs'
import { plain, read } from './peers/read.mjs'

const README = new URL('../README.md', import.meta.url)
const CAP = 25
const PARAMETERS = {
  type: 'object',
  properties: { path: { type: 'string' }, recursive: { type: 'boolean' } },
  required: ['path'],
}
const DESCRIPTION = 'Lists the files of a folder.'
const MESSAGES = [{ role: 'user', content: 'What is in my folder?' }]
const FILES = ['notes.txt', 'report.md']

const turn = (policy) => async (baseURL, ran) => {
  const list_files = defineTool({
    description: DESCRIPTION,
    inputSchema: PARAMETERS,
    readOnly: true,
    execute: () => ran(FILES),
  })
  const model = openaiChat({ baseURL, model: 'm' })
  return (await runTurn({ model, messages: MESSAGES, tools: { list_files }, policy }).result).text
}

/** Each runs the question to its end, and says the text that a user would see. */
const WAYS = {
  async 'a plain loop'(baseURL, ran) {
    const execute = () => ran(FILES)
    const tools = { list_files: { description: DESCRIPTION, inputSchema: PARAMETERS, execute } }
    let text = ''
    const tell = (step) => {
      if (step.kind === 'answer') text = step.text
    }
    const url = `${baseURL}/chat/completions`
    await plainLoop({ fetch, url, model: 'm', tools, messages: MESSAGES, cap: CAP, tell })
    return text
  },
  async '`ai` 7'(baseURL, ran) {
    const model = createOpenAICompatible({ name: 'x', baseURL })('m')
    const list_files = tool({
      description: DESCRIPTION,
      inputSchema: jsonSchema(PARAMETERS),
      execute: async () => ran(FILES),
    })
    const stopWhen = stepCountIs(CAP)
    const { text } = streamText({ model, messages: MESSAGES, tools: { list_files }, stopWhen })
    return text
  },
  turnlock: turn({}),
  'turnlock, 25 calls': turn({ maxTools: CAP, stagnation: 'stop' }),
}

/** What one way makes of a behaviour of the scripted model. */
async function play(provider, way, behaviour) {
  let runs = 0
  const session = `${way}-${behaviour}`.replace(/\W+/g, '-')
  const text = await WAYS[way](`${provider.url}/s/${session}/${behaviour}/v1`, (result) => {
    runs++
    return result
  })
  const asked = provider.requests(session)
  const bytes = asked.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0)
  return { models: asked.length, runs, bytes, answers: /notes\.txt/.test(text) }
}

/** How many of the broken histories become a valid request; of an option of a peer, the better. */
async function valid(ways) {
  const cases = JSON.parse(readFileSync(new URL('./peers/histories.json', import.meta.url), 'utf8'))
  let count = 0
  for (const entry of cases) {
    for (const make of Object.values(ways)) {
      const found = await Promise.resolve()
        .then(() => make(read(entry), entry))
        .then(faults, () => ['throws'])
      if (found.length) continue
      count++
      break
    }
  }
  return `${count} of ${cases.length}`
}

const normalized = (_, { input }) =>
  normalizeHistory(structuredClone(input), { dialect: 'openai-chat' }).messages

const provider = await createProvider()
const [names, seen] = [Object.keys(WAYS), {}]
for (const behaviour of ['loop', 'loop-reordered']) {
  for (const way of names) (seen[behaviour] ??= []).push(await play(provider, way, behaviour))
}
await provider.close()
const kilobytes = (bytes) => (bytes / 1000).toFixed(0)
const row = (title, cells) => `| ${[title, ...cells].join(' | ')} |`
const of = (behaviour, tell) => seen[behaviour].map(tell)
const table = [
  row('', names),
  row(
    '---',
    names.map(() => '---'),
  ),
  row(
    `model calls of a model that repeats its call (cap ${CAP})`,
    of('loop', (one) => one.models),
  ),
  row(
    'and runs of its tool',
    of('loop', (one) => one.runs),
  ),
  row(
    'and KB of requests',
    of('loop', (one) => kilobytes(one.bytes)),
  ),
  row(
    'and an answer',
    of('loop', (one) => (one.answers ? '**yes**' : 'none')),
  ),
  row(
    'runs, where key order and white space differ',
    of('loop-reordered', (one) => one.runs),
  ),
  row('histories that become a valid request', [
    await valid({ plain }),
    await valid({ ...ai.modelMessages, ...ai.uiMessages }),
    await valid({ normalized }),
    await valid({ normalized }),
  ]),
].join('\n')

const MARKED = /(<!-- compare -->\n)[^]*?(<!-- \/compare -->)/
const before = readFileSync(README, 'utf8')
if (!MARKED.test(before)) throw new Error('README.md has no place for the table')
const after = before.replace(MARKED, (_, start, end) => `${start}\n${table}\n\n${end}`)
if (process.argv.includes('--write')) writeFileSync(README, after)
else if (!process.argv.includes('--check')) console.log(table)
else if (after !== before) {
  console.log(`not ok - README.md: its table is stale: node benches/compare.mjs --write\n${table}`)
  process.exitCode = 1
}
