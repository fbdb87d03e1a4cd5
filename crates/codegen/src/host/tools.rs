//! Tools.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
        /// The options of `defineTool`.
        "ToolOptions<S extends JsonSchema | StandardSchema = JsonSchema, Result = unknown>" for "defineTool" {
            description: "string" from "ToolSpec" | required;
            /// JSON Schema (2020-12 or older), or any Standard Schema (zod, valibot, arktype).
            inputSchema: "S" | required;
            /// The schema for the model, if a Standard Schema cannot be converted to JSON Schema.
            jsonSchema: "object";
            /// Runs the tool. The returned value must have a JSON form; `undefined` counts as
            /// `null`. `{ content: ToolContentPart[] }` gives the model images and files. Arguments are values of `JSON.parse`, so ids beyond 2^53 must be strings.
            /// Without it, a page runs the tool: the turn pauses with its calls, which the page claims
            /// (`claimCalls`) and answers (`resumeTurn({ outcomes })`). Requires a store.
            execute: "(args: Args<S>, context: ToolContext): Result";
            /// Finds out what became of a call that may have run, whose owner is gone, and that may
            /// not run again: its result or its error becomes the recorded outcome. Without an
            /// answer (`undefined`, an exception, none within `timeoutMs`) the outcome is `unknown`.
            reconcile: "(call: PendingCall, context: ReconcileContext): Reconciled";
            readOnly from "ToolSpec";
            idempotent from "ToolSpec";
            /// Part of the signature, for tools with several actions.
            action: "(args: Args<S>): string";
            /// Whether the user must approve a call before it runs: the turn pauses, and
            /// `resumeTurn({ approvals })` continues it. Requires a store. A function is called once
            /// for each call, and a promise is awaited, within `toolTimeoutMs` of the policy. It may
            /// also deny a call, with a reason for the model. If it throws, the call is refused. A
            /// resume does not call it again.
            needsApproval: "boolean | ((args: Args<S>) => ApprovalDecision | Promise<ApprovalDecision>)" = "false";
            /// Needs a store; the signature must be the same.
            reuseMs from "ToolSpec";
            dedupe from "ToolSpec";
            timeoutMs from "ToolSpec";
            /// The size is that of its JSON text.
            maxResultBytes from "ToolSpec";
            maxCalls from "ToolSpec";
            untrusted from "ToolSpec";
        }
        },
        table! {
            /// The options of `createCallGuard`.
            "GuardPolicy" for "createCallGuard" {
                allow: "readonly string[]" from "GuardOptions" = "all";
                /// Tools of `defineTool`, or what is known of a tool.
                tools: "Record<string, GuardedTool>" from "GuardOptions";
                /// Part of every signature.
                projectId: "string";
                maxCalls from "GuardOptions";
                maxRepeats from "GuardOptions";
                maxSameCall from "GuardOptions";
                window from "GuardOptions";
                /// A number is a limit of calls.
                perTool: "Record<string, GuardedTool | number>" from "GuardOptions";
                volatilePrefixes from "GuardOptions";
                afterUntrusted from "GuardOptions";
                state from "GuardOptions";
            }
        },
        table! {
            /// The options of `guardTools` and `guardToolCall`.
            "GuardToolsOptions" for "guardTools" {
                /// Where calls that are not read-only are claimed and their outcomes recorded. Requires
                /// `conversationId`; `guardToolCall` does not, if no two calls have the same id.
                store: "Store" = "the memory of this process";
                /// Whose conversations the store has.
                tenant: "string" = "\"\"";
                /// The conversation. Calls of two conversations are never compared. Without it, calls
                /// are compared within one run of the framework.
                conversationId: "string";
                /// A name of the user's message that is the same in each retry. Requires
                /// `conversationId`.
                turnId: "string" = "by the messages, if the framework shows them to tools";
                /// When calls run.
                policy: "GuardToolsPolicy" | deep;
                /// Milliseconds after which a call has failed and its signal is aborted. A tool of
                /// `policy.tools` may have another limit.
                timeoutMs: "number" = "300000", "from 1";
                /// Milliseconds without a sign of life after which a process that runs a call counts
                /// as gone.
                leaseMs: "number" = "15000", "from 100";
                /// Milliseconds for which the store keeps an outcome.
                ttlMs: "number" = "86400000", "from 1";
                /// Receives what happens to calls: `tool_call`, `tool_result`, `duplicate_tool_call`,
                /// `tool_refused`. Its exceptions are ignored.
                onTrace: "(event: GuardTraceEvent): void";
                /// Redacts every text of trace events.
                redact: "Redact";
            }
        },
        table! {
            /// When guarded tools run.
            "GuardToolsPolicy", extends "GuardPolicy" without "tools" "state" {
                /// What is known of tools, by name. A tool that is not listed counts as not read-only.
                tools: "Record<string, GuardedToolOptions>";
            }
        },
        table! {
            /// What is known of a guarded tool.
            "GuardedToolOptions", extends "GuardedTool" {
                /// Whether the tool may run again if it is not known whether it finished.
                idempotent: "boolean" = "false";
                /// Milliseconds after which a call has failed.
                timeoutMs: "number" = "`timeoutMs` of all", "from 1";
                /// Part of the signature, for tools with several actions.
                action: "(args: unknown): string";
                /// Finds out what became of a call whose process is gone. Without an answer, the
                /// outcome is `unknown`.
                reconcile: "(call: PendingCall, context: ReconcileContext): Reconciled";
            }
        },
    ]
}
