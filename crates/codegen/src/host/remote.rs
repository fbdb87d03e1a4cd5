//! Turns that a handler runs.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `remoteTurns`.
            "RemoteTurnsOptions" for "remoteTurns" {
                /// The address of the handler's routes, such as `https://edge.example/api/chat`; in
                /// a page, a path of its own server. With `/messages` or `/messages_two_stage`
                /// behind it, turns have that mode, else the handler's default one.
                url: "string" | required;
                /// Headers of every request, or a function that returns them, such as one that
                /// renews a token.
                headers: "Record<string, string> | \
                    (() => Record<string, string> | Promise<Record<string, string>>)";
                /// Sends the requests.
                fetch: "Fetch" = "`globalThis.fetch`";
                /// How often in a row a request is sent again that brought no event.
                maxRetries: "number" = "5", "from 0";
                /// Milliseconds without a byte, keep-alives included, after which a connection
                /// counts as broken.
                idleMs: "number" = "45000", "from 1";
                /// The tools that this page runs, by `defineTool`: those that the handler has without
                /// `execute`. See `answer`.
                tools: "Record<string, Tool>";
            }
        },
        table! {
            /// The options of a turn of `remoteTurns`.
            "RemoteRunOptions" for "remoteTurns().run" {
                /// The history, with the user's message last.
                messages: "unknown[]" | required;
                /// The id of the turn.
                requestId: "string" = "a random one";
                /// The id of the project.
                projectId: "string | null";
                /// The id of the conversation.
                conversationId: "string";
                /// What a client may decide, within the handler's policy.
                policy: "RemotePolicy" | deep;
                /// Cancels the turn.
                signal: "AbortSignal";
            }
        },
        table! {
            /// What a client may decide of a turn's policy.
            "RemotePolicy" {
                /// Maximum tool calls that are executed in the tool phase.
                maxTools: "number", "up to the handler's maximum";
                /// Whether the turn pauses after the tool phase.
                pauseAfterTools: "boolean";
                /// The tools of the answer phase, among those that the handler allows: names,
                /// `readOnly` for every read-only tool, or `*` for all. Others are refused with 400
                /// `request.invalid`.
                actionTools: "readonly string[] | 'readOnly' | '*'";
            }
        },
        table! {
            /// The options of a turn that is resumed.
            "RemoteResumeOptions" for "remoteTurns().resume" {
                /// The id of the turn.
                requestId: "string" | required;
                /// The batch at which it paused.
                toolBatchId: "number";
                /// The answers to the calls that wait for an approval.
                approvals: "Approval[]";
                /// The results that the model is not to read.
                results: "{ toolCallId: string; drop: true }[]";
                /// Outcomes of calls that this page has claimed; needs `toolBatchId`.
                outcomes: "CallOutcome[]";
                /// The `seq` of the last event that the reader has.
                after: "number" = "that of the last one read here";
                /// Cancels the turn.
                signal: "AbortSignal";
            }
        },
        table! {
            /// The options of a turn that is followed.
            "RemoteFollowOptions" for "remoteTurns().follow" {
                /// The id of the turn.
                requestId: "string" | required;
                /// The `seq` of the last event that the reader has.
                after: "number" = "0";
                /// Ends the reading.
                signal: "AbortSignal";
            }
        },
    ]
}
