//! Chains.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `runChain`. Callbacks do the I/O; the core decides when to call
            /// which.
            "RunChainOptions" for "runChain" {
                query from "ChainOptions";
                /// The simple path: one model call, with any context that the host adds.
                answer: "(context: AnswerContext): ChainText" | required;
                /// Calls a planner. Returns its text, whole, in pieces or as a turn, or a plan object.
                /// If it throws, or returns no plan, it is called again (see `maxRetries`), then
                /// `answer`.
                plan: "(context: PlanContext): unknown" | required;
                /// Searches for information and returns any JSON value. Items are counted in a
                /// list, or in the `items` of an object. A number in its `cost` counts like
                /// `spend`.
                search: "(context: StepContext): unknown" | required;
                /// Condenses results, for steps of type `refine`.
                refine: "(context: StepContext): unknown" =
                    "as `search`; a step without a query passes its inputs on";
                /// Writes a text from results.
                synthesize: "(context: SynthesisContext): ChainText" | required;
                /// Overrides the classifier; receives its classification.
                classify: "(context: ClassifyContext): unknown";
                /// Rates the completeness of the results, 0 to 1. Called after each step; no new
                /// step starts meanwhile.
                assess: "(context: AssessContext): unknown";
                /// Writes the query of a search. What is no text keeps the planner's.
                enhance: "(context: EnhanceContext): unknown";
                /// Rates the result of a search; more is better. With it, `limits.diminishing` stops
                /// the chain.
                quality: "(result: unknown, step: StepResult): number | Promise<number>";
                /// Makes the short text of a result that stands for it (`${1}`) in the queries of
                /// later steps.
                summarizeResult: "(result: unknown, step: StepResult): string | Promise<string>" =
                    "its title, or its first 160 characters";
                /// Decides each `when`, instead of the core's expressions.
                condition: "(context: ConditionContext): boolean | Promise<boolean>";
                /// Called after each wave. Returns new steps that replace the `remaining` ones, in
                /// the form of a planner's answer, or null to keep them. Steps that have started
                /// stay unchanged.
                replan: "(context: ReplanContext): unknown";
                limits from "ChainOptions";
                costs from "ChainOptions";
                patterns from "ChainOptions";
                noResults from "ChainOptions";
                classifier from "ChainOptions";
                /// A cache for the results of searches and refinements, such as a `Map`.
                cache: "ChainCache";
                model from "ChainOptions";
                /// Collects user feedback on chains; see `patternStats`.
                feedback: "PatternStats";
                /// Whether chains are enabled: `false` always takes the simple path, a number from 0
                /// to 1 enables them for that share of conversations, a function decides.
                enabled: "boolean | number | ((context: { query: string; \
                    conversationId?: string | undefined }) => boolean)" = "true";
                conversationId from "ChainOptions";
                /// After too many failed chains, complex queries take the simple path for a while;
                /// see `chainBreaker`.
                breaker: "ChainBreaker";
                /// Cancels the chain.
                signal: "AbortSignal";
            }
        },
        table! {
            /// The options of `chainBreaker`.
            "ChainBreakerOptions" for "chainBreaker" {
                /// Failed chains after which it opens.
                failures: "number" = "5", "above 0";
                /// Milliseconds within which they fail.
                withinMs: "number" = "60 000", "above 0";
                /// Milliseconds for which it stays open.
                forMs: "number" = "60 000", "above 0";
            }
        },
        table! {
            /// The options of `patternStats`.
            "PatternStatsOptions" for "patternStats" {
                /// The result of `export`.
                state: "PatternState" = "empty statistics";
                /// Whether planners are asked for the most effective pattern only.
                use: "boolean" = "false";
                enough from "ChainLearning";
                explore from "ChainLearning";
            }
        },
    ]
}
