/** The data of a chain; the same shapes in every runtime. */

export type ChainPattern = 'sequential' | 'parallel' | 'conditional'
export type StepType = 'search' | 'refine' | 'synthesize'
/** As the planner wrote it. */
export type StepId = string | number

/** What became of a query, and why. */
export interface Classification {
  complexity: 'simple' | 'complex'
  /** The signals that were found, strongest first; those that speak against begin with `against:`. */
  indicators: string[]
  /** What the query names. */
  entities: string[]
  /** 0 to 1; complex from the threshold on. No probability. */
  score: number
}

export interface ClassifierOptions {
  /** The score from which on a query is complex. @defaultValue 0.5 */
  threshold?: number
  /** Words of your own that ask for several steps. @defaultValue [] */
  indicators?: string[]
}

export interface PlanLimits {
  /** Steps, an added synthesis not counted; 1 to 64. @defaultValue 8 */
  maxSteps?: number
  /** Patterns that are allowed. @defaultValue all three */
  patterns?: ChainPattern[]
  /** Whether each `when` must be an expression that the core evaluates. @defaultValue true */
  conditions?: boolean
}

export interface PlanStep {
  id: StepId
  type: StepType
  /** What to look for; `$1` stands for the result of step 1. */
  query: string
  /** What to look at in the results. */
  focus: string
  depends_on: StepId[]
  /** Whether it runs, such as `count($1) > 0 and $1 contains "recall"`. */
  when?: string
}

export interface Plan {
  reasoning: string
  pattern: ChainPattern
  steps: PlanStep[]
  stopping_criteria: string
  /** Ids that could start together; as many waves as the longest chain has steps. */
  waves: StepId[][]
  /** What was changed, such as `synthesis_added`. */
  repairs: { code: string; step: StepId | null }[]
}

export type StopReason =
  'complete' | 'max_steps' | 'max_cost' | 'diminishing_returns' | 'plan_finished' | 'cancelled'

/** What became of a step. `pending` only in the result of a chain that failed before. */
export interface StepOutcome {
  id: StepId
  stepType: StepType
  status: 'done' | 'failed' | 'skipped' | 'pending'
  /** Why it was skipped. */
  reason?: 'condition' | 'dependency' | 'stopped'
  result?: unknown
  error?: ChainFailure
  /** Placeholders filled in. */
  query: string
  /** The result came from the cache, or from an equal step of this chain. */
  cached: boolean
  attempts: number
  /** Distinct items that no earlier step had found. */
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
  /** `simple`: one call of the model answered. */
  path: 'simple' | 'chain'
  text: string
  /** Why the steps ended; null where there were none. */
  stopped: StopReason | null
  /** Why a complex query was answered the simple way. */
  fellBack: ChainFailure | null
  cost: number
  durationMs: number
  error?: ChainFailure
}

/** What a chain shows. Exactly one `complete` comes last. */
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
      /** With `max_cost`: what ran out. */
      budget?: 'cost' | 'time'
      completeness?: number
    }
  | { type: 'text'; chunk: string }
  | ({ type: 'complete' } & Outcome)
)

/** What `await chain.result` gives. It never rejects. */
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

/** Times in milliseconds, costs in a unit of your own. */
export interface ChainLimits {
  /** Steps that are run, the last synthesis not counted. @defaultValue 8 */
  maxSteps?: number
  /** All calls together, the answer included. @defaultValue none */
  maxCost?: number
  /** The chain stops from this completeness on. @defaultValue 0.85 */
  completeness?: number
  /** It stops when a search finds less than this share of the one before; 0: never. @defaultValue 0.8 */
  diminishing?: number
  /** Steps in flight at a time. @defaultValue 4 */
  maxParallel?: number
  /** Repetitions of a step that failed. @defaultValue 1 */
  maxRetries?: number
  /** Wait before the first repetition, doubled for each further one. @defaultValue 250 */
  retryMs?: number
  /** One attempt at a step. @defaultValue 30000 */
  stepMs?: number
  /** The planner. @defaultValue 30000 */
  planMs?: number
  /** Everything before the answer. @defaultValue 120000 */
  totalMs?: number
  /** The answer, to its end. @defaultValue 120000 */
  answerMs?: number
  /** The age up to which a cached result is used. @defaultValue 3600000 */
  cacheMs?: number
}

/** What a call costs at most; set aside before it starts, so `maxCost` is never passed. */
export interface ChainCosts {
  answer?: number
  assess?: number
  plan?: number
  refine?: number
  search?: number
  synthesize?: number
}

/** A finished step, as later ones and the synthesis get it. */
export interface StepResult {
  id: StepId
  type: StepType
  query: string
  focus: string
  result: unknown
}

/** What every callback gets. */
export interface CallContext {
  signal: AbortSignal
  /** Says what the call cost, in the unit of `maxCost`; adds up. Default: what `costs` says. */
  spend(cost: number): void
}

export interface StepContext extends CallContext {
  id: StepId
  /** Placeholders filled in. */
  query: string
  focus: string
  /** What the user asked. */
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
  /** What the user asked. */
  query: string
  /** The query of the step itself, often empty. */
  task: string
  focus: string
  results: StepResult[]
  /** Steps without a result. */
  missing: { id: StepId; query: string; status: string }[]
  /** The one that the user reads. */
  final: boolean
  stopped: StopReason | null
}

/** Text at once, or piece by piece. */
export type Text = string | Promise<string> | AsyncIterable<string>

/** A `Map` is one. Keys are texts in Unicode's normal form C. */
export interface ChainCache {
  get(key: string): unknown
  set(key: string, entry: { value: unknown; storedAt: number }): unknown
}
