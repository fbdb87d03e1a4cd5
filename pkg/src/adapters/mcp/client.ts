/** What is used of a client of the official SDK, and how it fails. */
import { isObject } from '../../checks.js'
import { wrong } from '../../errors.js'
import { member } from '../../shared/quietly.js'

/** A client of `@modelcontextprotocol/client` (v2) or `@modelcontextprotocol/sdk` (v1), connected. Their parameters differ. */
export interface McpClient {
  listTools(...parameters: any[]): Promise<any>
  /** In v1 the second parameter is a schema. */
  callTool(...parameters: any[]): Promise<any>
}

export interface CallOptions {
  signal: AbortSignal
  timeout: number
  onprogress: (progress: unknown) => void
}

/** A result of `tools/call`. */
export interface McpResult {
  content?: unknown[]
  structuredContent?: unknown
  isError?: boolean
}

/**
 * Most pages of a list of tools that are read.
 *
 * Limit | pages of tools of a server | pages | the rest is not read
 */
const MOST_PAGES = 100

/** The entries of all pages, whatever they are. */
export async function listAll(client: McpClient, timeout: number): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: unknown = await client.listTools(cursor === undefined ? {} : { cursor }, {
      timeout,
    })
    const { tools, nextCursor } = (answer ?? {}) as { tools?: unknown; nextCursor?: string }
    if (!Array.isArray(tools)) throw wrong('client.listTools', 'a function that gives { tools }')
    for (const tool of tools) all.push(tool)
    if (nextCursor === undefined) return all
    cursor = nextCursor
  }
  return all
}

/** Calls a tool. Only v2 has no schema before the options. */
export async function callTool(
  client: McpClient,
  params: Record<string, unknown>,
  options: CallOptions,
): Promise<McpResult> {
  const isNew = typeof member(client, 'getProtocolEra') === 'function'
  const more = isNew ? [options] : [undefined, options]
  return (await client.callTool(params, ...more)) as McpResult
}

/** JSON-RPC codes that the SDK uses for a connection that closed and an answer that came too late. */
const LOST = [-32000, -32001]

/**
 * Whether an error is the server's answer, or says that the server did not take the request. After
 * anything else the call may have run.
 */
export function isAnswer(error: unknown): boolean {
  const code = member(error, 'code')
  const data = member(error, 'data')
  const status = isObject(data) ? data['status'] : code
  if (typeof status === 'number' && status >= 400 && status < 500 && status !== 408) return true
  return typeof code === 'number' && code < 0 && !LOST.includes(code)
}
