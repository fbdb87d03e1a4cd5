/** The data of evidence bundles; names and meanings as in the contract. */
import type { BundleEnvelope, BundleEvent as BundleEventKind } from '../generated/evidence.js'
import type { Usage } from '../types.js'

export type {
  BundleBudget,
  BundleLimits,
  BundleMeta,
  BundleReplicate,
  BundleStrategy,
  BundleSummary,
  BundleUsage,
  Citations,
  DisagreeingValue,
  Disagreement,
  Distribution,
  EvidenceBundle,
  ItemAgreement,
  ReplicateQuality,
  ReplicateLimits,
  ReplicateStatus,
  BundleStopReason,
} from '../generated/evidence.js'
export type { Prices, ReplyRepair } from '../generated/common.js'

/** The usage of a replicate, as far as the host knows it. */
export type ReportedUsage = { [Name in keyof Usage]?: Usage[Name] | undefined }

/** The events of a bundle. The last one is always `bundle_ready`. */
export type BundleEvent = BundleEnvelope & BundleEventKind
