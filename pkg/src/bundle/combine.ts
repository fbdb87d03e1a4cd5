/** What several sub-agents gave, put together without losing any of it. */
import { canonicalize } from '../pure.js'
import { summarizeReplicates, type BundleOptions } from './pure.js'
import type { BundleSummary } from './types.js'

/** What became of outputs. `text` is there with any kind when some outputs were plain text. */
export type Combined =
  | { kind: 'text'; text: string }
  | { kind: 'json'; text?: string; data: unknown }
  | { kind: 'bundle'; text?: string; replicates: unknown[]; summary: BundleSummary }

/** How outputs are combined. */
export interface CombineOptions extends BundleOptions {
  /** Between texts. @defaultValue an empty line */
  separator?: string
}

/**
 * Combines outputs by kind: plain texts are appended in order, exactly one JSON passes through,
 * several become replicates with a summary. JSONs are never merged. A string that is a JSON
 * object or array counts as JSON, any other string as text.
 *
 * @throws TurnlockError as `summarizeReplicates`
 */
export function combineOutputs(
  outputs: readonly unknown[],
  options: CombineOptions = {},
): Combined {
  const { separator = '\n\n', ...own } = options
  const texts: string[] = []
  const jsons: unknown[] = []
  for (const output of outputs) {
    const read = typeof output === 'string' ? parsed(output) : { json: output }
    if (read) jsons.push(read.json)
    else texts.push(output as string)
  }
  const text = texts.join(separator)
  const beside = texts.length ? { text } : {}
  if (jsons.length === 0) return { kind: 'text', text }
  if (jsons.length === 1) return { kind: 'json', ...beside, data: jsons[0] }
  const summary = summarizeReplicates(
    jsons.map((data) => ({ data })),
    own,
  )
  return { kind: 'bundle', ...beside, replicates: jsons, summary }
}

function parsed(text: string): { json: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    canonicalize(text)
    return { json: JSON.parse(text) }
  } catch {
    return undefined
  }
}
