/**
 * Evidence bundles: several answers to one task, compared in code.
 *
 * @module
 */
export {
  runBundle,
  type BundleRecording,
  type BundleSettings,
  type RunBundleOptions,
  type RunningBundle,
} from './bundle.js'
export { combineOutputs, type Combined, type CombineOptions } from './combine.js'
export type { ReplicateContext, ReplicateResult, RunReplicate } from './driver.js'
export type { EventManager } from './events.js'
export {
  runLints,
  type ReportedFinding,
  type Lint,
  type LintReport,
  type LintFinding,
  type RunLintsOptions,
  type RunningLints,
} from './lints.js'
export {
  citedDisagreements,
  distance,
  expandBundle,
  summarizeReplicates,
  type BundleOptions,
  type DistanceOptions,
  type Replicate,
} from './pure.js'
export type { Redact } from '../shared/redact.js'
export {
  replicateByModel,
  replicateByTurn,
  type ModelReplicateOptions,
  type TurnReplicateOptions,
} from './replicates.js'
export { replayBundle, type ReplayBundleOptions, type ReplayedBundle } from './replay.js'
export { BUNDLE_HINT, bundleTool, type BundleToolOptions } from './tool.js'
export type * from './types.js'

// Parts of what is above, so that a host can name them.
export type {
  AgreementLevel,
  BundleCounts,
  BundleEncoding,
  BundleStop,
  ConfidenceReason,
  ConsensusSupport,
  InvalidReplicate,
  NumberDistribution,
  PatchOperation,
  ReplicateMeta,
  SchemaName,
  ValueDistribution,
} from '../generated/evidence.js'
