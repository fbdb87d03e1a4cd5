/** The data of a chain; the same shapes in every runtime. */

export type ChainPattern = 'sequential' | 'parallel' | 'conditional'
export type StepType = 'search' | 'refine' | 'synthesize'
/** A step's id as the planner wrote it. */
export type StepId = string | number

/** The classification of a query, and its reasons. */
export interface Classification {
  complexity: 'simple' | 'complex'
  /** The signals that were found, strongest first; negative ones begin with `against:`. */
  indicators: string[]
  /** The names in the query. */
  entities: string[]
  /** 0 to 1; not a probability. The query is complex if the score reaches the threshold. */
  score: number
}

export interface ClassifierOptions {
  /** The minimum score of a complex query. @defaultValue 0.5 */
  threshold?: number
  /** Additional words that indicate several steps. @defaultValue [] */
  indicators?: string[]
}

export interface PlanLimits {
  /** Maximum number of steps, not counting an added synthesis; 1 to 64. @defaultValue 8 */
  maxSteps?: number
  /** The allowed patterns. @defaultValue all three */
  patterns?: ChainPattern[]
  /** Whether each `when` must be an expression that the core can evaluate. @defaultValue true */
  conditions?: boolean
}

export interface PlanStep {
  id: StepId
  type: StepType
  /** What to look for; `$1` is replaced by the result of step 1. */
  query: string
  /** What to look at in the results. */
  focus: string
  depends_on: StepId[]
  /** The condition for running it, such as `count($1) > 0 and $1 contains "recall"`. */
  when?: string
}

export interface Plan {
  reasoning: string
  pattern: ChainPattern
  steps: PlanStep[]
  stopping_criteria: string
  /** Ids of steps that could start together, wave by wave. */
  waves: StepId[][]
  /** The changes that were made, such as `synthesis_added`. */
  repairs: { code: string; step: StepId | null }[]
}

export type StopReason =
  'complete' | 'max_steps' | 'max_cost' | 'diminishing_returns' | 'plan_finished' | 'cancelled'

/** The outcome of a step. `pending` occurs only in the result of a chain that failed earlier. */
export interface StepOutcome {
  id: StepId
  stepType: StepType
  status: 'done' | 'failed' | 'skipped' | 'pending'
  /** Why it was skipped. */
  reason?: 'condition' | 'dependency' | 'stopped'
  result?: unknown
  error?: ChainFailure
  /** The query with its placeholders filled in. */
  query: string
  /** The result came from the cache, or from an equal step of this chain. */
  cached: boolean
  attempts: number
  /** Number of distinct items that no earlier step had found. */
  gain: number
  cost: number
  durationMs: number
}

export interface ChainFailure {
  code: string
  message: string
}

interface Progress {
  /** Steps that have settled, of `total`. */
  settled: number
  total: number
  /** Cost so far. */
  spent: number
}

interface Outcome {
  status: 'complete' | 'cancelled' | 'failed'
  /** `simple`: the answer came from one model call. */
  path: 'simple' | 'chain'
  text: string
  /** Why the steps ended; null if there were none. */
  stopped: StopReason | null
  /** Why a complex query took the simple path. */
  fellBack: ChainFailure | null
  cost: number
  durationMs: number
  error?: ChainFailure
}

/** The events of a chain. The last one is always `complete`. */
export type ChainEvent = { seq: number } & (
  | ({ type: 'classified'; by: 'core' | 'host' } & Classification)
  | { type: 'plan_ready'; plan: Plan }
  | ({
      type: 'step_started'
      id: StepId
      stepType: StepType
      query: string
      focus: string
    } & Progress)
  | ({ type: 'step_done' } & StepOutcome & Progress)
  | { type: 'plan_refined'; plan: Plan; added: StepId[]; removed: StepId[] }
  | {
      type: 'chain_stopped'
      reason: StopReason
      finished: StepId[]
      failed: StepId[]
      skipped: StepId[]
      spent: number
      /** With `max_cost`: the budget that ran out. */
      budget?: 'cost' | 'time'
      completeness?: number
    }
  | { type: 'text'; chunk: string }
  | ({ type: 'complete' } & Outcome)
)

/** The value of `chain.result`, which never rejects. */
export interface ChainResult extends Outcome {
  classification: Classification | null
  plan: Plan | null
  steps: StepOutcome[]
  refinements: (
    | { accepted: true; added: StepId[]; removed: StepId[] }
    | { accepted: false; error: ChainFailure }
  )[]
  completeness: number | null
}

/** The limits of a chain. Times are in milliseconds, costs in a unit of your choice. */
export interface ChainLimits {
  /** Maximum number of steps that run, not counting the last synthesis. @defaultValue 8 */
  maxSteps?: number
  /** Maximum cost of all calls together, including the answer. @defaultValue none */
  maxCost?: number
  /** The completeness at which the chain stops. @defaultValue 0.85 */
  completeness?: number
  /**
   * The chain stops when a search finds less than this share of what the one before it found; 0
   * switches the rule off. @defaultValue 0.8
   */
  diminishing?: number
  /** Maximum number of steps in flight. @defaultValue 4 */
  maxParallel?: number
  /** Maximum number of retries of a failed step or answer. @defaultValue 1 */
  maxRetries?: number
  /** Delay before the first retry of a step, doubled for each further one. @defaultValue 250 */
  retryMs?: number
  /** Time for one attempt at a step. @defaultValue 30000 */
  stepMs?: number
  /** Time for the planner. @defaultValue 30000 */
  planMs?: number
  /** Time for everything before the answer. @defaultValue 120000 */
  totalMs?: number
  /** Time for the complete answer. @defaultValue 120000 */
  answerMs?: number
  /** Maximum age of a cached result. @defaultValue 3600000 */
  cacheMs?: number
}

/** Maximum cost of a call, by kind; reserved before it starts, so `maxCost` is never exceeded. */
export interface ChainCosts {
  answer?: number
  assess?: number
  plan?: number
  refine?: number
  search?: number
  synthesize?: number
}

/** A finished step, as passed to later steps and to the synthesis. */
export interface StepResult {
  id: StepId
  type: StepType
  query: string
  focus: string
  result: unknown
}

/** The context of every callback. */
export interface CallContext {
  signal: AbortSignal
  /** Adds to the cost of the call, in the unit of `maxCost`. Default: the value in `costs`. */
  spend(cost: number): void
}

export interface StepContext extends CallContext {
  id: StepId
  /** The query with its placeholders filled in. */
  query: string
  focus: string
  /** The user's query. */
  userQuery: string
  /** Results of the steps that this one depends on. */
  inputs: StepResult[]
  attempt: number
}

export interface PlanContext extends CallContext {
  query: string
  /** A prompt for the planner; a host may use its own. */
  prompt: string
  patterns: ChainPattern[]
  maxSteps: number
}

export interface SynthesisContext extends CallContext {
  id: StepId
  /** The user's query. */
  query: string
  /** The query of the step itself, often empty. */
  task: string
  focus: string
  results: StepResult[]
  /** Steps without a result. */
  missing: { id: StepId; query: string; status: string }[]
  /** Whether this text is the final answer. */
  final: boolean
  stopped: StopReason | null
}

/** Text, at once or piece by piece. */
export type Text = string | Promise<string> | AsyncIterable<string>

/** A cache; a `Map` fits. Keys are texts in Unicode NFC. */
export interface ChainCache {
  get(key: string): unknown
  set(key: string, entry: { value: unknown; storedAt: number }): unknown
}
