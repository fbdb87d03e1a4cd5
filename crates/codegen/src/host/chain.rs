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
                answer: "(context: AnswerContext): Text" | required;
                /// Calls a planner. Returns its text, or a plan object. If it throws, or returns no
                /// plan, it is called again (see `maxRetries`), then `answer`.
                plan: "(context: PlanContext): unknown" | required;
                /// Searches for information and returns any JSON value. Items are counted in a
                /// list, or in the `items` of an object. A number in its `cost` counts like
                /// `spend`.
                search: "(context: StepContext): unknown" | required;
                /// Condenses results, for steps of type `refine`.
                refine: "(context: StepContext): unknown" =
                    "as `search`; a step without a query passes its inputs on";
                /// Writes a text from results.
                synthesize: "(context: SynthesisContext): Text" | required;
                /// Overrides the classifier; receives its classification.
                classify: "(context: ClassifyContext): unknown";
                /// Rates the completeness of the results, 0 to 1. Called after each step; no new
                /// step starts meanwhile.
                assess: "(context: AssessContext): unknown";
                /// Rates the result of a search; more is better. With it, `limits.diminishing` stops
                /// the chain.
                quality: "(result: unknown, step: StepResult): number | Promise<number>";
                /// Makes the short text of a result that stands for it (`$1`) in the queries of
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
                classifier from "ChainOptions";
                /// A cache for the results of searches and refinements, such as a `Map`.
                cache: "ChainCache";
                model from "ChainOptions";
                /// Collects user feedback on chains; see `patternStats`.
                feedback: "PatternStats";
                enabled from "ChainOptions";
                /// Cancels the chain.
                signal: "AbortSignal";
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
