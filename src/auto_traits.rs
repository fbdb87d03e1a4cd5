//! What threads of a host may pass to each other: every public type is `Send` and `Sync`.

use crate::{dialect, error, guard, json, message, proxy, request, signature, stream, tool};

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
    message::Action,
    message::Code,
    message::History<'static>,
    message::HistoryOptions,
    message::Normalized<'static>,
    message::ReasoningReplay,
    message::Repair,
    message::Strategy,
    message::ThoughtSignatures,
    message::Update<'static>,
    message::Violation,
    proxy::Gate,
    request::Access,
    request::AccessReason,
    request::Channel,
    request::Inventory,
    request::InventoryTool,
    request::Lint,
    request::LintCode,
    request::ParsedRequest,
    request::PassOptions,
    request::Policy,
    request::Reason,
    request::Recorded,
    request::RequestRejection,
    request::RequestedCall,
    request::Template,
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
