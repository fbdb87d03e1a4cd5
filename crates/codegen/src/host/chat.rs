//! A chat over turns.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![table! {
        /// The options of `createChat` and `useTurn`.
        "ChatOptions" for "createChat" {
            /// How turns are run: what `remoteTurns` or `localTurns` returns, or functions around
            /// `runTurn` and `resumeTurn`.
            turns: "ChatTurns" | required;
            /// The history with which the chat begins.
            messages: "unknown[]";
            /// The id of the conversation, for every turn.
            conversationId: "string";
            /// Where the chat is kept under its `conversationId`, so that it is there after a reload,
            /// with the turn that was open. What is kept replaces `messages`.
            persist: "ChatPersistence" = "nowhere";
            /// Milliseconds that text and progress are gathered for before the next state. What
            /// else happens is shown at once.
            throttleMs: "number" = "50", "from 0";
        }
    }]
}
