//! What threads of a host may pass to each other: every public type is `Send` and `Sync`.

use crate::{dialect, error, guard, history, json, planning, proxy, signature, stream, tool};

const fn shared<T: Send + Sync + Unpin + 'static>() {}

macro_rules! shared {
    ($($type:ty),* $(,)?) => {
        const _: () = {
            $(shared::<$type>();)*
        };
    };
}

shared! {
    dialect::Dialect,
    error::Error,
    guard::Guard<json::Json<'static>>,
    guard::Refusal,
    json::Json<'static>,
    json::JsonError,
    history::Action,
    history::Code,
    history::History<'static>,
    history::HistoryOptions,
    history::Normalized<'static>,
    history::ReasoningReplay,
    history::Repair,
    history::Strategy,
    history::ThoughtSignatures,
    history::Update<'static>,
    history::Violation,
    proxy::Gate,
    planning::Access,
    planning::AccessReason,
    planning::Channel,
    planning::Inventory,
    planning::InventoryTool,
    planning::Lint,
    planning::LintCode,
    planning::ParsedRequest,
    planning::PassOptions,
    planning::Policy,
    planning::Reason,
    planning::Recorded,
    planning::RequestRejection,
    planning::RequestedCall,
    planning::Template,
    signature::Signature,
    stream::Delta,
    stream::ErrorClass,
    stream::FinishReason,
    stream::StreamError,
    stream::Usage,
    tool::Outcome,
    tool::Status,
    tool::ToolError,
}
