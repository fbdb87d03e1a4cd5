/** The synchronous operations around a tool-request pass. */
import { answer, encode } from '../core/instance.js'
import type { PlansGlue } from '../core/glue.js'
import { plans as part } from '../core/parts/plans.js'
import { wrong } from '../errors.js'
import type {
  PromptLint,
  PromptTemplate,
  ToolInventory,
  ToolRequestPolicy,
} from '../generated/planning.js'
import { stringify } from '../shared/text.js'
import type { ParsedToolRequest } from './types.js'

export type { PromptLint, PromptTemplate, ToolInventory }

const ask = <T>(work: (glue: PlansGlue) => string): T => JSON.parse(answer(part.call(work))) as T

/**
 * Reads a model's request for tools, `{"tool_calls":[{"tool_name","params","reason"}]}`: plain
 * JSON, or the only object with `tool_calls` among words, fences and thoughts;
 * `<think>` blocks before it are skipped. `tool_calls` is optional. A call without `tool_name` or
 * `params` is rejected alone; a missing `reason` and other members are listed in `notes`. No text
 * makes this throw.
 *
 * @throws TurnlockError `options.invalid` for a policy without `allow`
 */
export function parseToolRequest(
  text: string,
  policy: Pick<ToolRequestPolicy, 'maxToolCalls' | 'maxReasonChars'> & { allow: string[] },
): ParsedToolRequest {
  if (typeof text !== 'string') {
    throw wrong('text', 'a string')
  }
  const bytes = encode(stringify({ text, policy }))
  return ask((glue) => glue.request_parse(bytes))
}

/**
 * Checks a prompt against the rules of the shipped ones: tool results are mentioned as optional,
 * no section is a DRAFT, and there is no file path. The check looks for English words.
 *
 * @returns an empty list if there are no problems
 * @throws TurnlockError `options.invalid` if the prompt is not a text
 */
export function lintPrompt(template: string | PromptTemplate): PromptLint[] {
  const bytes = encode(stringify([typeof template === 'object' ? template?.text : template]))
  return ask((glue) => glue.request_lint(bytes))
}

/** The shipped prompts; `hash` is the lower-case hex SHA-256 of `text`. */
export function planningPrompts(): Record<'request' | 'plan', PromptTemplate & { hash: string }> {
  return ask((glue) => glue.request_prompts())
}

/** A tool as returned by MCP's `tools/list`; only these members are read. */
export interface AnnotatedTool {
  name: string
  readOnly?: boolean | undefined
  annotations?:
    { readOnlyHint?: boolean | undefined; destructiveHint?: boolean | undefined } | undefined
}

/**
 * Lists each tool of a registry, or of an MCP server, as read-only or state-changing, with the
 * reason. Undeclared tools are not read-only. A name that begins with a verb of change makes a
 * declaration doubtful. MCP's annotations are unverified claims of the server.
 *
 * @throws TurnlockError `options.invalid` if `tools` is neither
 */
export function inventoryTools(
  tools: Record<string, { readonly readOnly?: boolean | undefined }> | readonly AnnotatedTool[],
): ToolInventory {
  if (typeof tools !== 'object' || tools === null) {
    throw wrong('tools', 'tools by name, or a list')
  }
  const all = Array.isArray(tools)
    ? (tools as AnnotatedTool[]).map((tool) => ({
        name: tool?.name,
        readOnly: tool?.readOnly,
        annotations: tool?.annotations,
      }))
    : Object.entries(tools).map(([name, tool]) => ({ name, readOnly: tool?.readOnly ?? false }))
  const bytes = encode(stringify(all))
  return ask((glue) => glue.request_inventory(bytes))
}
