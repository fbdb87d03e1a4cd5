/** The tools of an MCP server as tools of a turn. */
import { checkFunctions, isObject } from '../../checks.js'
import { readOptions } from '../../options.js'
import { isTurnlockError, TurnlockError, wrong } from '../../errors.js'
import type { McpAllowed, McpToolsOptions } from '../../generated/adapters.js'
import { MCP_TOOLS_OPTIONS } from '../../generated/rows.js'
import { quietly } from '../../shared/quietly.js'
import { describe } from '../../shared/serialize.js'
import { signature } from '../../signature.js'
import { defineTool, type Tool, type ToolContext } from '../../tools/tools.js'
import { callTool, isAnswer, listAll, type McpClient } from './client.js'
import { messageOf, valueOf } from './content.js'
import { readDefinition, readList, type Definition } from './definition.js'

export type { McpAllowed, McpToolsOptions }

/** A definition that is not what it was. */
export interface McpDrift {
  /** The tool's name at the server. */
  tool: string
  /** The fingerprint that was pinned, or that `mcpTools` found. */
  expected: string
  /**
   * The fingerprint now; none if the server has no such tool any more, more than one, or a definition
   * that has no fingerprint: it is not JSON of at most 128 levels.
   */
  found: string | undefined
}

/** A definition that cannot be used. The other tools of its server can. */
export interface McpSkipped {
  /** The tool's name at the server; empty for an entry of its list that has none. */
  tool: string
  /** `tool.invalid_schema`, `mcp.invalid_definition`, or a `json.*` code of `signature`. */
  code: string
  message: string
}

/** The tools of a server. */
export interface McpTools {
  /** By the name that the model sees: that of the server, as every provider takes it. */
  tools: Record<string, Tool>
  /** The fingerprints of the allowed definitions, by their name at the server: for `pins`. */
  fingerprints: Record<string, string>
  /** Definitions that differ from their pins. They are not among `tools`. */
  drifted: McpDrift[]
  /** Allowed tools that the server does not have. */
  missing: string[]
  /** Allowed tools whose definitions cannot be used, and why. They are not among `tools`. */
  skipped: McpSkipped[]
  /**
   * Asks the server again. Calls of tools whose definition has changed are refused from then on, with
   * `mcp.drift`. Call it when the server says that its list has changed, or before a turn.
   */
  refresh(): Promise<McpDrift[]>
}

/**
 * Makes tools of those of an MCP server that are allowed. `client` is connected by the host, over any
 * transport.
 *
 * Calls are never repeated. After a connection that broke, the outcome of a call is `unknown`, unless
 * its tool is `readOnly` or `idempotent`: then it is an `error`.
 *
 * A definition that cannot be used is listed in `skipped`, and the others are offered.
 *
 * @throws TurnlockError `options.invalid`; rejects with what the client throws
 * @example
 * const { tools } = await mcpTools(client, { allow: { search: { readOnly: true }, send: {} } })
 * runTurn({ model, tools, messages })
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions): Promise<McpTools> {
  options = readOptions(options, MCP_TOOLS_OPTIONS)
  const { pins = {}, prefix = '', timeoutMs = 60_000, onDrift } = options
  if (typeof client?.callTool !== 'function' || typeof client.listTools !== 'function') {
    throw wrong('client', 'a client of the official SDK')
  }
  // A pin that is not read would let every definition pass.
  if (!isObject(pins)) throw wrong('pins', 'fingerprints by name')
  if (typeof prefix !== 'string' || !/^[\w-]*$/.test(prefix)) {
    throw wrong('prefix', 'letters, digits, `_` and `-`')
  }
  checkFunctions({ onDrift })
  const allow = allowed(options.allow)
  const reportDrift = (drift: McpDrift) => quietly(() => onDrift?.(drift))
  const { byName, unnamed } = readList(await listAll(client, timeoutMs))
  const fingerprints: Record<string, string> = Object.create(null)
  const tools: [string, Tool][] = []
  const drifted: McpDrift[] = []
  const missing: string[] = []
  const skipped: McpSkipped[] = []
  const skip = (tool: string, { code, message }: TurnlockError) =>
    skipped.push({ tool, code, message })
  for (const error of unnamed) skip('', error)
  /** Those that have changed since. */
  const changed = new Set<string>()
  const names = new Names(prefix)
  for (const [name, own] of Object.entries(allow)) {
    const listed = byName.get(name)
    const isUsable = listed !== undefined && !(listed instanceof TurnlockError)
    const fingerprint = isUsable ? listed.fingerprint : undefined
    const pin = Object.hasOwn(pins, name) ? pins[name] : undefined
    if (fingerprint !== undefined) fingerprints[name] = fingerprint
    if (listed === undefined) missing.push(name)
    else if (!isUsable) skip(name, listed)
    if (pin !== undefined && pin !== fingerprint) {
      drifted.push({ tool: name, expected: pin, found: fingerprint })
    } else if (isUsable) {
      try {
        const definition = readDefinition(name, listed.json)
        const results = { data: options.data ?? true, trusted: options.trusted ?? false }
        const tool = toolOf(client, definition, own, timeoutMs, results, changed)
        tools.push([names.of(name), tool])
      } catch (error) {
        if (!isTurnlockError(error)) throw error
        skip(name, error)
      }
    }
  }
  drifted.forEach(reportDrift)
  return {
    tools: Object.fromEntries(tools),
    fingerprints: { ...fingerprints },
    drifted,
    missing,
    skipped,
    refresh,
  }

  async function refresh(): Promise<McpDrift[]> {
    const now = readList(await listAll(client, timeoutMs)).byName
    const drifts: McpDrift[] = []
    for (const [tool, expected] of Object.entries(fingerprints)) {
      const listed = now.get(tool)
      const found = listed instanceof TurnlockError ? undefined : listed?.fingerprint
      if (found === expected) changed.delete(tool)
      else {
        changed.add(tool)
        drifts.push({ tool, expected, found })
      }
    }
    drifts.forEach(reportDrift)
    return drifts
  }
}

/** The names of the options of a tool. */
const ALLOWED = {
  readOnly: 0,
  idempotent: 0,
  trustHints: 0,
  needsApproval: 0,
  maxCalls: 0,
  maxResultBytes: 0,
  timeoutMs: 0,
} satisfies Record<keyof McpAllowed, 0>

function allowed(allow: McpToolsOptions['allow']): Record<string, McpAllowed> {
  if (Array.isArray(allow)) return Object.fromEntries(allow.map((name) => [String(name), {}]))
  if (typeof allow !== 'object' || allow === null) throw wrong('allow', 'tools by name')
  for (const [name, own] of Object.entries(allow)) readOptions(own, ALLOWED, `allow.${name}`)
  return { ...(allow as Record<string, McpAllowed>) }
}

function toolOf(
  client: McpClient,
  definition: Definition,
  own: McpAllowed,
  timeoutMs: number,
  { data, trusted }: { data: boolean; trusted: boolean },
  changed: Set<string>,
): Tool {
  const { name, description, inputSchema, jsonSchema } = definition
  const { trustHints, needsApproval, maxCalls, maxResultBytes } = own
  const hints = trustHints === true ? definition.hints : undefined
  const readOnly = own.readOnly ?? hints?.readOnly ?? false
  const idempotent = own.idempotent ?? hints?.idempotent ?? false
  const timeout = own.timeoutMs ?? timeoutMs
  const execute = async (args: unknown, context: ToolContext): Promise<unknown> => {
    if (changed.has(name)) {
      throw new TurnlockError(
        'mcp.drift',
        'the definition of this tool has changed; it did not run',
      )
    }
    const { signal, idempotencyKey, report } = context
    const params = {
      name,
      arguments: args,
      _meta: { 'turnlock/idempotency-key': idempotencyKey },
    }
    let result
    try {
      // The turn's own limit comes first, and says that the effect is unknown.
      const limits = { timeout: timeout + 5000, signal, onprogress: report }
      result = await callTool(client, params, limits)
    } catch (error) {
      if (readOnly || idempotent || isAnswer(error)) throw error
      throw new TurnlockError('tool.outcome_unknown', describe(error))
    }
    if (result.isError) throw new Error(messageOf(result))
    return valueOf(result, data)
  }
  return defineTool({
    description,
    inputSchema,
    jsonSchema,
    readOnly,
    idempotent,
    execute,
    timeoutMs: timeout,
    needsApproval,
    maxCalls,
    maxResultBytes,
    untrusted: !trusted,
  })
}

/** Names as every provider takes them: 1 to 64 of letters, digits, `_` and `-`, each once. */
class Names {
  readonly #prefix: string
  readonly #taken = new Set<string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(name: string): string {
    let made = this.#prefix + name.replace(/[^\w-]/g, '_')
    // Part of a hash of the whole name, so that it depends on no other tool.
    const hash = signature({ tool: name, args: {} }).slice(0, 8)
    if (made.length > 64) made = `${made.slice(0, 55)}_${hash}`
    if (this.#taken.has(made.toLowerCase())) made = `${made.slice(0, 55)}_${hash}`
    this.#taken.add(made.toLowerCase())
    return made
  }
}
