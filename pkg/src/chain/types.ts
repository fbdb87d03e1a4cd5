/** The data of a chain; the same shapes in every runtime. */
import type {
  AnswerCall,
  AssessCall,
  ClassifyCall,
  ConditionCall,
  EnhanceCall,
  PlanCall,
  ReplanCall,
  StepCall,
  SynthesisCall,
} from '../generated/chain.js'
import type { TurnResult } from '../generated/turn.js'

export type {
  ChainCosts,
  ChainEvent,
  ChainFailure,
  ChainLimits,
  ChainPath,
  ChainPattern,
  ChainRefinement,
  ChainResult,
  ChainStatus,
  Classification,
  ClassifierOptions,
  Complexity,
  MissingStep,
  Plan,
  PlanLimits,
  PlanRepair,
  PlanRepairCode,
  PlanStep,
  SkipReason,
  StepId,
  StepOutcome,
  StepResult,
  StepStatus,
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
export interface AnswerContext extends CallContext, AnswerCall {}

/** The context of `assess`. */
export interface AssessContext extends CallContext, AssessCall {}

/** The context of `classify`. */
export interface ClassifyContext extends CallContext, ClassifyCall {}

/** The context of `condition`. */
export interface ConditionContext extends CallContext, ConditionCall {}

/** The context of `enhance`. */
export interface EnhanceContext extends CallContext, EnhanceCall {}

/** The context of `plan`. */
export interface PlanContext extends CallContext, PlanCall {}

/** The context of `replan`. */
export interface ReplanContext extends CallContext, ReplanCall {}

/** The context of `search` and `refine`. */
export interface StepContext extends CallContext, StepCall {}

/** The context of `synthesize`. */
export interface SynthesisContext extends CallContext, SynthesisCall {}

/**
 * Text, at once or piece by piece. Of a turn it is the text that the turn shows; a turn that does not
 * complete fails the call with its error.
 */
export type ChainText = Said | Promise<Said>

type Said = string | AsyncIterable<string> | SpokenTurn | TurnText

/** What a chain reads of a turn. */
export type SpokenTurn = { readonly textStream: AsyncIterable<string> } & {
  readonly result: Promise<TurnText>
}

/** What a chain reads of a turn's result. */
export interface TurnText {
  text: string
  status?: TurnResult['status']
  error?: TurnResult['error']
}

/** A cache; a `Map` fits. Keys are texts in Unicode NFC. */
export interface ChainCache {
  get(key: string): unknown
  set(key: string, entry: { value: unknown; storedAt: number }): unknown
}
