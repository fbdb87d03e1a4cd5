/** The data of evidence bundles; names and meanings as in the contract. */
import type { BundleBudget, BundleLimits, Price, ReplicateLimits } from '../generated/bundle.js'
import type { Usage } from '../types.js'

export type { BundleBudget, BundleLimits, Price, ReplicateLimits }

/** Whether a replicate is valid, and its errors. */
export interface Quality {
  valid: boolean
  errors: string[]
}

/** How a replicate ended. */
export type ReplicateStatus =
  'valid' | 'invalid' | 'error' | 'timeout' | 'token_limit' | 'cancelled'

/** Tokens of replicates. `inputTokens` includes the cached ones. */
export type BundleUsage = Required<Omit<Usage, 'reasoningTokens'>>

/** The usage of a replicate, as far as the host knows it. */
export type ReportedUsage = { [Name in keyof Usage]?: Usage[Name] | undefined }

/** One value of a disagreement, and the replicates that have it, by index from 0. */
export interface DisagreeingValue {
  /** `null` if `missing`. */
  value: unknown
  replicates: number[]
  missing?: true
  /** From invalid replicates: shown, but not counted in any number. */
  invalid?: true
}

/** A field on which replicates differ. Worst first. */
export interface Disagreement {
  /** JSON Pointer. */
  field: string
  /** The product of `x-weight` along the path. */
  weight: number
  /** Over the pairs of valid replicates; a value missing on one side counts 1. */
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
  /** The basis of each consensus. `median`: numbers within 5% of each other, without a majority. */
  support: Record<string, { count: number; of: number; method: 'majority' | 'median' }>
  disagreements: Disagreement[]
  distributions: Record<string, Distribution>
  /** K × K; `null` in every cell of an invalid replicate. */
  pairwise_distance: (number | null)[][]
  /**
   * 1 − mean distance of the valid pairs; `null` with fewer than two valid replicates. It measures
   * agreement, not the probability that the replicates are right.
   */
  confidence: number | null
  confidence_reason?: 'no_valid_replicate' | 'one_valid_replicate'
  /** With `weights`. */
  confidence_weighted?: number | null
  valid_count: number
  /** By index from 0. */
  invalid: { replicate: number; errors: string[] }[]
  /** Whether the stop rule holds: mean distance within `epsilon`, and `must_agree`. */
  early_stop: boolean
  /** Fields whose lists were too long for their kind and were compared as multisets. */
  approximated?: string[]
  agreement?: ItemAgreement[]
  truncated: boolean
  /** If `truncated`: how much of each is shown. */
  counts?: Record<
    'replicates' | 'distributions' | 'disagreements' | 'consensus' | 'long_strings',
    { shown: number; total: number }
  > & { fields_beyond_limit: number }
}

/** One replicate of a bundle. Compact: `delta` is a patch (RFC 6902) to the one marked `base`. */
export interface BundleReplicate {
  /** `r1`, `r2`, … */
  id: string
  seed: number
  quality: Quality
  data?: unknown
  base?: true
  delta?: { op: 'add' | 'remove' | 'replace'; path: string; value?: unknown }[]
  /** The data was left out because of `max_bytes`. */
  omitted?: true
}

export type Stopped = 'early' | 'full' | 'budget' | 'cancelled'

/** The options of a bundle, and what it used. */
export interface BundleMeta {
  task: string
  k: number
  model: string | null
  /** One for each of the `k` replicates, started or not. */
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
  /** Number of replicates that were started. */
  started: number
  duration_ms: number
  usage: BundleUsage
  /** Micro-dollars, rounded once; `null` without prices, or if one is missing. */
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

/** The events of a bundle. The last one is always `bundle_ready`. */
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
