// The example for LangGraph, and a turn over chat models of LangChain, before the scripted provider.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { ChatAnthropic } from '@langchain/anthropic'
import { tool } from '@langchain/core/tools'
import { MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { defineTool, runTurn } from 'turnlock'
import { makeAgent } from '../../examples/langgraph/agent.mjs'
import { langchainModel } from '../../examples/langgraph/model.mjs'
import { createProvider } from '../provider/server.mjs'

let provider
before(async () => (provider = await createProvider()))
after(() => provider?.close())

const MODELS = {
  // Without a stream: it counts the tokens of one by a table from the net.
  ChatOpenAI: (base) =>
    new ChatOpenAI({
      model: 'scripted',
      apiKey: 'secret',
      maxRetries: 0,
      configuration: { baseURL: `${base}/v1` },
    }),
  ChatAnthropic: (base) =>
    new ChatAnthropic({
      model: 'scripted',
      apiKey: 'secret',
      streaming: true,
      maxRetries: 0,
      anthropicApiUrl: base,
    }),
}

const schema = { type: 'object', properties: { path: { type: 'string' } } }

function agentOf(make, behaviour, more = {}) {
  const session = crypto.randomUUID()
  const runs = []
  const tools = ['list_files', 'read_file'].map((name) =>
    tool(async (args) => (runs.push(`${name} ${JSON.stringify(args)}`), '["notes.txt"]'), {
      name,
      description: name,
      schema,
      metadata: { readOnly: more.readOnly },
    }),
  )
  const llm = make(`${provider.url}/s/${session}/${behaviour}`)
  const agent = makeAgent({ llm, tools, ...more })
  const requests = () => provider.requests(session)
  return { agent, runs, requests }
}
const ask = (content) => ({ messages: [{ role: 'user', content }] })

for (const [name, make] of Object.entries(MODELS)) {
  test(`LangGraph, ${name}: a model that loops runs its call once, and answers`, async () => {
    const { agent, runs, requests } = agentOf(make, 'loop-reordered', { maxTools: 1 })
    const { messages } = await agent.invoke(ask('look'))
    assert.equal(runs.length, 1)
    assert.ok(requests().length <= 4, `${requests().length} requests`)
    assert.match(messages.at(-1).content, /\S/)
    assert.deepEqual(messages.at(-1).tool_calls, [])
  })

  test(`LangGraph, ${name}: a repeat within the budget is refused, and the model is told`, async () => {
    const { agent, runs } = agentOf(make, 'loop', { maxTools: 2 })
    const { messages } = await agent.invoke(ask('look'), { recursionLimit: 12 }).catch((error) => {
      throw error
    })
    assert.equal(runs.length, 1)
    const told = messages.filter((message) => message.getType() === 'tool')
    assert.equal(told[0].artifact.action, 'run')
    assert.equal(told[1].artifact.action, 'block')
    assert.equal(told[1].artifact.signature, told[0].artifact.signature)
    assert.match(told[1].content, /already|answer/i)
  })

  test(`a turn over ${name}`, async () => {
    const session = crypto.randomUUID()
    const llm = make(`${provider.url}/s/${session}/one-call`, {})
    const runs = []
    const list_files = defineTool({
      description: 'Lists files.',
      inputSchema: schema,
      readOnly: true,
      execute: (args) => (runs.push(args), ['notes.txt']),
    })
    const { status, text, toolResults, usage, error } = await runTurn({
      model: langchainModel(llm),
      tools: { list_files },
      messages: [{ role: 'user', content: 'look' }],
      policy: { resultsAs: name === 'ChatAnthropic' ? 'native' : 'box' },
    }).result
    assert.equal(status, 'complete', error?.message)
    assert.match(text, /notes\.txt.*That answers it\.$/)
    assert.deepEqual([runs.length, toolResults[0].status], [1, 'ok'])
    assert.ok(usage.outputTokens > 0 && usage.inputTokens > 0)
    assert.equal(provider.requests(session).length, 2)
  })
}

test('LangGraph: a new message of the user has its own budget; a checkpoint keeps the old one', async () => {
  const { agent, runs } = agentOf(MODELS.ChatOpenAI, 'one-call', {
    maxTools: 1,
    checkpointer: new MemorySaver(),
  })
  const thread = { configurable: { thread_id: 't' } }
  const first = await agent.invoke(ask('look'), thread)
  assert.match(first.messages.at(-1).content, /That answers it\.$/)
  const second = await agent.invoke(ask('look again'), thread)
  assert.ok(second.messages.length > first.messages.length)
  assert.ok(runs.length <= 2)
})
