//! Decodes provider bytes into [`Delta`]s. Any split of the bytes gives the same deltas.
//!
//! What all wire formats have in common is here. What the events of one provider mean is in the
//! provider's folder.
//!
//! ```
//! use turnlock::Dialect;
//! use turnlock::stream::{Decoder, FinishReason, Response};
//!
//! let body = br#"data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}
//!
//! data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}
//!
//! data: [DONE]
//!
//! "#;
//! let mut decoder = Decoder::new(Dialect::OpenAiChat)?;
//! let mut deltas = Vec::new();
//! for chunk in body.chunks(7) {
//!     decoder.feed(chunk, &mut deltas);
//! }
//! decoder.end(&mut deltas);
//!
//! let mut response = Response::default();
//! for delta in &deltas {
//!     response.take(delta).map_err(|error| error.message)?;
//! }
//! assert_eq!(response.text, "Hello.");
//! assert_eq!(response.finish, Some((FinishReason::Stop, "stop".to_owned())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ambiguous;
mod assemble;
mod calls;
mod classify;
mod decoder;
mod delta;
mod events;
mod frames;
mod given;
mod hosted;
mod price;
mod sse;
mod template;
mod text_calls;
mod thoughts;
mod tree;
mod values;

pub(crate) use calls::{Calls, NO_INDEX, Sum, has_unread};
pub(crate) use classify::{failure, finish_error, malformed};
pub(crate) use events::{AnyEvents, Events};
pub(crate) use frames::{FRAMES, Framer};
pub(crate) use hosted::Hosted;
pub(crate) use text_calls::{TEXT_CALL, TextCalls, calls_in};
pub(crate) use thoughts::Thoughts;
pub(crate) use tree::{
    Counts, arguments_text, count, event, finished, is_failure, list, part, push_finish,
    push_other, push_reasoning, push_text, push_tool, text,
};

pub use assemble::{Call, Reasoning, Response};
pub use decoder::Decoder;
pub use delta::{
    Delta, ErrorClass, FinishReason, ProviderTool, ProviderToolStatus, StreamError, TokenUsage,
    Usage,
};
pub use price::Prices;
pub use sse::{EventTooLarge, SseDecoder, SseEvent};
pub use text_calls::TextToolCalls;
pub use thoughts::ThinkTags;
pub use tree::{BLOCK, MEMBERS, PART, REDACTED};
