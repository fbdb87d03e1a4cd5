//! The tool-request pass.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `runPlanning`.
            "PlanningOptions<Plan = unknown>" for "runPlanning" {
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
                model: "Model" | required;
                /// The planning input. The results of the tools go to its
                /// `global_context.tool_results`; existing values there are not sent.
                input: "Record<string, unknown>" | required;
                /// The tools by name. Only `readOnly` tools ever run.
                tools: "Record<string, Tool>";
                policy from "PassOptions";
                /// The plan's id in every event and record. A replay uses the records of its own plan
                /// only, so passes with equal inputs each need one when they are recorded.
                planId: "string" = "random; derived from the input when recording or replaying";
                /// The id of the run that the plan belongs to.
                runId: "string" = "random; derived from the input when recording or replaying";
                source from "PassOptions";
                /// Replacements for the shipped prompts; see `lintPrompt`.
                prompts: "PlanningPrompts" | deep;
                /// JSON Schema or a Standard Schema of the plan. With it, prose is no plan, except for
                /// the only object that stands in it, and JSON that does not match is none either:
                /// both reject with `plan.invalid`. A Standard Schema may transform the plan.
                planSchema: "JsonSchema | StandardSchema<Plan>";
                /// Makes the plan from the model's text, without its thinking and without what stands
                /// around its JSON. With `planSchema`, it gets only text that matches.
                parsePlan: "(text: string) => Plan | Promise<Plan>"
                    = "the JSON value; the text itself if it is not JSON and there is no `planSchema`";
                /// A list or a function that receives every result for a later `replay`. Not
                /// redacted.
                record: "RecordedCall[] | ((call: RecordedCall) => void)";
                /// Recorded results, by plan and signature. No tool runs: a call gets the error
                /// `replay.miss` if the plan has no record of it, or several with different results.
                /// The same input gives the same requests, result and trace, byte for byte.
                replay: "readonly RecordedCall[]";
                strict from "PassOptions";
                boxSecret: "string" from "PassOptions";
                startedAt from "PassOptions" = "`Date.now()`; 0 when replaying";
                /// Receives trace events. Its exceptions are ignored.
                onTrace: "(event: PassTraceEvent) => void";
                /// Redacts the texts of trace events.
                redact: "Redact";
                /// Ends the pass with `request.cancelled`.
                signal: "AbortSignal";
            }
        },
        table! {
            /// Replacements for the shipped prompts. A text alone gets the id `custom`.
            "PlanningPrompts" {
                /// The system prompt of the request pass.
                request: "string | PromptTemplate" | deep;
                /// The system prompt of the plan pass, for example a strategy. The request pass is
                /// shown it too, behind its own prompt and the tools.
                plan: "string | PromptTemplate" | deep;
            }
        },
    ]
}
