//! Turns: running, resuming, cancelling and following them.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `runTurn`.
            "RunTurnOptions" for "runTurn" {
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
                model: "Model" | required;
                /// Models that are asked in this order, each when the one before it has failed for
                /// good (after its retries) and before anything of its response arrived. The turn
                /// goes on with the one that answers: `model` of the result names it. Not with the
                /// strategy `thread`.
                fallbacks: "Model[]";
                repairOnError from "TurnOptions";
                /// The history, with the user's message last: `{ role, content, … }`.
                messages: "unknown[]" | required;
                system from "TurnOptions";
                /// The answer is JSON of this schema: `result.object`. Its text is shown as a whole,
                /// when it is valid; the model may answer once more, then the turn fails with
                /// `answer.invalid`. It is told in words, and by the API's structured output in
                /// requests without tools; what `body` has in its member stays.
                answerSchema: "JsonSchema | StandardSchema";
                /// The tools by name. Names have 1 to 64 characters of `A-Z a-z 0-9 _ -`.
                tools: "Record<string, Tool>";
                mode from "TurnOptions";
                policy from "TurnOptions";
                requestId from "TurnOptions" = "`crypto.randomUUID()`";
                projectId: "string | null" from "TurnOptions";
                conversationId from "TurnOptions";
                strategy from "TurnOptions";
                previousResponseId from "TurnOptions";
                boxSecret: "string" from "TurnOptions";
                /// Stores the turn, so that it can be resumed, cancelled and followed from
                /// elsewhere. Events are delivered after they are stored. A `requestId` that the
                /// store knows ends with `turn.conflict`.
                store: "Store";
                /// Part of every name in the store.
                tenant from "StoredAs" = "\"\"";
                /// How much is stored, and for how long.
                keep: "Keep";
                /// Cancels the turn.
                signal: "AbortSignal";
                /// Receives trace events. Its exceptions are ignored.
                onTrace: "(event: TraceEvent): void";
                /// Redacts what readers of the turn are given: texts, arguments, results, progress
                /// and errors in events, `textStream` and responses. `result` and the store have
                /// all, because the next turn is made of it. Trace events contain no texts.
                redact: "Redactor";
            }
        },
        table! {
            /// The options of `localTurns`: those of `runTurn` that are the same for every turn.
            "LocalTurnsOptions" for "localTurns" {
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
                model: "Model" | required;
                /// As in `runTurn`.
                fallbacks: "Model[]";
                repairOnError from "TurnOptions";
                system from "TurnOptions";
                /// As in `runTurn`.
                answerSchema: "JsonSchema | StandardSchema";
                /// The tools by name.
                tools: "Record<string, Tool>";
                mode from "TurnOptions";
                policy from "TurnOptions";
                projectId: "string | null" from "TurnOptions";
                conversationId from "TurnOptions";
                strategy from "TurnOptions";
                boxSecret: "string" from "TurnOptions";
                /// Stores the turns. The default is lost with the page; `indexedDbStore()` survives a
                /// reload and is seen by other tabs.
                store: "Store" = "`memoryStore()`";
                /// Part of every name in the store.
                tenant from "StoredAs" = "\"\"";
                /// How much is stored, and for how long.
                keep: "Keep";
                /// Receives trace events. Its exceptions are ignored.
                onTrace: "(event: TraceEvent): void";
                /// As in `runTurn`.
                redact: "Redactor";
            }
        },
        table! {
            /// Limits on what a store persists of a turn.
            "Keep" {
                events from "StoredAs";
                bytes from "StoredAs";
                /// At least `leaseMs`.
                ttlMs from "StoredAs";
                leaseMs from "StoredAs";
                /// Four round trips of the store, if that is longer. Stores that bill by row have a
                /// default of 250.
                gatherMs from "StoredAs";
            }
        },
        table! {
            /// The options of `resumeTurn`. Mode, policy and history are those of the original
            /// turn.
            "ResumeTurnOptions" for "resumeTurn" {
                /// The id of the turn.
                requestId: "string" | required;
                /// From the `paused` event. If the turn has continued since, it ends with
                /// `turn.conflict`.
                toolBatchId: "number";
                /// The model of the further requests.
                model: "Model" | required;
                /// As in `runTurn`. A turn that went on with one of them goes on with the one in the
                /// same place; if all have failed, it begins with its model again.
                fallbacks: "Model[]";
                repairOnError from "TurnOptions";
                /// The schema of the answer, in a turn that began with one: the answer is validated here.
                answerSchema: "JsonSchema | StandardSchema";
                boxSecret: "string" from "TurnOptions";
                /// The tools of the original turn; missing ones cannot be called.
                tools: "Record<string, Tool>";
                /// The store that has the turn.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
                /// Decisions on waiting calls. Calls without a decision keep waiting. One about a call
                /// that never waited ends the resume with `tool.no_approval`, and approving a call whose tool
                /// is not in `tools` with `tool.missing`; both change nothing.
                approvals: "Approval[]";
                /// Results of the turn that are to be replaced or dropped before the model reads
                /// them: `tool_results` shows them again with `revised`. A call of which the turn
                /// has no result ends the resume with `tool.no_result`, and changes nothing.
                results: "ResultRevision[]";
                /// Outcomes of calls that a page has claimed; needs `toolBatchId`. Other calls keep
                /// waiting. One of a call that nobody claimed ends the resume with `tool.no_claim`, and
                /// changes nothing.
                outcomes: "CallOutcome[]";
                /// Cancels the turn.
                signal: "AbortSignal";
                /// Receives trace events. Its exceptions are ignored.
                onTrace: "(event: TraceEvent): void";
                /// As in `runTurn`.
                redact: "Redactor";
            }
        },
        table! {
            /// The options of `claimCalls`.
            "ClaimCallsOptions" for "claimCalls" {
                /// The id of the turn.
                requestId: "string" | required;
                /// From the `paused` event.
                toolBatchId: "number" | required;
                /// The calls to claim, of `calls` of the `paused` event.
                toolCallIds: "readonly string[]" | required;
                /// The store that has the turn.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
                /// The tools of the turn: those that are `readOnly` or `idempotent` are granted
                /// again, and each of alike calls of those that say `dedupe: 'allow'`.
                tools: "Record<string, Tool>";
                /// Who claims. A call is granted again to the one who has it, as behind a lost
                /// response.
                claimant: "string" = "a random one";
            }
        },
        table! {
            /// The options of `cancelTurn`.
            "CancelTurnOptions" for "cancelTurn" {
                /// The id of the turn.
                requestId: "string" | required;
                /// The store that has the turn.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
                /// The reason in the `cancelled` event.
                reason: "string" = "\"cancelled by the host\"";
            }
        },
        table! {
            /// The options of `pauseTurn`.
            "PauseTurnOptions" for "pauseTurn" {
                /// The id of the turn.
                requestId: "string" | required;
                /// The store that has the turn.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
            }
        },
        table! {
            /// The options of `listTurns`.
            "ListTurnsOptions" for "listTurns" {
                /// A store that lists its turns.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
                /// Only the turns of this conversation.
                conversationId: "string";
            }
        },
        table! {
            /// The options of `followTurn`.
            "FollowTurnOptions" for "followTurn" {
                /// The id of the turn.
                requestId: "string" | required;
                /// The store that has the turn.
                store: "Store" | required;
                tenant from "StoredAs" = "\"\"";
                /// `seq` of the last event that was received: `Last-Event-ID`.
                after: "number" = "0", "from 0";
                /// Stops reading; the turn continues.
                signal: "AbortSignal";
            }
        },
    ]
}
