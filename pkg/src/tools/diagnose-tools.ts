/**
 * What a provider would refuse in the declarations of tools, before the first request.
 *
 * @module
 */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import { answer, encode } from '../core/instance.js'
import { tools as part } from '../core/parts/tools.js'
import type { ToolCode, ToolFinding } from '../generated/tools.js'
import { stringify } from '../shared/text.js'
import type { Tool } from './tools.js'
import type { Dialect } from '../types.js'

export type { ToolCode, ToolFinding }

/** A tool, as a request declares it. */
export interface DeclaredTool {
  name: string
  description?: string
  /** JSON Schema of the arguments. */
  inputSchema: object
}

/**
 * Returns what the provider would refuse in these declarations, from limits that are kept with their
 * source and date: numbers of tools, names, descriptions, keywords of schemas. An empty list means
 * that nothing known is against them. What is sent is not changed: a keyword that is reported here is
 * sent as it is.
 *
 * @param tools those of `runTurn`, or a list. The `path` of a finding is a JSON pointer into it.
 * @param options `strict`: the tools are declared as strict, as a host may do in requests of its own
 * (OpenAI); default `false`, as this package declares them
 * @throws TurnlockError `options.invalid`, `dialect.unknown`, the `json.*` codes of `signature`
 *
 * @example
 * for (const { path, message } of diagnoseTools(tools, { dialect: 'gemini' })) console.warn(path, message)
 */
export function diagnoseTools(
  tools: Readonly<Record<string, Tool>> | readonly DeclaredTool[],
  options: { dialect: Dialect; strict?: boolean },
): ToolFinding[] {
  if (typeof tools !== 'object' || tools === null) throw wrong('tools', 'tools by name, or a list')
  if (!isObject(options)) throw wrong('options', 'an object')
  const names = Array.isArray(tools) ? undefined : Object.keys(tools)
  const list = Object.entries(tools).map(([key, tool], at) => {
    const { name = key, description = '', inputSchema } = (tool ?? {}) as DeclaredTool
    if (typeof inputSchema !== 'object') throw wrong(`tools[${at}].inputSchema`, 'a JSON Schema')
    return { name: names ? key : name, description, inputSchema }
  })
  const { dialect, strict = false } = options
  const bytes = encode(stringify({ dialect, strict, tools: list }))
  const text = answer(part.call((glue) => glue.diagnose_tools(bytes)))
  const found = JSON.parse(text) as ToolFinding[]
  const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
  const named = (_: string, at: string) => `/${escaped(names?.[Number(at)] ?? at)}`
  return found.map((one) => ({ ...one, path: one.path.replace(/^\/(\d+)/, named) }))
}
