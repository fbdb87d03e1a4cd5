/** The synchronous operations of chains. */
import { answer, encode } from '../core/instance.js'
import { plans as part } from '../core/parts/plans.js'
import { TurnlockError, wrong } from '../errors.js'
import { reading } from '../options.js'
import type { Classification, ClassifierOptions, Plan, PlanLimits } from './types.js'

/**
 * Classifies whether a query needs several steps, by its wording, and gives the reasons.
 * Deterministic.
 *
 * @throws TurnlockError `options.invalid`
 */
export function classifyQuery(query: string, options?: ClassifierOptions): Classification {
  if (typeof query !== 'string') {
    throw wrong('query', 'a string')
  }
  const given = options ? encode(reading('options', () => JSON.stringify(options))) : NOTHING
  const bytes = encode(query)
  return JSON.parse(
    answer(part.call((glue) => glue.classify_query(bytes, given))),
  ) as Classification
}

/**
 * Reads a planner's answer: the only JSON value with `steps`, whatever stands around it. A missing
 * synthesis at the end is added and listed in `repairs`.
 *
 * @throws TurnlockError `plan.syntax`, `plan.too_large`, `plan.empty`, `plan.too_many_steps`,
 * `plan.invalid_step`, `plan.duplicate_step`, `plan.unknown_dependency`, `plan.cycle`,
 * `plan.invalid_condition`, `plan.pattern_not_allowed`; `options.invalid` for the limits
 */
export function parsePlan(text: string, limits?: PlanLimits): Plan {
  if (typeof text !== 'string') {
    throw new TurnlockError('plan.syntax', 'parsePlan takes the text of a planner')
  }
  const given = limits ? encode(reading('limits', () => JSON.stringify(limits))) : NOTHING
  const bytes = encode(text)
  return JSON.parse(answer(part.call((glue) => glue.parse_plan(bytes, given)))) as Plan
}

const NOTHING = /* @__PURE__ */ new Uint8Array(0)
