/** The data of evidence bundles; names and meanings as in the contract. */
import type { Usage } from '../types.js'

/** Whether a replicate counts, and what speaks against it. */
export interface Quality {
  valid: boolean
  errors: string[]
}

/** How a replicate ended. */
export type ReplicateStatus =
  'valid' | 'invalid' | 'error' | 'timeout' | 'token_limit' | 'cancelled'

/** Tokens of replicates. `inputTokens` holds cached ones. */
export type BundleUsage = Required<Omit<Usage, 'reasoningTokens'>>

/** What a replicate used, as far as the host knows. */
export type ReportedUsage = Partial<Usage>

/** Micro-dollars for a million tokens; whole numbers. */
export interface Price {
  input: number
  /** @defaultValue `input` */
  cached_input?: number
  output: number
}

/** Caps on what is shown; no cap changes a number. */
export interface BundleLimits {
  /** Entries of `consensus` and of `distributions`, each. */
  max_fields?: number
  /** Entries of `disagreements`. */
  max_diffs?: number
  /** Bytes of the JSON. Metadata, matrix, confidence and counts always stay. */
  max_bytes?: number
}

/** One value of a disagreement, and the replicates that gave it, by place from 0. */
export interface DisagreeingValue {
  /** `null` where `missing`. */
  value: unknown
  replicates: number[]
  missing?: true
  /** Of invalid replicates: shown, but in no number. */
  invalid?: true
}

/** A field on which replicates differ. Worst first. */
export interface Disagreement {
  /** JSON Pointer. */
  field: string
  /** The product of `x-weight` along the path. */
  weight: number
  /** Over the pairs of valid replicates; missing on one side counts 1. */
  mean_distance: number
  max_distance: number
  values: DisagreeingValue[]
}

/** Numbers, or counted values, of a field. */
export type Distribution =
  | {
      n: number
      mean: number
      /** Sample standard deviation (n − 1); `null` for one number. */
      stdev: number | null
      min: number
      max: number
      median: number
    }
  | { n: number; missing: number; counts: { value: unknown; count: number }[] }

/** Agreement over the items of a keyed array, for a member with an enum. */
export interface ItemAgreement {
  field: string
  member: string
  level: 'nominal' | 'ordinal'
  units: number
  /** Krippendorff's α. */
  alpha: number | null
  fleiss_kappa: number | null
  gwet_ac1: number | null
}

/** Statistics of replicates, computed by code. */
export interface BundleSummary {
  /** JSON Pointer → the value that more than half of the valid replicates (at least two) share. */
  consensus: Record<string, unknown>
  /** What a consensus rests on. `median`: numbers within 5% of each other, without a majority. */
  support: Record<string, { count: number; of: number; method: 'majority' | 'median' }>
  disagreements: Disagreement[]
  distributions: Record<string, Distribution>
  /** K × K; `null` in every cell of an invalid replicate. */
  pairwise_distance: (number | null)[][]
  /**
   * 1 − mean distance of the valid pairs; `null` with fewer than two. How much the replicates
   * agree, which is not the probability that they are right.
   */
  confidence: number | null
  confidence_reason?: 'no_valid_replicate' | 'one_valid_replicate'
  /** With `weights`. */
  confidence_weighted?: number | null
  valid_count: number
  /** By place from 0. */
  invalid: { replicate: number; errors: string[] }[]
  /** Whether the stop rule holds: mean distance within `epsilon`, and `must_agree`. */
  early_stop: boolean
  /** Fields with lists too long for their kind, compared as multisets. */
  approximated?: string[]
  agreement?: ItemAgreement[]
  truncated: boolean
  /** Where truncated: how much of each is shown. */
  counts?: Record<
    'replicates' | 'distributions' | 'disagreements' | 'consensus' | 'long_strings',
    { shown: number; total: number }
  > & { fields_beyond_limit: number }
}

/** One replicate of a bundle. In a compact one, `delta` (RFC 6902) to the one marked `base`. */
export interface BundleReplicate {
  /** `r1`, `r2`, … */
  id: string
  seed: number
  quality: Quality
  data?: unknown
  base?: true
  delta?: { op: 'add' | 'remove' | 'replace'; path: string; value?: unknown }[]
  /** Left out for `max_bytes`. */
  omitted?: true
}

export type Stopped = 'early' | 'full' | 'budget' | 'cancelled'

/** What a bundle was made with, and what it took. */
export interface BundleMeta {
  task: string
  k: number
  model: string | null
  /** One for each of the `k` places, started or not. */
  seeds: number[]
  schema: { uri: string | null; version: string | null } | null
  source: string
  epsilon: number
  must_agree: string[]
  null_is_missing: boolean
  stop: 'agreement' | 'majority_lock' | 'never'
  parallel: number
  concurrency: number
  retries: number
  weights?: number[]
  limits?: BundleLimits
  perReplicate?: ReplicateLimits
  budget?: BundleBudget
  prices?: Record<string, Price>
  fields?: string[]
  encoding: 'full' | 'delta'
  stopped: Stopped
  /** Replicates that were started. */
  started: number
  duration_ms: number
  usage: BundleUsage
  /** Micro-dollars, rounded once; `null` without prices, or where one is missing. */
  cost: number | null
  per_replicate: {
    id: string
    seed: number
    attempt: number
    status: ReplicateStatus
    model: string | null
    usage: BundleUsage | null
    cost: number | null
    duration_ms: number
  }[]
}

/** All replicates and their statistics, at once. */
export interface EvidenceBundle {
  meta: BundleMeta
  replicates: BundleReplicate[]
  summary: BundleSummary
}

/** Ceilings of one replicate. */
export interface ReplicateLimits {
  tokens?: number
  seconds?: number
}

/** Ceilings of all replicates together. */
export interface BundleBudget {
  tokens?: number
  seconds?: number
  /** Micro-dollars; needs `prices`. */
  cost?: number
}

interface Envelope {
  /** 1, 2, … */
  seq: number
  task: string
  /** `source`: the tool's name. */
  metadata: { source: string }
}

interface OfReplicate {
  id: string
  seed: number
}

/** What a bundle shows. `bundle_ready` comes last, whatever happened. */
export type BundleEvent = Envelope &
  (
    | ({ type: 'replicate_started'; attempt: number } & OfReplicate)
    | ({
        type: 'replicate_done'
        status: ReplicateStatus
        quality: Quality
        usage: BundleUsage | null
        duration_ms: number
        data?: unknown
      } & OfReplicate)
    | { type: 'partial_summary'; summary: BundleSummary }
    | ({
        type: 'warning'
        code: 'replicate_invalid' | 'replicate_retried'
        errors: string[]
      } & OfReplicate)
    | { type: 'warning'; code: 'truncated' | 'model_without_price' }
    | ({ type: 'cancelled'; scope: 'replicate'; reason: string } & OfReplicate)
    | { type: 'cancelled'; scope: 'bundle'; reason: string }
    | ({ type: 'timeout'; scope: 'replicate'; seconds: number } & OfReplicate)
    | { type: 'timeout'; scope: 'bundle'; seconds: number }
    | { type: 'bundle_ready'; bundle: EvidenceBundle }
  )
