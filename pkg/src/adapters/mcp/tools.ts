/** The tools of an MCP server as tools of a turn. */
import { checkFunctions, isObject } from '../../checks.js'
import { readOptions } from '../../options.js'
import { TurnlockError, wrong } from '../../errors.js'
import type { McpAllowed, McpToolsOptions } from '../../generated/adapters.js'
import { MCP_TOOLS_OPTIONS } from '../../generated/rows.js'
import { quietly } from '../../shared/quietly.js'
import { describe } from '../../shared/serialize.js'
import { signature } from '../../signature.js'
import { defineTool, type JsonSchema, type Tool, type ToolContext } from '../../tools/tools.js'
import { callTool, isAnswer, listAll, type McpClient, type McpDefinition } from './client.js'
import { messageOf, valueOf } from './content.js'

export type { McpAllowed, McpToolsOptions }

/** A definition that is not what it was. */
export interface McpDrift {
  /** The tool's name at the server. */
  tool: string
  /** The fingerprint that was pinned, or that `mcpTools` found. */
  expected: string
  /** The fingerprint now; none if the server has no such tool any more. */
  found: string | undefined
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
 * @throws TurnlockError `options.invalid`; `tool.invalid_schema` for a definition whose schema cannot
 * be checked; rejects with what the client throws
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
  if (typeof prefix !== 'string') throw wrong('prefix', 'a text')
  checkFunctions({ onDrift })
  const allow = allowed(options.allow)
  const tell = (drift: McpDrift) => quietly(() => onDrift?.(drift))
  const found = await definitions(client, timeoutMs)
  const made: McpTools = { tools: {}, fingerprints: {}, drifted: [], missing: [], refresh }
  /** Those that have changed since. */
  const changed = new Set<string>()
  const names = new Names(prefix)
  for (const [name, own] of Object.entries(allow)) {
    const definition = found.get(name)
    const fingerprint = definition && fingerprintOf(definition)
    const pin = Object.hasOwn(pins, name) ? pins[name] : undefined
    if (!definition || !fingerprint) made.missing.push(name)
    else made.fingerprints[name] = fingerprint
    if (pin !== undefined && pin !== fingerprint) {
      made.drifted.push({ tool: name, expected: pin, found: fingerprint })
    } else if (definition) {
      made.tools[names.of(name)] = toolOf(client, definition, own, timeoutMs, options.data, changed)
    }
  }
  made.drifted.forEach(tell)
  return made

  async function refresh(): Promise<McpDrift[]> {
    const now = await definitions(client, timeoutMs)
    const drifts: McpDrift[] = []
    for (const [tool, expected] of Object.entries(made.fingerprints)) {
      const definition = now.get(tool)
      const fingerprint = definition && fingerprintOf(definition)
      if (fingerprint === expected) changed.delete(tool)
      else {
        changed.add(tool)
        drifts.push({ tool, expected, found: fingerprint })
      }
    }
    drifts.forEach(tell)
    return drifts
  }
}

/** The names of the options of a tool. */
const ALLOWED = {
  ...{ readOnly: 0, idempotent: 0, trustHints: 0, needsApproval: 0, maxCalls: 0 },
  ...{ maxResultBytes: 0, timeoutMs: 0 },
} satisfies Record<keyof McpAllowed, 0>

function allowed(allow: McpToolsOptions['allow']): Record<string, McpAllowed> {
  if (Array.isArray(allow)) return Object.fromEntries(allow.map((name) => [String(name), {}]))
  if (typeof allow !== 'object' || allow === null) throw wrong('allow', 'tools by name')
  for (const [name, own] of Object.entries(allow)) readOptions(own, ALLOWED, `allow.${name}`)
  return { ...(allow as Record<string, McpAllowed>) }
}

async function definitions(client: McpClient, timeout: number) {
  const all = await listAll(client, timeout)
  return new Map(all.map((one) => [one.name, one]))
}

/** A hash of all that a model or a host is told of a tool. */
function fingerprintOf(definition: McpDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  const args = { title, description, inputSchema, outputSchema, annotations }
  return signature({ tool: name, args })
}

function toolOf(
  client: McpClient,
  definition: McpDefinition,
  own: McpAllowed,
  timeoutMs: number,
  data = false,
  changed: Set<string>,
): Tool {
  const { name, title, description, inputSchema, annotations: hints = {} } = definition
  const { trustHints, needsApproval, maxCalls, maxResultBytes } = own
  const hint = trustHints === true ? hints : {}
  const readOnly = own.readOnly ?? hint.readOnlyHint === true
  const idempotent = own.idempotent ?? hint.idempotentHint === true
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
      ...{ name, arguments: args },
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
  const tool = defineTool({
    ...{ description: description ?? title ?? name, readOnly, idempotent, execute },
    ...{ inputSchema: eachSchema(inputSchema, withoutPatterns) as JsonSchema },
    ...{ timeoutMs: timeout, needsApproval, maxCalls, maxResultBytes },
  })
  return { ...tool, inputSchema }
}

/**
 * A server's regular expressions are not run here: some take minutes, and no time-out ends them. The
 * server checks its arguments itself.
 */
function withoutPatterns(schema: JsonSchema): JsonSchema {
  const { pattern, patternProperties, ...own } = schema
  if (typeof pattern === 'object') return schema // A property of this name.
  if (patternProperties === undefined) return own
  const { additionalProperties, unevaluatedProperties, ...open } = own
  return open
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

/** Keywords with schemas by names that are no keywords, whatever they are called. */
const MAPS = ['properties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']

/** Keywords with values, which are no schemas. */
const VALUES = ['enum', 'const', 'default', 'examples']

/** A copy of a schema in which each schema is what `change` makes of it. */
function eachSchema(schema: unknown, change: (own: JsonSchema) => JsonSchema): unknown {
  if (Array.isArray(schema)) return schema.map((item) => eachSchema(item, change))
  if (!isObject(schema)) return schema
  const inside = (name: string, own: unknown) => {
    if (VALUES.includes(name)) return own
    if (!MAPS.includes(name) || !isObject(own)) return eachSchema(own, change)
    return Object.fromEntries(
      Object.entries(own).map(([key, one]) => [key, eachSchema(one, change)]),
    )
  }
  const entries = Object.entries(schema).map(([name, own]) => [name, inside(name, own)])
  return change(Object.fromEntries(entries) as JsonSchema)
}
