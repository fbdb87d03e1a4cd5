//! Every limit of the core, with its unit, its default and where it came from.
//!
//! Anything that grows with input is capped by a constant here or by a field of
//! [`Policy`](crate::turn::Policy).

/// Nesting depth of a JSON value. serde_json's own default; a wasm stack dies near 4 000.
pub const JSON_DEPTH: u32 = 128;

/// Bytes of one JSON text given to `canonicalize` or `signature`: 16 MiB. Arbitrary, generous.
pub const JSON_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the options of one turn, history included: 64 MiB. A tenth of an isolate's memory
/// when parsed.
pub const HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of what a turn is restored from: its options as they were given are a text in it, of
/// which escapes take twice the room, beside its batches, outcomes and events.
pub const KEPT_BYTES: usize = 4 * HISTORY_BYTES;

/// Bytes of the arguments of one tool call: 1 MiB. The longest in the corpora are under 20 KB.
pub const ARGUMENTS_BYTES: usize = 1024 * 1024;

/// Bytes of one server-sent event: 8 MiB. Above any provider's, image parts included.
pub const SSE_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Text, reasoning and arguments of one model response, in bytes: 32 MiB.
pub const RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// Tool calls in one model response; at the next one reading stops. OpenAI's own cap on tools is 128.
pub const CALLS_PER_RESPONSE: usize = 128;

/// Tools in one registry. OpenAI refuses more than 128; other providers take more.
pub const TOOLS: usize = 1024;

/// A/B cycles in one turn: no bouncing by default, and never more than this.
pub const MAX_CYCLES: u32 = 2;
