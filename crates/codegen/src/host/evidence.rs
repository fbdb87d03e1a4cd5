//! Evidence bundles.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// Settings shared by all replicates of a bundle.
            "BundleSettings" {
                task from "CoreBundleOptions";
                k from "CoreBundleOptions";
                epsilon from "CoreBundleOptions";
                mustAgree from "CoreBundleOptions";
                stop from "CoreBundleOptions";
                seeds from "CoreBundleOptions";
                strategies from "CoreBundleOptions";
                parallel from "CoreBundleOptions";
                concurrency from "CoreBundleOptions";
                retries from "CoreBundleOptions";
                /// JSON Schema with `x-compare`, `x-range`, `x-tolerance`, `x-weight`, `x-key`,
                /// `ignore`, or Standard Schema.
                schema: "JsonSchema | StandardSchema";
                /// The schema for comparison, if a Standard Schema cannot be converted to JSON
                /// Schema.
                jsonSchema: "object";
                schemaUri from "CoreBundleOptions";
                schemaVersion from "CoreBundleOptions";
                nullIsMissing from "CoreBundleOptions";
                weights from "CoreBundleOptions";
                /// Caps on the output.
                limits: "BundleLimits" | deep = "no cap";
                /// Limits of one replicate.
                perReplicate: "ReplicateLimits" | deep;
                /// Limits of all replicates together.
                budget: "BundleBudget" | deep;
                prices from "CoreBundleOptions";
                fields from "CoreBundleOptions";
                model from "CoreBundleOptions";
                source from "CoreBundleOptions";
                compact from "CoreBundleOptions" = "false; `bundleTool`: true";
                /// Receives every text of replicates before an event or the bundle is delivered. With
                /// `limits.maxBytes`, also a text of more than 256 characters before it is compared: the
                /// bundle may have a part of it. So it should return what it has returned as it is.
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
                /// Receives the recording of each call's bundle when it has ended, for `replayBundle`;
                /// with unredacted data. What it throws is ignored.
                record: "(recording: BundleRecording, args: any): void";
                readOnly from "ToolSpec";
                idempotent from "ToolSpec";
                dedupe from "ToolSpec";
                timeoutMs from "ToolSpec" = "five seconds more than `budget.seconds`";
            }
        },
        table! {
            /// The options of `distance`.
            "DistanceOptions" for "distance" {
                /// JSON Schema with `x-compare`, `x-range`, `x-tolerance`, `x-weight`, `x-key`,
                /// `ignore`, or Standard Schema.
                schema: "JsonSchema | StandardSchema";
                nullIsMissing from "CoreDistanceOptions";
            }
        },
        table! {
            /// The options of `summarizeReplicates`.
            "BundleOptions" for "summarizeReplicates", extends "DistanceOptions" {
                epsilon from "CoreSummaryOptions";
                mustAgree from "CoreSummaryOptions";
                weights from "CoreSummaryOptions";
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
                /// How the answer is read. `auto`: as JSON if it is JSON (a `<think>` block and a code
                /// fence around it are dropped), otherwise as text; with a schema of the bundle, the
                /// only JSON value that fits, with words around it. `json`: as JSON, else the
                /// replicate is invalid.
                read: "'auto' | 'json' | 'text'" = "\"auto\"";
            }
        },
        table! {
            /// The options of `replicateByModel`.
            "ModelReplicateOptions" for "replicateByModel", extends "ReadOptions" {
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
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
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
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
