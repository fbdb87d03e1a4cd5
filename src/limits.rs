//! Every limit of the core, with its unit, its default and where it came from.
//!
//! Anything that grows with input is capped by a constant here or by a field of
//!
//! ```
//! use turnlock::{canonicalize, limits};
//!
//! let depth = limits::JSON_DEPTH as usize;
//! let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
//! assert!(canonicalize(nested(depth).as_bytes()).is_ok());
//! let error = canonicalize(nested(depth + 1).as_bytes()).unwrap_err();
//! assert_eq!(error.code(), "json.too_deep");
//! ```
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

/// Bytes of the arguments of one tool call: 1 MiB. The longest in recorded conversations are under 20 KB.
pub const ARGUMENTS_BYTES: usize = 1024 * 1024;

/// Bytes of one server-sent event: 8 MiB. Above any provider's, image parts included.
pub const SSE_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Text, reasoning and arguments of one model response, in bytes: 32 MiB.
pub const RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// Tool calls in one model response; at the next one reading stops. OpenAI's own cap on tools is 128.
pub const CALLS_PER_RESPONSE: usize = 128;

/// Bytes of a request for tools: 64 KiB. A request of two calls has a few hundred.
pub const REQUEST_BYTES: usize = 64 * 1024;

/// Calls of one request that are looked at; those behind them are over every limit.
pub const REQUESTED_CALLS: usize = 128;

/// Requests in one tool-request pass: a pass is no agent.
pub const REQUEST_ITERATIONS: u64 = 4;

/// Tools in one registry. OpenAI refuses more than 128; other providers take more.
pub const TOOLS: usize = 1024;

/// A/B cycles in one turn: no bouncing by default, and never more than this.
pub const MAX_CYCLES: u32 = 2;

/// Items of an array that are matched one to one, exactly; longer ones are compared as multisets
/// and say so. `docs/statistics.md` §2.3; the method is cubic.
pub const ASSIGNED_ITEMS: usize = 128;

/// Comparisons of leaves that one matching may take, lists within lists included: 2²², some
/// hundredths of a second a pair. Beyond, as for [`ASSIGNED_ITEMS`].
pub const ASSIGN_WORK: u64 = 1 << 22;

/// Cells of the table behind one common subsequence, 64 of which take one step: 2²⁸, lists of
/// 16 384. Beyond, the lists are compared as multisets and say so.
pub const SEQUENCE_CELLS: usize = 1 << 28;

/// Replicates of one bundle. The matrix is quadratic.
pub const REPLICATES: usize = 128;

/// Bytes of one replicate's JSON: 4 MiB. A longer one is invalid and says so.
pub const REPLICATE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of the options of a bundle, or of all that `summarizeReplicates` is given: 64 MiB.
pub const BUNDLE_BYTES: usize = 64 * 1024 * 1024;

/// Fields of a bundle that are listed one by one; the numbers take in all of them.
pub const BUNDLE_FIELDS: usize = 65_536;

/// Bytes of a planner's answer: 256 KiB. Arbitrary; a plan of 64 steps is under 32 KiB.
pub const PLAN_BYTES: usize = 256 * 1024;

/// Steps of any plan, whatever a host allows. Arbitrary.
pub const PLAN_STEPS: usize = 64;

/// Steps that a chain runs by default, its last synthesis not counted.
pub const CHAIN_STEPS: usize = 8;

/// Bytes of a step's id.
pub const STEP_ID_BYTES: usize = 64;

/// Bytes that one placeholder of a step's query is filled with. Search engines cut queries at
/// about this length.
pub const PLACEHOLDER_BYTES: usize = 2048;

/// Bytes of the `when` of a step, and how deep its brackets nest.
pub const CONDITION_BYTES: usize = 1024;

/// Bytes of one step's result as JSON text: 1 MiB.
pub const STEP_RESULT_BYTES: usize = 1024 * 1024;

/// Latencies that are kept for each pattern of chains; the oldest are dropped.
pub const PATTERN_LATENCIES: usize = 256;
