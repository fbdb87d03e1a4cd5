/** The data of a chain; the same shapes in every runtime. */
export type { ChainCosts, ChainLimits, ClassifierOptions, PlanLimits } from '../generated/chain.js'

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

/** The context of `answer`. */
export interface AnswerContext extends CallContext {
  /** The user's query. */
  query: string
  /** Why a complex query takes the simple path. */
  fellBack: ChainFailure | null
}

/** The context of `classify`. */
export interface ClassifyContext extends CallContext {
  /** The user's query. */
  query: string
  /** That of the core. */
  classification: Classification
}

/** The context of `assess`. */
export interface AssessContext extends CallContext {
  /** The user's query. */
  query: string
  /** Results of the steps so far. */
  results: StepResult[]
}

/** The context of `replan`. */
export interface ReplanContext extends AssessContext {
  /** The current plan. */
  plan: Plan
  /** Steps that have not started. */
  remaining: StepId[]
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

/** The context of `condition`. */
export interface ConditionContext extends StepContext {
  /** The condition of the step. */
  when: string
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
