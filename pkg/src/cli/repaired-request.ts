/** The request that a provider accepts, made of one that it rejects. */
import { PROVIDERS, type Dialect } from 'turnlock'
import type { InspectReport } from 'turnlock/inspect'
import { Usage } from './command.js'
import type { Given } from './verdict.js'

type Body = Record<string, unknown>

/** The repaired request. `rest`: what else the provider was sent, which stays as it is. */
function bodyOf(dialect: Dialect, messages: unknown, system: unknown, rest: Body = {}): Body {
  if (dialect === 'openai-responses') return { ...rest, input: messages }
  const [said, own] = (
    dialect === 'gemini' ? ['contents', 'systemInstruction'] : ['messages', 'system']
  ) as [string, string]
  const isJoined = rest[own] !== undefined && system !== undefined
  const prompt = isJoined ? joined(rest[own], system) : (system ?? rest[own])
  return { ...rest, ...(prompt !== undefined && { [own]: prompt }), [said]: messages }
}

/** The request's own prompt, and behind it the one that its messages had. */
function joined(own: unknown, more: unknown): unknown {
  const partsOf = (prompt: unknown): unknown[] => {
    if (typeof prompt === 'string') return [{ type: 'text', text: prompt }]
    if (Array.isArray(prompt)) return prompt
    const { parts } = Object(prompt) as { parts?: unknown }
    return Array.isArray(parts) ? parts : [prompt]
  }
  const all = [...partsOf(own), ...partsOf(more)]
  return Array.isArray(Object(own).parts) ? { ...(own as object), parts: all } : all
}

/** The function that makes a provider's models: requests of one differ only in what is refused. */
const clientOf = (dialect: Dialect | undefined): string | undefined =>
  PROVIDERS.find((provider) => provider.dialect === dialect)?.client

/** What a request says beside its history, if this provider can be sent it. */
function restOf({ recognized, detected }: Given, dialect: Dialect): Body | undefined {
  const fits =
    detected === dialect || (detected !== undefined && clientOf(detected) === clientOf(dialect))
  return fits ? recognized.body : undefined
}

/** The request as it is, or what there is of it, and as the provider accepts it. */
export function bodies(given: Given, dialect: Dialect, found: InspectReport) {
  const { history, result } = found
  if (!result) throw new Usage('--fix and --diff: there is no history in it')
  const rest = restOf(given, dialect)
  const after = bodyOf(dialect, result.messages, result.system, rest)
  const before = rest ?? bodyOf(dialect, history, undefined)
  const isOwn = rest !== undefined
  return { before, after, isRewritten: isOwn && JSON.stringify(before) !== JSON.stringify(after) }
}
