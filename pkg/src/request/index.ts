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
  toolRequestPrompts,
  type AnnotatedTool,
  type PromptLint,
  type PromptTemplate,
  type ToolInventory,
} from './pure.js'
export { runWithToolRequests, type ToolRequestOptions, type ToolRequestResult } from './run.js'
export type { PassComplete, PassEvent, RunningPass } from './running.js'
export type * from './types.js'
