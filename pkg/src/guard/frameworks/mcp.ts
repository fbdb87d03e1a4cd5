/** Clients of MCP servers. Tested with `@modelcontextprotocol/client` 2 and `@modelcontextprotocol/sdk` 1. */
import { objectOf } from '../shown-history.js'
import type { ToolGuard } from '../tool-guard.js'
import { valueOf } from './framework.js'

interface Client {
  callTool(params: { name: string; arguments?: unknown }, ...others: unknown[]): Promise<unknown>
}

export const isMcpClient = <T extends object>(client: T): client is T & Client =>
  Object(client) === client &&
  'callTool' in client &&
  typeof client.callTool === 'function' &&
  'listTools' in client &&
  typeof client.listTools === 'function'

/** Guards the calls of a client. Calls have no ids here, and `ask` blocks a call. */
export function guardMcpClient<T extends object>(guard: ToolGuard, client: T & Client): T {
  const callTool: Client['callTool'] = async (params, ...others) => {
    const options = others.at(-1) as { signal?: AbortSignal } | undefined
    const site = {
      tool: String(params.name),
      args: objectOf(params.arguments ?? {}),
      id: undefined,
      run: undefined,
      turn: undefined,
      signal: options?.signal,
    }
    const outcome = await guard.perform(site, () => client.callTool(params, ...others))
    if (!('notice' in outcome)) return valueOf(outcome)
    return { content: [{ type: 'text', text: outcome.notice }], isError: true }
  }
  // The other methods run on the client itself, which may have private members.
  return new Proxy<T>(client, {
    get(target, name) {
      if (name === 'callTool') return callTool
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}
