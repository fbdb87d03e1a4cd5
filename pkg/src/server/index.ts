/**
 * The chat routes as one function of a `Request`: Node, Deno, Bun, workerd, Hono.
 *
 * Its turns load the core as those of `turnlock` do. A host of `turnlock/slim` imports
 * `turnlock/slim/server`.
 *
 * @module
 */
export type { CorsOptions } from './cors.js'
export { createHandler, type Handler } from './handler.js'
export type { ServerLimits } from './limits.js'
export { toNodeListener, type NodeListenerOptions } from './node.js'
export type {
  About,
  HandlerOptions,
  PerRequest,
  Prepare,
  PreviousResponseId,
  ReadBody,
  RequestContext,
  Session,
  TurnBody,
} from './options.js'
export {
  memoryPassEvents,
  type KeptPassEvent,
  type MemoryPassEventsOptions,
  type PassEventQuery,
  type PassEvents,
} from './pass-events.js'
export type { RouteName } from './routes.js'
export { storePassEvents, type StorePassEventsOptions } from './pass-event-store.js'
export type { Bundles, Chains, Passes, RunContext, Start, Started } from './runs.js'
export {
  memoryTraces,
  type MemoryTracesOptions,
  type StoredTraceEvent,
  type TraceQuery,
  type TracesOptions,
  type TraceStore,
  type TurnTrace,
} from './traces.js'
export type {
  ActionTools,
  Environment,
  TwoStage,
  TwoStageCallback,
  TwoStageOption,
  TwoStageSwitches,
  TwoStageValues,
} from './two-stage.js'
