/** Evidence bundles: the public exports. */
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
  type FoundNit,
  type Lint,
  type LintReport,
  type Nit,
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
