// A model that asks for the same tool for ever, in the loops of frameworks: unmodified packages, at
// most 25 steps each. `wrap` guards the tools, `fetch` guards the client.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createOpenAICompatible as compatible7 } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { Agent as MastraAgent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  Agent,
  OpenAIChatCompletionsModel,
  run,
  setTracingDisabled,
  tool as agentsTool,
} from '@openai/agents'
import { chat, maxIterations, toolDefinition } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import * as ai7 from 'ai'
import * as ai6 from 'ai6'
import { createOpenAICompatible as compatible6 } from 'ai6-compatible'
import { createAgent } from 'langchain'
import OpenAI from 'openai'
import { z } from 'zod'

setTracingDisabled(true)

export const STEPS = 25
const inputSchema = z.object({ path: z.string(), recursive: z.boolean().optional() })
const description = 'Lists files.'
const openaiOf = (base, fetch) =>
  new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0, ...(fetch && { fetch }) })
const langchainOf = (base, fetch) =>
  new ChatOpenAI({
    model: 'm',
    apiKey: 'k',
    maxRetries: 0,
    configuration: { baseURL: `${base}/v1`, ...(fetch && { fetch }) },
  })

const aiSdk =
  (ai, compatible) =>
  async ({ base, fetch, wrap, execute, middleware }) => {
    const own = compatible({ name: 's', apiKey: 'k', baseURL: `${base}/v1`, fetch }).chatModel('m')
    const model = middleware ? ai.wrapLanguageModel({ model: own, middleware }) : own
    const list_files = ai.tool({ description, inputSchema, execute })
    const { steps } = await ai.generateText({
      model,
      prompt: 'look',
      tools: wrap({ list_files }),
      stopWhen: ai.stepCountIs(STEPS),
      maxRetries: 0,
    })
    return steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))
  }

async function openaiAgents({ base, fetch, wrap, execute }) {
  const list_files = agentsTool({
    name: 'list_files',
    description,
    parameters: z.object({ path: z.string(), recursive: z.boolean() }),
    execute,
  })
  const agent = new Agent({
    name: 'a',
    tools: wrap([list_files]),
    model: new OpenAIChatCompletionsModel(openaiOf(base, fetch), 'm'),
  })
  const results = []
  agent.on('agent_tool_end', (_, __, result) => results.push(result))
  await run(agent, 'look', { maxTurns: STEPS }).catch(isLimit)
  return results
}

function langchainToolsOf({ wrap, execute }) {
  const results = []
  const callbacks = [{ handleToolEnd: (message) => void results.push(message.content) }]
  const list_files = langchainTool(execute, {
    name: 'list_files',
    description,
    schema: inputSchema,
  })
  return { tools: wrap([list_files]), callbacks, results }
}

async function langchain(options) {
  const { tools, callbacks, results } = langchainToolsOf(options)
  const model = langchainOf(options.base, options.fetch)
  const agent = createAgent({ model, tools })
  const input = { messages: [new HumanMessage('look')] }
  await agent.invoke(input, { recursionLimit: 2 * STEPS, callbacks }).catch(isLimit)
  return results
}

async function langgraph(options) {
  const { tools, callbacks, results } = langchainToolsOf(options)
  const model = langchainOf(options.base, options.fetch).bindTools(tools)
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', toolsCondition)
    .addEdge('tools', 'agent')
    .compile()
  const input = { messages: [new HumanMessage('look')] }
  await graph.invoke(input, { recursionLimit: 2 * STEPS, callbacks }).catch(isLimit)
  return results
}

async function mastra({ base, fetch, wrap, execute }) {
  const list_files = createTool({ id: 'list_files', description, inputSchema, execute })
  const agent = new MastraAgent({
    id: 'a',
    name: 'a',
    instructions: 'Help.',
    model: compatible6({ name: 's', apiKey: 'k', baseURL: `${base}/v1`, fetch }).chatModel('m'),
    tools: wrap({ list_files }),
    maxRetries: 0,
  })
  const { steps } = await agent.generate('look', { maxSteps: STEPS })
  return steps.flatMap(({ toolResults }) => toolResults.map(({ payload }) => payload.result))
}

async function tanstack({ base, fetch, wrap, execute }) {
  const list_files = toolDefinition({ name: 'list_files', description, inputSchema }).server(
    execute,
  )
  const adapter = createOpenaiChatCompletions('gpt-5-mini', 'k', {
    baseURL: `${base}/v1`,
    maxRetries: 0,
    ...(fetch && { fetch }),
  })
  const results = []
  const stream = chat({
    adapter,
    messages: [{ role: 'user', content: 'look' }],
    tools: wrap([list_files]),
    agentLoopStrategy: maxIterations(STEPS),
  })
  for await (const event of stream) {
    if (event.type === 'TOOL_CALL_RESULT') results.push(event.content)
  }
  return results
}

/** A client of an MCP server in a loop of its own. */
async function mcp({ base, fetch, wrap, execute }) {
  const server = new McpServer({ name: 's', version: '1.0.0' })
  server.registerTool('list_files', { description, inputSchema }, async (args) => ({
    content: [{ type: 'text', text: JSON.stringify(await execute(args)) }],
  }))
  const [here, there] = InMemoryTransport.createLinkedPair()
  const connected = new Client({ name: 'c', version: '1.0.0' })
  await Promise.all([server.connect(there), connected.connect(here)])
  const client = wrap(connected)
  const tools = (await client.listTools()).tools.map(({ name, inputSchema: parameters }) => ({
    type: 'function',
    function: { name, parameters },
  }))
  const openai = openaiOf(base, fetch)
  const messages = [{ role: 'user', content: 'look' }]
  const results = []
  for (let step = 0; step < STEPS; step++) {
    const { choices } = await openai.chat.completions.create({ model: 'm', messages, tools })
    const [{ message }] = choices
    messages.push(message)
    if (!message.tool_calls?.length) break
    for (const call of message.tool_calls) {
      const args = JSON.parse(call.function.arguments)
      const { content } = await client.callTool({ name: call.function.name, arguments: args })
      results.push(content[0].text)
      messages.push({ role: 'tool', tool_call_id: call.id, content: content[0].text })
    }
  }
  await client.close()
  return results
}

/** The tool runner of Anthropic's client. */
async function anthropicRunner({ base, fetch, execute }) {
  const client = new Anthropic({
    baseURL: base,
    apiKey: 'k',
    maxRetries: 0,
    ...(fetch && { fetch }),
  })
  const run = async (args) => JSON.stringify(await execute(args))
  const list_files = betaZodTool({ name: 'list_files', description, inputSchema, run })
  await client.beta.messages.toolRunner({
    model: 'm',
    max_tokens: 99,
    messages: [{ role: 'user', content: 'look' }],
    tools: [list_files],
    max_iterations: STEPS,
    // With threads, a request has new messages only, and its earlier calls are not known.
    thread: false,
  })
}

/** The tool runner of OpenAI's client. */
async function openaiRunner({ base, fetch, execute }) {
  const run = async (args) => JSON.stringify(await execute(args))
  const parameters = { type: 'object' }
  const list = { name: 'list_files', description, parameters, parse: JSON.parse, function: run }
  const runner = openaiOf(base, fetch).chat.completions.runTools(
    {
      model: 'm',
      messages: [{ role: 'user', content: 'look' }],
      tools: [{ type: 'function', function: list }],
    },
    { maxChatCompletions: STEPS },
  )
  await runner.done()
}

/** The error of a framework whose limit of steps was reached. */
function isLimit(error) {
  if (/MaxTurnsExceeded|GraphRecursion/.test(`${error?.name} ${error?.constructor?.name}`)) return
  throw error
}

const require = createRequire(import.meta.url)
/** The version of an installed package. */
function versionOf(name) {
  for (const folder of require.resolve.paths(name)) {
    try {
      return JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')).version
    } catch {
      // In a folder further up.
    }
  }
  throw new Error(`${name} is not installed`)
}

const entry = (name, package_, loop, more = {}) => ({
  name,
  package: package_,
  version: versionOf(more.folder ?? package_),
  loop,
  ...more,
})

/** What plays the loop. `tools: false`: it has no tools that `guardTools` takes. */
export const LOOPS = [
  entry('AI SDK 7', 'ai', aiSdk(ai7, compatible7), { middleware: true }),
  entry('AI SDK 6', 'ai', aiSdk(ai6, compatible6), { middleware: true, folder: 'ai6' }),
  entry('OpenAI Agents', '@openai/agents', openaiAgents),
  entry('LangChain', 'langchain', langchain),
  entry('LangGraph', '@langchain/langgraph', langgraph),
  entry('Mastra', '@mastra/core', mastra),
  entry('TanStack AI', '@tanstack/ai', tanstack),
  entry('MCP client', '@modelcontextprotocol/sdk', mcp),
  entry('OpenAI tool runner', 'openai', openaiRunner, { tools: false }),
  entry('Anthropic tool runner', '@anthropic-ai/sdk', anthropicRunner, { tools: false }),
]
