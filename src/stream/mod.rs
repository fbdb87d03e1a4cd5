//! Provider bytes in, [`Delta`]s out. Any split of the bytes gives the same deltas.

mod assemble;
mod classify;
mod decoder;
mod delta;
mod dialect;
mod sse;
mod template;

pub use assemble::{Call, Reasoning, Response};
pub use decoder::Decoder;
pub use delta::{Delta, ErrorClass, FinishReason, StreamError, Usage};
pub use sse::{EventTooLarge, SseDecoder, SseEvent};
