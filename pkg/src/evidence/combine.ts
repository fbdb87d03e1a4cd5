/** Combines the outputs of several sub-agents without losing any of them. */
import { wrong } from '../errors.js'
import type { CombineOptions } from '../generated/evidence.js'
import { COMBINE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { plans as part } from '../core/parts/plans.js'
import { summarizeReplicates } from './pure.js'
import { isBare, readReply } from './reply.js'
import type { BundleSummary } from './types.js'

export type { CombineOptions }

/** The combined outputs. `text` is set with any kind if some outputs were plain text. */
export type Combined =
  | { kind: 'text'; text: string }
  | { kind: 'json'; text?: string; data: unknown }
  | { kind: 'bundle'; text?: string; replicates: unknown[]; summary: BundleSummary }

/**
 * Combines outputs by kind: plain texts are joined in order, a single JSON value is passed through,
 * several JSON values become replicates with a summary. JSON values are never merged. A string that
 * is a JSON object or array, also after thinking and in a code fence, counts as JSON. Any other string
 * counts as text, also one with words around JSON: none of them is lost.
 *
 * @throws TurnlockError `options.invalid` for outputs that are no array; as `summarizeReplicates`
 */
export function combineOutputs(
  outputs: readonly unknown[],
  options: CombineOptions = {},
): Combined {
  options = readOptions(options, COMBINE_OPTIONS)
  const { separator = '\n\n', ...own } = options
  if (!Array.isArray(outputs)) throw wrong('outputs', 'an array')
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

function parsed(output: string): { json: unknown } | undefined {
  const { values } = readReply(part, output)
  const [value] = values
  const isJson = values.length === 1 && value && isBare(value) && /^[{[]/.test(value.text)
  return isJson ? { json: JSON.parse(value.text) } : undefined
}
