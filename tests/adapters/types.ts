// What the packages of others are given is what they take.
import type { LanguageModelMiddleware as Middleware7 } from 'ai'
import type { LanguageModelMiddleware as Middleware6 } from 'ai6'
import type { Client } from '@modelcontextprotocol/client'
import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { tool as langchainTool } from '@langchain/core/tools'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { Agent as MastraAgent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Agent, tool as agentsTool } from '@openai/agents'
import * as api from '@opentelemetry/api'
import { toolDefinition } from '@tanstack/ai'
import { generateText, tool, type LanguageModel } from 'ai'
import { createAgent } from 'langchain'
import OpenAI from 'openai'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { guardFetch, guardToolCall, guardTools } from 'turnlock/guard'
import { mcpTools } from 'turnlock/mcp'
import { openTelemetry } from 'turnlock/otel'
import { createHandler } from 'turnlock/server'
import { z } from 'zod'

export const seven: Middleware7 = turnlockMiddleware()
export const six: Middleware6 = turnlockMiddleware({
  maxTools: 2,
  onReport: ({ refused }) => refused,
})
export const tools = (client: Client) => mcpTools(client, { allow: ['a'] })
export const tools1 = (client: Client1) => mcpTools(client, { allow: { a: { readOnly: true } } })
export const { onTrace, onEvent } = openTelemetry({ api, content: true })
export const handler = (options: Parameters<typeof createHandler>[0]) =>
  createHandler({ ...options, format: 'ai-sdk', onTrace, onEvent })

const parameters = z.object({ path: z.string() })
const read = tool({ inputSchema: parameters, execute: async ({ path }) => path.length })
const guarded = guardTools({ read }, { policy: { tools: { read: { readOnly: true } } } })
export const answer = async (model: LanguageModel) => {
  const { toolResults } = await generateText({ model, prompt: '', tools: guarded })
  const [result] = toolResults
  // The types of the tool's own result.
  return result && !result.dynamic ? result.output.toFixed() + result.input.path : ''
}
const own = agentsTool({ name: 'a', description: '', parameters, execute: ({ path }) => path })
export const agent = new Agent({ name: 'a', tools: guardTools([own]) })
const structured = langchainTool(({ path }) => path, { name: 'a', schema: parameters })
export const node = new ToolNode(guardTools([structured]))
export const reacting = createAgent({ model: 'm', tools: guardTools([structured]) })
const mastra = createTool({
  id: 'a',
  description: '',
  inputSchema: parameters,
  execute: async () => 1,
})
export const mastraAgent = new MastraAgent({
  id: 'a',
  name: 'a',
  instructions: '',
  model: 'openai/m',
  tools: guardTools({ mastra }),
})
const definition = toolDefinition({ name: 'a', description: '', inputSchema: parameters })
export const [server] = guardTools([definition.server(async ({ path }) => path)])
export const name: 'a' | undefined = server?.name
export const clients = (client: Client, client1: Client1): [Client, Client1] => [
  guardTools(client),
  guardTools(client1),
]
export const outcome = guardToolCall({ toolCallId: '1', toolName: 'a', input: {} }, () => 1)
export const openai = new OpenAI({ fetch: guardFetch() })
export const anthropic = new Anthropic({ fetch: guardFetch(fetch, { mode: 'repair' }) })
export const compatible = createOpenAICompatible({ name: 'a', baseURL: '', fetch: guardFetch() })
