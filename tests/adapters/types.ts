// What the packages of others are given is what they take.
import type { LanguageModelMiddleware as Middleware7 } from 'ai'
import type { LanguageModelMiddleware as Middleware6 } from 'ai6'
import type { Client } from '@modelcontextprotocol/client'
import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import * as api from '@opentelemetry/api'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { mcpTools } from 'turnlock/mcp'
import { openTelemetry } from 'turnlock/otel'
import { createHandler } from 'turnlock/server'

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
