/** The data of a chain; the same shapes in every runtime. */
import type {
  ChainFailure,
  ChainPattern,
  Classification,
  Plan,
  StepId,
  StepResult,
  StopReason,
} from '../generated/chain.js'

export type {
  ChainCosts,
  ChainEvent,
  ChainFailure,
  ChainLimits,
  ChainPattern,
  ChainResult,
  Classification,
  ClassifierOptions,
  Plan,
  PlanLimits,
  PlanStep,
  StepId,
  StepOutcome,
  StepResult,
  StepType,
  StopReason,
} from '../generated/chain.js'

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
