//! Chains.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `runChain`. Callbacks do the I/O; the core decides when to call
            /// which.
            "RunChainOptions" for "runChain" {
                /// The user's query.
                query: "string" | required;
                /// The simple path: one model call, with any context that the host adds.
                answer: "(context: AnswerContext): Text" | required;
                /// Calls a planner. Returns its text, or a plan object. If it throws, `answer` is
                /// called.
                plan: "(context: PlanContext): unknown" | required;
                /// Searches for information and returns any JSON value. Items are counted in a
                /// list, or in the `items` of an object. A number in its `cost` counts like
                /// `spend`.
                search: "(context: StepContext): unknown" | required;
                /// Condenses results, for steps of type `refine`.
                refine: "(context: StepContext): unknown" = "as `search`";
                /// Writes a text from results.
                synthesize: "(context: SynthesisContext): Text" | required;
                /// Overrides the classifier; receives its classification.
                classify: "(context: ClassifyContext): unknown";
                /// Rates the completeness of the results, 0 to 1. Called after each step; no new
                /// step starts meanwhile.
                assess: "(context: AssessContext): unknown";
                /// Decides each `when`, instead of the core's expressions.
                condition: "(context: ConditionContext): boolean | Promise<boolean>";
                /// Called after each wave. Returns new steps that replace the `remaining` ones, in
                /// the form of a planner's answer, or null to keep them. Steps that have started
                /// stay unchanged.
                replan: "(context: ReplanContext): unknown";
                /// Limits of steps, time and cost.
                limits: "ChainLimits";
                /// Maximum costs of calls.
                costs: "ChainCosts";
                /// Patterns that a plan may have.
                patterns: "ChainPattern[]" = "all three";
                /// Options of the classifier.
                classifier: "ClassifierOptions" | deep;
                /// A cache for the results of searches and refinements, such as a `Map`.
                cache: "ChainCache";
                /// Part of every key in the cache, such as the name of the search index.
                model: "string" = "\"\"";
                /// Collects user feedback on chains; see `patternStats`.
                feedback: "PatternStats";
                /// `false` always takes the simple path.
                enabled: "boolean" = "true";
                /// Cancels the chain.
                signal: "AbortSignal";
            }
        },
        table! {
            /// The limits of a chain. Times are in milliseconds, costs in a unit of your choice.
            "ChainLimits" {
                /// Maximum number of steps that run, not counting the last synthesis.
                maxSteps: "number" = "8", "1 to 64";
                /// Maximum cost of all calls together, including the answer.
                maxCost: "number" = "none", "from 0";
                /// The completeness at which the chain stops.
                completeness: "number" = "0.85", "0 to 1";
                /// The chain stops when a search finds less than this share of what the one before
                /// it found; 0 switches the rule off.
                diminishing: "number" = "0.8", "0 to 1";
                /// Maximum number of steps in flight.
                maxParallel: "number" = "4", "1 to 64";
                /// Maximum number of retries of a failed step or answer.
                maxRetries: "number" = "1", "0 to 10";
                /// Delay before the first retry of a step, doubled for each further one.
                retryMs: "number" = "250", "0 to 86400000";
                /// Time for one attempt at a step.
                stepMs: "number" = "30000", "1 to 86400000";
                /// Time for the planner.
                planMs: "number" = "30000", "1 to 86400000";
                /// Time for everything before the answer.
                totalMs: "number" = "120000", "1 to 86400000";
                /// Time for the complete answer.
                answerMs: "number" = "120000", "1 to 86400000";
                /// Maximum age of a cached result.
                cacheMs: "number" = "3600000", "0 to 31536000000";
            }
        },
        table! {
            /// Maximum cost of a call, by kind; reserved before it starts, so `maxCost` is never
            /// exceeded.
            "ChainCosts" {
                /// Of an answer.
                answer: "number" = "0", "from 0";
                /// Of a rating by `assess`.
                assess: "number" = "0", "from 0";
                /// Of a plan, or of new steps by `replan`.
                plan: "number" = "0", "from 0";
                /// Of a refinement.
                refine: "number" = "0", "from 0";
                /// Of a search.
                search: "number" = "0", "from 0";
                /// Of a synthesis.
                synthesize: "number" = "0", "from 0";
            }
        },
        table! {
            /// The options of the classifier.
            "ClassifierOptions" for "classifyQuery" {
                /// The minimum score of a complex query.
                threshold: "number" = "0.5", "0 to 1";
                /// Additional words that indicate several steps.
                indicators: "string[]" = "[]";
            }
        },
        table! {
            /// The limits of `parsePlan`.
            "PlanLimits" for "parsePlan" {
                /// Maximum number of steps, not counting an added synthesis.
                maxSteps: "number" = "8", "1 to 64";
                /// The allowed patterns.
                patterns: "ChainPattern[]" = "all three";
                /// Whether each `when` must be an expression that the core can evaluate.
                conditions: "boolean" = "true";
            }
        },
        table! {
            /// The options of `patternStats`.
            "PatternStatsOptions" for "patternStats" {
                /// The result of `export`.
                state: "PatternState" = "empty statistics";
                /// Whether planners are asked for the most effective pattern only.
                use: "boolean" = "false";
                /// Chains that each of at least two patterns needs before they are compared.
                enough: "number" = "20", "from 1";
            }
        },
    ]
}
