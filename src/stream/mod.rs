//! Provider bytes in, [`Delta`]s out. Any split of the bytes gives the same deltas.

mod delta;

pub use delta::{Delta, ErrorClass, FinishReason, StreamError, Usage};
