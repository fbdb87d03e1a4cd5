/** The synchronous operations on replicates. */
import { answer, encode } from '../core/instance.js'
import { plans as part } from '../core/parts/plans.js'
import { checkValues, isObject, type Checks } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import type { BundleOptions, DistanceOptions } from '../generated/evidence.js'
import { CORE_BUNDLE_OPTIONS } from '../generated/checks.js'
import { BUNDLE_OPTIONS, DISTANCE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { errorLine, strictJson } from './json.js'
import { checkMustAgree } from './must-agree.js'
import { replicateSchema, type Verdict } from './schema.js'
import type { BundleSummary, Citations, EvidenceBundle, ReplicateQuality } from './types.js'

export type { BundleOptions, DistanceOptions }

/** A replicate as provided by a host. */
export interface Replicate {
  id?: string | undefined
  data?: unknown
  /** Used if given; otherwise the schema decides, or whether there is any data. */
  quality?: { valid: boolean; errors?: string[] | undefined } | undefined
}

/** What the core reads: what has no JSON, such as NaN, is refused by its name. No task is needed. */
const READ: Checks = { ...CORE_BUNDLE_OPTIONS, task: 0 }

/**
 * Maximum characters of all replicates together.
 *
 * Limit | the input of `summarizeReplicates` | characters | `json.too_large`
 */
const MOST = 64 * 1024 * 1024

/**
 * The distance between two values, from 0 (the same) to 1: field by field, by the schema.
 *
 * @throws TurnlockError `options.invalid` for an invalid schema, `json.not_serializable`
 * (NaN, cycles, functions, …), `json.too_deep` (over 128 levels), `json.too_large` (over 4 MiB),
 * `json.lone_surrogate`
 */
export function distance(a: unknown, b: unknown, options: DistanceOptions = {}): number {
  options = readOptions(options, DISTANCE_OPTIONS)
  const { schema, nullIsMissing } = options
  checkValues({ nullIsMissing }, READ)
  const head = { schema: replicateSchema(schema).json, nullIsMissing }
  const lines = encode([JSON.stringify(head), strictJson(a), strictJson(b)].join('\n'))
  return Number(answer(part.call((glue) => glue.distance(lines))))
}

/**
 * Computes what replicates agree on and where they differ. Invalid replicates are shown but do not
 * affect any number. A replicate whose data has no JSON form is invalid.
 *
 * @throws TurnlockError `options.invalid` with the option in its message; `json.too_large` for
 * more than 64 MiB
 */
export function summarizeReplicates(
  replicates: readonly Replicate[],
  options: BundleOptions = {},
): BundleSummary {
  options = readOptions(options, BUNDLE_OPTIONS)
  if (!Array.isArray(replicates) || replicates.length > 128) {
    throw wrong('replicates', 'at most 128 in an array')
  }
  const ids = replicates.flatMap((one) => one?.id ?? [])
  if (new Set(ids).size < ids.length) {
    throw new TurnlockError('options.invalid', '`replicates`: two of them have the same id')
  }
  const { epsilon, mustAgree, weights, limits, nullIsMissing } = options
  checkValues({ epsilon, mustAgree, limits, nullIsMissing }, READ)
  checkMustAgree(mustAgree)
  const fits = (weight: unknown) => Number.isFinite(weight) && Number(weight) >= 0
  if (weights != null && !(weights.length === replicates.length && weights.every(fits))) {
    throw wrong('weights', 'one for each replicate, numbers from 0 on')
  }
  const schema = replicateSchema(options.schema)
  const read = replicates.map((one) => quality(one, schema.check))
  const head = {
    schema: schema.json,
    epsilon,
    mustAgree,
    limits,
    nullIsMissing,
    ...(weights && { weights }),
    replicates: read.map(({ valid, errors }, at) => ({ id: replicates[at]?.id, valid, errors })),
  }
  const text = [strictJson(head, MOST), ...read.map(({ json }) => json)].join('\n')
  if (text.length > MOST) {
    throw new TurnlockError('json.too_large', `replicates of ${text.length} characters together`)
  }
  const lines = encode(text)
  return JSON.parse(answer(part.call((glue) => glue.summarize(lines)))) as BundleSummary
}

function quality(
  replicate: Replicate,
  check: (data: unknown) => Verdict | Promise<Verdict>,
): ReplicateQuality & { json: string } {
  const none = { valid: false, json: '' }
  if (typeof replicate !== 'object' || replicate === null) {
    throw wrong('replicates', '{ data, quality? }')
  }
  const { data, quality: given } = replicate
  const errors = (given?.errors ?? []).map(String)
  if (data === undefined) return { ...none, errors: errors.length ? errors : ['no data'] }
  try {
    const json = strictJson(data)
    if (given) return { valid: given.valid === true, errors, json }
    const verdict = check(data)
    if (verdict instanceof Promise) {
      verdict.catch(() => {})
      throw wrong('schema', 'one that answers at once')
    }
    return { valid: verdict.errors.length === 0, errors: verdict.errors, json }
  } catch (error) {
    if (error instanceof TurnlockError && error.code === 'options.invalid') throw error
    return { ...none, errors: [...errors, errorLine(error)] }
  }
}

/**
 * Checks which disagreements of a bundle a decision cites: by their `field`, as JSON Pointers that
 * stand by themselves in its text, such as `/price/net`. `unknown` are pointers in the text that are
 * no disagreements of the bundle. A disagreement about the whole value (field `""`) is in no list.
 *
 * @throws TurnlockError `options.invalid` for what is no bundle
 */
export function citedDisagreements(
  text: string,
  bundle: { summary: Pick<BundleSummary, 'disagreements'> },
): Citations {
  const disagreements: unknown = bundle?.summary?.disagreements
  if (!Array.isArray(disagreements)) throw wrong('bundle', 'an evidence bundle')
  const named = (disagreements as { field?: unknown }[]).map((one) => String(one?.field))
  const fields = encode(JSON.stringify(named))
  const own = encode(String(text))
  return JSON.parse(part.call((glue) => glue.cite(own, fields))) as Citations
}

/**
 * Returns a bundle with the full data of every replicate: applies the deltas of a compact one.
 *
 * @throws TurnlockError `options.invalid` for what is no bundle
 */
export function expandBundle(bundle: EvidenceBundle): EvidenceBundle {
  const isBundle = Array.isArray(bundle?.replicates) && bundle.replicates.every(isObject)
  if (!isBundle) throw wrong('bundle', 'an evidence bundle')
  const base = bundle.replicates.find((one) => one.base)
  const replicates = bundle.replicates.map(({ delta, base: _, ...one }) => {
    if (!delta) return one
    if (base?.data === undefined) return { ...one, delta }
    const [from, patch] = [encode(strictJson(base.data)), encode(strictJson(delta))]
    const made = answer(part.call((glue) => glue.patch_apply(from, patch)))
    return { ...one, data: JSON.parse(made.slice(1)) as unknown }
  })
  return { ...bundle, replicates }
}
