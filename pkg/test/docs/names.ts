// What the samples of README and docs take as given: the reader's own values.
import type { JsonSchema, Model, Store, Tool } from 'turnlock'
import type { PassTraceEvent } from 'turnlock/planning'

type Ask = (prompt: string, signal?: AbortSignal) => Promise<string>

declare global {
  const model: Model
  const other: Model
  const bars: { symbol: string; at: string }[]
  const boxSecret: string
  const tools: Record<string, Tool> & import('ai').ToolSet
  const list_files: Tool
  const messages: { role: 'user'; content: string }[]
  const all: { pinned?: boolean }[]
  const store: Store
  const text: string
  const baseURL: string
  const apiKey: string
  const conversationId: string
  const address: string
  const chunk: string
  const data: { user: { ssn: string } }
  const lastSeq: number
  const claimant: string
  const pins: Record<string, string>
  const audit: PassTraceEvent[]
  const tokenizer: { encode(text: string): number[] }
  const ask: Ask & ((approvals: readonly unknown[] | undefined) => void)
  const described: { description: string; inputSchema: JsonSchema }
  const own: Record<string, (args: unknown) => Promise<unknown>>
  const calls: { id: string; name: string; args: unknown }[]
  const listFiles: (path: string, signal: AbortSignal) => Promise<string[]>
  const find: (q: string, signal: AbortSignal) => Promise<string[]>
  const capture: () => Promise<Uint8Array>
  const sendNote: (to: string, key: string) => Promise<void>
  const isBlocked: (iban: string) => Promise<boolean>
  const sendMoney: (iban: string, cents: number) => Promise<void>
  const show: (shown: unknown) => void
  const token: () => string
  const position: () => { latitude: number; longitude: number }
  const webSearch: (query: string, signal: AbortSignal) => Promise<{ title: string }[]>
  const report: (query: string, results: unknown) => string
  const snapshot: (symbols: unknown, signal: AbortSignal) => Promise<unknown>
  const post: (path: string, body: unknown) => Promise<any>
  const execute: (call: unknown) => Promise<unknown>
  const answer: (call: unknown, text: unknown) => void
  const askWithoutTools: () => void
  const isOperator: (request: Request) => Promise<boolean>
  const userOf: (request: Request) => Promise<{ tenant: string } | null>
  const decide: (calls?: unknown) => Promise<{ signature: string; approved: boolean }[]>
  const authorize: (request: Request) => Promise<{ tenant: string } | null>
  const onReport: (report: unknown) => void
  const client: any
  const openai: (model: string) => import('ai').LanguageModel & object
  const signature: string
  const search: import('ai').Tool
  const sendMail: import('ai').Tool
  const user: { id: string }
  const toolCall: { toolCallId: string; toolName: string; input: unknown }
  const locate: (input: unknown) => Promise<unknown>
  const z: any
  const assessmentFor: (tenant: string, text: string) => Promise<() => Promise<{ data: unknown }>>
}
