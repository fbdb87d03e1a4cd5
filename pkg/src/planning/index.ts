/**
 * Plans in two passes: the model may ask for read-only data before it makes the plan.
 *
 * @module
 */
export {
  auditToolUse,
  type AuditedCall,
  type AuditedInference,
  type PlanAudit,
  type RunAudit,
} from './audit.js'
export {
  inventoryTools,
  lintPrompt,
  parseToolRequest,
  planningPrompts,
  type AnnotatedTool,
  type PromptLint,
  type PromptTemplate,
  type ToolInventory,
} from './pure.js'
export { runPlanning, type PlanningOptions, type PlanningResult } from './run.js'
export type { PassComplete, PassEvent, RunningPass } from './running.js'
export type * from './types.js'

// Parts of what is above, so that a host can name them.
export type { ReplyRepair } from '../generated/common.js'
export type { FellBack, InventoryTool, PromptLintCode } from '../generated/planning.js'
