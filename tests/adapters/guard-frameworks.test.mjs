// `guardTools` around unmodified tools of OpenAI Agents, LangChain, LangGraph, Mastra, TanStack AI and
// MCP clients: what their own mechanisms still do.
import assert from 'node:assert/strict'
import { describe, test, after, before } from 'node:test'
import { createMCPClient } from '@ai-sdk/mcp'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, DynamicTool, tool as langchainTool } from '@langchain/core/tools'
import {
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { createTool } from '@mastra/core/tools'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents'
import { chat, maxIterations, toolDefinition } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import OpenAI from 'openai'
import { memoryStore } from 'turnlock'
import { guardTools } from 'turnlock/guard'
import { z } from 'zod'
import { createProvider } from '../provider/server.mjs'

setTracingDisabled(true)
let provider
before(async () => (provider = await createProvider()))
after(() => provider?.close())

const DUPLICATE = /^The call to \w+ did not run: the result of the same call is already at hand/
const baseOf = (behaviour = 'again:list_files') =>
  `${provider.url}/s/${crypto.randomUUID()}/${behaviour}/v1`
const parameters = z.object({ path: z.string(), recursive: z.boolean() })
const APPROVAL = { tools: { list_files: { needsApproval: true } } }

describe('OpenAI Agents', () => {
  const runs = []
  const list = tool({
    name: 'list_files',
    description: 'Lists files.',
    parameters,
    execute: async ({ path }) => (runs.push(path), 'notes.txt'),
  })
  const agentOf = (tools, behaviour) => {
    const client = new OpenAI({ baseURL: baseOf(behaviour), apiKey: 'k', maxRetries: 0 })
    return new Agent({ name: 'a', tools, model: new OpenAIChatCompletionsModel(client, 'm') })
  }

  test('a guarded tool has the same members', () => {
    const [guarded] = guardTools([list])
    const { invoke: _, ...members } = guarded
    const { invoke: __, ...own } = list
    assert.deepEqual(members, own)
  })

  test('ask interrupts the run; an approved call runs, a rejected one does not', async () => {
    for (const isApproved of [true, false]) {
      runs.length = 0
      const agent = agentOf(guardTools([list], { policy: APPROVAL }), 'one-call')
      const first = await run(agent, 'look')
      assert.equal(first.interruptions.length, 1)
      assert.equal(runs.length, 0)
      const { state } = first
      if (isApproved) state.approve(first.interruptions[0])
      else state.reject(first.interruptions[0])
      const { finalOutput } = await run(agent, state)
      assert.equal(runs.length, isApproved ? 1 : 0)
      assert.ok(finalOutput)
    }
  })

  test('the next run begins a window; with `turnId` another process knows the call', async () => {
    runs.length = 0
    const agent = agentOf(guardTools([list]), 'one-call')
    for (const times of [1, 2]) {
      await run(agent, 'look')
      assert.equal(runs.length, times)
    }
    const options = { store: memoryStore(), conversationId: 'c', turnId: 'message 7' }
    for (const times of [3, 3]) {
      await run(agentOf(guardTools([list], options), 'one-call'), 'look')
      assert.equal(runs.length, times)
    }
  })

  test('arguments that are no JSON get a notice, and the tool is not called', async () => {
    runs.length = 0
    const [guarded] = guardTools([list])
    const result = await guarded.invoke({}, '{"path":', undefined)
    assert.match(String(result), /\w/)
    assert.equal(runs.length, 0)
  })
})

describe('LangChain and LangGraph', () => {
  const graphOf = (tools, checkpointer) => {
    const model = new ChatOpenAI({
      model: 'm',
      apiKey: 'k',
      maxRetries: 0,
      configuration: { baseURL: baseOf('one-call') },
    }).bindTools(tools)
    return new StateGraph(MessagesAnnotation)
      .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode('tools', new ToolNode(tools))
      .addEdge('__start__', 'agent')
      .addConditionalEdges('agent', toolsCondition)
      .addEdge('tools', 'agent')
      .compile({ checkpointer })
  }

  test('the class, the schema and the members of a tool stay', () => {
    const own = langchainTool(() => 'x', { name: 'list_files', schema: parameters })
    const [guarded] = guardTools([own])
    assert.ok(guarded instanceof DynamicStructuredTool)
    assert.equal(guarded.schema, own.schema)
    assert.deepEqual([guarded.name, guarded.lc_namespace], [own.name, own.lc_namespace])
  })

  test('artifacts, texts as arguments, and repeats as tool messages', async () => {
    const runs = []
    const withArtifact = langchainTool((args) => (runs.push(args), ['text', { rows: 3 }]), {
      name: 'query',
      schema: z.object({ q: z.string() }),
      responseFormat: 'content_and_artifact',
    })
    const text = new DynamicTool({
      name: 'say',
      description: 'Says.',
      func: async (input) => (runs.push(input), `said ${input}`),
    })
    const [query, say] = guardTools([withArtifact, text])
    const call = (id) => ({ type: 'tool_call', id, name: 'query', args: { q: 'x' } })
    const first = await query.invoke(call('1'))
    assert.deepEqual([first.content, first.artifact], ['text', { rows: 3 }])
    const second = await query.invoke(call('2'))
    assert.match(second.content, DUPLICATE)
    assert.equal(second.tool_call_id, '2')
    assert.equal(await say.invoke('hello'), 'said hello')
    assert.match(await say.invoke('hello'), DUPLICATE)
    assert.equal(await say.invoke('bye'), 'said bye')
    assert.equal(runs.length, 3)
  })

  test('an interrupt in a tool is no outcome: the call starts again, and once', async () => {
    for (const options of [{}, { store: memoryStore(), conversationId: 'c' }]) {
      const log = []
      const own = langchainTool(
        async () => {
          log.push('started')
          const answer = interrupt('may I?')
          log.push(`did it: ${answer}`)
          return 'done'
        },
        { name: 'list_files', schema: z.object({ path: z.string() }).loose() },
      )
      const graph = graphOf(guardTools([own], options), new MemorySaver())
      const config = { configurable: { thread_id: crypto.randomUUID() } }
      await graph.invoke({ messages: [new HumanMessage('look')] }, config)
      assert.deepEqual(log, ['started'])
      const { messages } = await graph.invoke(new Command({ resume: 'yes' }), config)
      assert.deepEqual(log, ['started', 'started', 'did it: yes'])
      assert.ok(messages.some((message) => message.content === 'done'))
    }
  })

  test('the next message of the user in a thread begins a window', async () => {
    const runs = []
    const own = langchainTool((args) => (runs.push(args), 'notes.txt'), {
      name: 'list_files',
      schema: z.object({ path: z.string() }).loose(),
    })
    const [guarded] = guardTools([own])
    const node = new ToolNode([guarded])
    const calls = (id) =>
      new AIMessage({ content: '', tool_calls: [{ id, name: 'list_files', args: { path: 'a' } }] })
    const history = [new HumanMessage('look'), calls('1')]
    const first = await node.invoke({ messages: history })
    history.push(...first.messages, calls('2'))
    const second = await node.invoke({ messages: history })
    assert.match(second.messages[0].content, DUPLICATE)
    history.push(...second.messages, new HumanMessage('again'), calls('3'))
    const third = await node.invoke({ messages: history })
    assert.equal(third.messages[0].content, 'notes.txt')
    assert.equal(runs.length, 2)
    // Another process has the history alone.
    const [restarted] = guardTools([own])
    history.push(...third.messages, calls('4'))
    const fourth = await new ToolNode([restarted]).invoke({ messages: history })
    assert.match(fourth.messages[0].content, DUPLICATE)
    assert.equal(runs.length, 2)
  })
})

describe('Mastra', () => {
  test('the class and the id stay, a tool that needs an approval requires it', () => {
    const own = createTool({ id: 'list_files', description: 'x', execute: async () => 1 })
    const { list_files: guarded } = guardTools({ list_files: own }, { policy: APPROVAL })
    assert.equal(guarded.constructor, own.constructor)
    assert.equal(guarded.id, 'list_files')
    assert.equal(guarded.requireApproval, true)
    assert.notEqual(own.requireApproval, true)
  })

  test('a tool that suspends starts again with the answer', async () => {
    const log = []
    const own = createTool({
      id: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ amount: z.number() }),
      suspendSchema: z.object({ why: z.string() }),
      resumeSchema: z.object({ ok: z.boolean() }),
      execute: async ({ amount }, { agent }) => {
        if (!agent.resumeData) return agent.suspend({ why: 'much' })
        log.push(amount)
        return { paid: amount }
      },
    })
    const { pay } = guardTools({ pay: own })
    const suspended = []
    const context = (resumeData) => ({
      runId: 'run-1',
      agent: {
        toolCallId: 'call_1',
        messages: [],
        suspend: async (payload) => void suspended.push(payload),
        resumeData,
      },
    })
    await pay.execute({ amount: 5 }, context())
    assert.deepEqual(suspended, [{ why: 'much' }])
    assert.deepEqual(await pay.execute({ amount: 5 }, context({ ok: true })), { paid: 5 })
    const other = context({ ok: true })
    other.agent.toolCallId = 'call_2'
    assert.match(await pay.execute({ amount: 5 }, other), DUPLICATE)
    assert.deepEqual(log, [5])
  })
})

describe('TanStack AI', () => {
  test('a tool that needs an approval waits for it', async () => {
    const runs = []
    const definition = toolDefinition({
      name: 'list_files',
      description: 'Lists files.',
      inputSchema: parameters,
    })
    const own = definition.server(async ({ path }) => (runs.push(path), [path]))
    const tools = guardTools([own], { policy: APPROVAL })
    const config = { baseURL: baseOf('one-call'), maxRetries: 0 }
    const stream = chat({
      adapter: createOpenaiChatCompletions('gpt-5-mini', 'k', config),
      messages: [{ role: 'user', content: 'look' }],
      tools,
      agentLoopStrategy: maxIterations(4),
    })
    const events = []
    for await (const event of stream) events.push(JSON.stringify(event))
    assert.ok(events.some((event) => event.includes('approval')))
    assert.deepEqual(runs, [])
    // It executes approved calls only.
    assert.deepEqual(await tools[0].execute({ path: '.', recursive: true }, { toolCallId: '1' }), [
      '.',
    ])
    assert.equal(own.needsApproval, undefined)
  })
})

for (const [name, Client] of Object.entries({ 'v1 client': ClientV1, 'v2 client': ClientV2 })) {
  describe(`MCP, ${name}`, () => {
    test('calls are guarded, everything else is the client', async () => {
      const runs = []
      const server = new McpServer({ name: 's', version: '1.0.0' })
      server.registerTool('send', { inputSchema: { to: z.string() } }, async ({ to }) => {
        runs.push(to)
        if (to === 'nobody') return { isError: true, content: [{ type: 'text', text: 'unknown' }] }
        return { content: [{ type: 'text', text: `sent to ${to}` }] }
      })
      const [here, there] = InMemoryTransport.createLinkedPair()
      const connected = new Client({ name: 'c', version: '1.0.0' })
      await Promise.all([server.connect(there), connected.connect(here)])
      const client = guardTools(connected)
      assert.ok(client instanceof Client)
      assert.equal(client.getServerVersion().name, 's')
      assert.deepEqual(
        (await client.listTools()).tools.map((one) => one.name),
        ['send'],
      )
      const send = (to) => client.callTool({ name: 'send', arguments: { to } })
      assert.equal((await send('Ada')).content[0].text, 'sent to Ada')
      const again = await send('Ada')
      assert.equal(again.isError, true)
      assert.match(again.content[0].text, DUPLICATE)
      assert.equal((await send('nobody')).isError, true)
      assert.deepEqual(runs, ['Ada', 'nobody'])
      await client.close()
    })
  })
}

describe('MCP, client of the AI SDK', () => {
  test('its tools are tools of the AI SDK', async () => {
    const runs = []
    const server = new McpServer({ name: 's', version: '1.0.0' })
    server.registerTool('send', { inputSchema: { to: z.string() } }, async ({ to }) => {
      runs.push(to)
      return { content: [{ type: 'text', text: `sent to ${to}` }] }
    })
    const [transport, there] = InMemoryTransport.createLinkedPair()
    await server.connect(there)
    const client = await createMCPClient({ transport })
    const { send } = guardTools(await client.tools())
    const messages = [{ role: 'user', content: 'send it' }]
    const call = (toolCallId) => send.execute({ to: 'Ada' }, { toolCallId, messages })
    assert.equal((await call('1')).content[0].text, 'sent to Ada')
    // A retry: the messages have no result yet.
    assert.equal((await call('2')).content[0].text, 'sent to Ada')
    assert.deepEqual(runs, ['Ada'])
    await client.close()
  })
})
