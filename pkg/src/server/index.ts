/**
 * The chat routes as one function of a `Request`: Node, Deno, Bun, workerd, Hono.
 *
 * The core comes with the module that models and tools are imported from: `turnlock` or
 * `turnlock/slim`.
 *
 * @module
 */
export type { CorsOptions } from './cors.js'
export { createHandler, type Handler } from './handler.js'
export type { ServerLimits } from './limits.js'
export { toNodeListener, type NodeListenerOptions } from './node.js'
export type { HandlerOptions, PerRequest, RequestContext, Session } from './options.js'
export type {
  Environment,
  TwoStage,
  TwoStageCallback,
  TwoStageOption,
  TwoStageSwitches,
  TwoStageValues,
} from './two-stage.js'
