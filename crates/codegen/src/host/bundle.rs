//! Evidence bundles.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// Settings shared by all replicates of a bundle.
            "BundleSettings" {
                /// The task of the replicates.
                task: "string" | required;
                /// Maximum number of replicates.
                k: "number" = "3", "1 to 128";
                /// Mean distance up to which replicates agree.
                epsilon: "number" = "0.2", "0 to 1";
                /// JSON Pointers of fields that must be equal (one class) for an early stop.
                must_agree: "string[]" = "[]";
                /// The stop rule. `agreement`: mean distance within `epsilon`. `majority_lock`:
                /// further replicates can no longer change the leading answer at any field of
                /// `must_agree`, or at any field if that is empty. `never`: all replicates run.
                stop: "'agreement' | 'majority_lock' | 'never'" = "\"agreement\"";
                /// All different; missing seeds count up from the largest.
                seeds: "number[]" = "[11, 23, 47]";
                /// Number of replicates to start with.
                parallel: "number" = "2; with `stop: \"never\"`, all", "1 to 128";
                /// Maximum number of concurrent replicates.
                concurrency: "number" = "6, the limit of edge runtimes", "1 to 128";
                /// Maximum further attempts after a replicate failed or was invalid.
                retries: "number" = "0", "0 to 10";
                /// JSON Schema with `x-compare`, `x-range`, `x-weight`, `x-key`, `ignore`, or
                /// Standard Schema.
                schema: "JsonSchema | StandardSchema";
                /// The schema for comparison, if a Standard Schema cannot be converted to JSON
                /// Schema.
                jsonSchema: "JsonSchema";
                /// The schema's URI in `meta`.
                schemaUri: "string";
                /// The schema's version in `meta`.
                schemaVersion: "string";
                /// Whether a member that is `null` counts as absent.
                null_is_missing: "boolean" = "false";
                /// One for each of the `k` replicates; adds `confidence_weighted` to the summary.
                weights: "number[]";
                /// Caps on the output.
                limits: "BundleLimits" | deep = "no cap";
                /// Limits of one replicate.
                perReplicate: "ReplicateLimits" | deep;
                /// Limits of all replicates together.
                budget: "BundleBudget" | deep;
                /// Prices by model name; `*` applies to every other model.
                prices: "Record<string, Price>";
                /// JSON Pointers of members to show; computations use all.
                fields: "string[]" = "everything";
                /// `provider:model@version`, for `meta` and prices.
                model: "string";
                /// `metadata.source` of every event.
                source: "string" = "`task`";
                /// Replicates as deltas, numbers with six decimals.
                compact: "boolean" = "false; `bundleTool`: true";
                /// Receives every text of replicates before an event or the bundle is delivered.
                redact: "Redact";
                /// Receives the events under normalized names.
                eventManager: "EventManager";
            }
        },
        table! {
            /// The options of `runBundle`.
            "RunBundleOptions" for "runBundle", extends "BundleSettings" {
                /// Runs one replicate. If it throws or its data has no JSON form, the replicate is
                /// invalid.
                replicate: "RunReplicate" | required;
                /// Cancels the bundle, which then contains the results so far.
                signal: "AbortSignal";
                /// Whether to record what `replayBundle` needs, with unredacted data.
                record: "boolean" = "false";
            }
        },
        table! {
            /// The options of `replayBundle`.
            "ReplayBundleOptions" for "replayBundle" {
                /// The `redact` of the recorded run, to get the same output.
                redact: "Redact";
            }
        },
        table! {
            /// The options of `bundleTool`: the settings of `runBundle` and those of a tool.
            "BundleToolOptions" for "bundleTool",
            extends "BundleSettings" without "task" "source" {
                /// The tool's name; also the `metadata.source` of its events.
                name: "string" | required;
                /// The task of the replicates.
                task: "string" = "`name`";
                /// The description for the model; the hint is appended.
                description: "string";
                /// The schema of the arguments.
                inputSchema: "JsonSchema | StandardSchema" = "any object";
                /// Runs one replicate for these arguments.
                replicate: "(args: any, context: ReplicateContext): \
                    Promise<ReplicateResult> | ReplicateResult" | required;
                readOnly from "ToolSpec";
                idempotent from "ToolSpec";
                dedupe from "ToolSpec";
                timeoutMs from "ToolSpec" = "five seconds more than `budget.seconds`";
            }
        },
        table! {
            /// Caps on the output. They never change a number.
            "BundleLimits" {
                /// Maximum entries of `consensus`, and of `distributions`.
                max_fields: "number", "from 0";
                /// Maximum entries of `disagreements`.
                max_diffs: "number", "from 0";
                /// Maximum bytes of the JSON. Metadata, matrix, confidence and counts are never
                /// cut.
                max_bytes: "number", "from 0";
            }
        },
        table! {
            /// Limits of one replicate.
            "ReplicateLimits" {
                /// Maximum tokens, all attempts together.
                tokens: "number", "above 0";
                /// Maximum seconds of one attempt.
                seconds: "number", "above 0";
            }
        },
        table! {
            /// Limits of all replicates together.
            "BundleBudget" {
                /// Maximum tokens.
                tokens: "number", "above 0";
                /// Maximum seconds.
                seconds: "number", "above 0";
                /// Micro-dollars; requires `prices`.
                cost: "number", "above 0";
            }
        },
        table! {
            /// Micro-dollars per million tokens; whole numbers.
            "Price" {
                /// Of input tokens that are not cached.
                input: "number" | required, "from 0";
                /// Of cached input tokens.
                cached_input: "number" = "`input`", "from 0";
                /// Of output tokens.
                output: "number" | required, "from 0";
            }
        },
        table! {
            /// The options of `distance`.
            "DistanceOptions" for "distance" {
                /// JSON Schema with `x-compare`, `x-range`, `x-weight`, `x-key`, `ignore`, or
                /// Standard Schema.
                schema: "JsonSchema | StandardSchema";
                /// Whether a member that is `null` counts as absent.
                null_is_missing: "boolean" = "false";
            }
        },
        table! {
            /// The options of `summarizeReplicates`.
            "BundleOptions" for "summarizeReplicates", extends "DistanceOptions" {
                /// Mean distance up to which replicates agree.
                epsilon: "number" = "0.2", "0 to 1";
                /// JSON Pointers of fields whose values must be equal (of one class) for agreement.
                must_agree: "string[]" = "[]";
                /// One for each replicate, at least 0; adds `confidence_weighted` to the summary.
                weights: "number[]";
                /// Caps on the output.
                limits: "BundleLimits" | deep = "no cap";
            }
        },
        table! {
            /// The options of `combineOutputs`.
            "CombineOptions" for "combineOutputs", extends "BundleOptions" {
                /// The separator between texts.
                separator: "string" = "an empty line";
            }
        },
        table! {
            /// How a model's answer becomes the data of a replicate.
            "ReadOptions" {
                /// How the answer is read. `auto`: as JSON if it is JSON (a code fence around it is
                /// removed), otherwise as text.
                read: "'auto' | 'json' | 'text'" = "\"auto\"";
            }
        },
        table! {
            /// The options of `replicateByModel`.
            "ModelReplicateOptions" for "replicateByModel", extends "ReadOptions" {
                /// The model, from `openaiChat`, `anthropic` or `customModel`.
                model: "Model" | required;
                /// The user's message; `{{name}}` is replaced by that member of `input`.
                prompt: "string" | required;
                /// The system message, with the same placeholders.
                system: "string";
                /// The values of the placeholders.
                input: "Record<string, unknown>" = "{}";
            }
        },
        table! {
            /// The options of `replicateByTurn`.
            "TurnReplicateOptions" for "replicateByTurn", extends "ReadOptions" {
                /// The model, from `openaiChat`, `anthropic` or `customModel`.
                model: "Model" | required;
                /// The history, or a function that makes it for a replicate.
                messages: "unknown[] | ((context: ReplicateContext) => unknown[])" | required;
                /// The tools by name.
                tools: "Record<string, Tool>";
                mode from "TurnOptions";
                /// The policy of each turn.
                policy: "Policy" | deep;
            }
        },
        table! {
            /// The options of `runLints`.
            "RunLintsOptions<I>" for "runLints" {
                /// The lints by name.
                lints: "Record<string, Lint<I>>" | required;
                /// The value to check.
                input: "I" | required;
                /// Time budget of all lints together, in milliseconds.
                budgetMs: "number" = "200", "above 0";
                /// Ends the lints.
                signal: "AbortSignal";
            }
        },
    ]
}
