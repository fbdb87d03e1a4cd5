// A question on the command line, to the agent of agent.mjs.
import { readdir } from 'node:fs/promises'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { makeAgent } from './agent.mjs'

const [question = 'What is in my folder?'] = process.argv.slice(2)
const { BASE_URL, OPENAI_API_KEY, MODEL } = process.env

const llm = new ChatOpenAI({
  model: MODEL ?? 'gpt-5-mini',
  apiKey: OPENAI_API_KEY ?? 'none',
  configuration: { baseURL: BASE_URL },
})
const list_files = tool(async () => JSON.stringify(await readdir('.')), {
  name: 'list_files',
  description: 'Lists the files of a folder.',
  schema: { type: 'object', properties: { path: { type: 'string' } } },
  metadata: { readOnly: true },
})

try {
  const agent = makeAgent({ llm, tools: [list_files] })
  const asked = { messages: [{ role: 'user', content: question }] }
  const streamMode = ['messages', 'updates']
  for await (const [mode, data] of await agent.stream(asked, { streamMode })) {
    if (mode === 'messages') {
      const [chunk] = data
      if (chunk.getType() === 'ai') process.stdout.write(chunk.text)
      continue
    }
    for (const { tool_calls: calls = [] } of data.model?.messages ?? []) {
      for (const { name } of calls) console.log(`calls ${name}`)
    }
    for (const { name, artifact, content } of data.act?.messages ?? []) {
      console.log(`${name}: ${artifact.action}: ${content}`)
    }
  }
  console.log()
} catch (error) {
  console.error(`${error.status ?? error.name}: ${error.message}`)
  process.exitCode = 1
}
