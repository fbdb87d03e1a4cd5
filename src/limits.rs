//! Every limit of the core, with its unit, its default and its source.
//!
//! Anything that grows with input is capped by a constant of this module or by a field of
//! [`Policy`](crate::turn::Policy).
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

/// Nesting depth of a JSON value. The default of serde_json; a wasm stack overflows near 4 000.
///
/// Limit | levels of a JSON value | levels | `json.too_deep`
pub const JSON_DEPTH: u32 = 128;

/// Further levels of what holds such values: histories, options, inputs and records of a host.
///
/// Limit | further levels of what holds such values: histories, options, records | levels | `json.too_deep`
pub const HOST_LEVELS: u32 = 32;

/// Bytes of one JSON text given to `canonicalize` or `signature`: 16 MiB. An arbitrary,
/// generous value.
///
/// Limit | a text for `canonicalize`, `signature` | bytes | `json.too_large`
pub const JSON_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the options of one turn, including its history: 64 MiB. When parsed, they take a
/// tenth of an isolate's memory.
///
/// Limit | the options of a turn, with its history | bytes | `json.too_large`
pub const HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// Parts of the messages of one history: texts, images, calls, results and other blocks. The longest
/// recorded conversations have some thousands.
///
/// Limit | parts of a history; a turn in Node or a page takes more, if it keeps nothing and its provider needs no repair | parts | `message.too_many_parts`
pub const HISTORY_PARTS: usize = 1 << 16;

/// Bytes of JSON for each part behind the first [`HISTORY_TINY`], on average. A part takes some 450
/// bytes while a history is read, however short it is, so that a history takes at most 40 bytes for
/// each of its own, and 2 MiB. A call counts as eight parts, an image, a result and any other
/// block as two; a member that its provider may not know is one more. `{"type":"text","text":"a"}`
/// has 26 bytes.
///
/// Limit | bytes for each part of a history, on average; a call counts as eight parts, a result, an image and another block as two | bytes, at least | `message.too_many_parts`
pub const HISTORY_PART_BYTES: usize = 20;

/// Parts of a history that may have any size. Texts and results that the host holds count as few bytes,
/// so that a history of short calls needs some of these.
///
/// Limit | parts of a history of any size | parts | `message.too_many_parts`
pub const HISTORY_TINY: usize = 4096;

/// Bytes of the input of [`RestoreOptions::parse`](crate::turn::RestoreOptions::parse): 256 MiB. It holds the
/// original options as a JSON string, where escapes take twice the space, and the turn's batches,
/// outcomes and events.
///
/// Limit | what a resume reads of its store | bytes | `json.too_large`
pub const KEPT_BYTES: usize = 4 * HISTORY_BYTES;

/// Bytes of the arguments of one tool call: 1 MiB. The longest arguments in recorded
/// conversations are under 20 KB.
///
/// Limit | arguments of a call | bytes | the call is refused
pub const ARGUMENTS_BYTES: usize = 1024 * 1024;

/// Bytes that events, requests and stores have of a text in place of arguments: 64 KiB.
///
/// The call is refused; a model that wrote 30 MB of it would otherwise have them in each of these.
///
/// Limit | a text in place of arguments, as it is told | bytes | cut
pub const REFUSED_BYTES: usize = 64 * 1024;

/// Bytes of one server-sent event: 8 MiB. Larger than the events of any provider, including image
/// parts.
///
/// Limit | an event of a response | bytes | `model.stream`
pub const SSE_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Text, reasoning and arguments of one model response, in bytes: 4 MiB, or about a million tokens.
/// No model writes as much in one response. The core then has at most 100 MB (55 for prose), which is
/// less than the 128 MB of an isolate of Cloudflare.
///
/// Limit | text, reasoning and arguments of a response | bytes | `model.stream`
pub const RESPONSE_BYTES: usize = 4 * 1024 * 1024;

/// Tool calls in one model response. Reading stops when one more call starts. OpenAI's own limit
/// on tools is 128.
///
/// Limit | calls of a response | calls | reading stops
pub const CALLS_PER_RESPONSE: usize = 128;

/// Calls that are read of a response whose budget is spent, so that they are listed as refused.
///
/// Limit | calls read behind a spent budget | calls | reading stops
pub(crate) const FURTHER_CALLS: u32 = 8;

/// Bytes that are read of a response whose budget is spent: 16 KiB.
///
/// Limit | bytes read behind a spent budget | bytes | reading stops
pub(crate) const FURTHER_BYTES: usize = 16 * 1024;

/// Milliseconds for which a response whose budget is spent is read on after the last tool settled.
///
/// Limit | reading behind a spent budget and the last tool | ms | reading stops
pub(crate) const FURTHER_MS: u64 = 250;

/// Tool calls, or open content blocks, that a stream decoder keeps apart. One more is an error of
/// the stream.
///
/// Limit | calls and blocks that a decoder keeps apart | calls | `model.stream`
pub const STREAM_CALLS: usize = 1024;

/// Bytes of a planner's tool request: 64 KiB. A request for two calls has a few hundred bytes.
///
/// Limit | a tool request of a planner | bytes | rejected, the plan goes on
pub const REQUEST_BYTES: usize = 64 * 1024;

/// Calls of one tool request that are considered. The calls after these are refused (`budget`).
///
/// Limit | calls of a tool request | calls | refused (`budget`)
pub const REQUESTED_CALLS: usize = 128;

/// Requests in one tool-request pass, which is not an agent loop.
///
/// Limit | requests of a pass | requests | `options.invalid`
pub const REQUEST_ITERATIONS: u64 = 4;

/// Bytes of the images and files in one tool result, decoded: 3.75 MiB, or 5 MiB of base64. The
/// smallest limit that a provider has for one image (Bedrock, 3.75 MB:
/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>, read 2026-11-30).
///
/// Limit | images and files of a tool result | bytes | a note for the model
pub const MEDIA_BYTES: u64 = 3_932_160;

/// Tools in one registry. OpenAI refuses more than 128; other providers take more.
///
/// Limit | tools of a registry | tools | `options.invalid`
pub const TOOLS: usize = 1024;

/// Cycles of tool phase and action phase in one turn. The default is 1; this is the maximum.
///
/// Limit | cycles of a turn | cycles | `options.invalid`
pub const MAX_CYCLES: u32 = 2;

/// Items of an array that are matched one to one, exactly. Longer arrays are compared as multisets
/// and reported as approximated. `docs/statistics.md` §2.3; the method takes cubic time.
///
/// Limit | items of lists matched exactly | items | approximated, and said
pub const ASSIGNED_ITEMS: usize = 128;

/// Leaf comparisons in one matching, including nested lists: 2²², which takes some hundredths of a
/// second per pair. Longer arrays are compared as described at [`ASSIGNED_ITEMS`].
///
/// Limit | comparisons of one matching | comparisons | approximated, and said
pub const ASSIGN_WORK: u64 = 1 << 22;

/// Table cells of one longest common subsequence: 2²⁸, enough for two lists of 16 384 items. One
/// step computes 64 cells. Longer lists are compared as multisets and reported as approximated.
///
/// Limit | cells of a longest common subsequence | cells | approximated, and said
pub const SEQUENCE_CELLS: usize = 1 << 28;

/// Steps of comparing all pairs of a bundle's replicates once, beyond those that are linear in their
/// size: 2²⁵, a third of a second. Pairs have equal parts of it, each at least [`PAIR_STEPS`]; a list
/// that would take more than is left to its pair is compared as a multiset and reported as
/// approximated. The distance matrix is one such comparison, and each summary is another.
///
/// Limit | steps of comparing all replicates | steps | approximated, and said
pub const COMPARE_STEPS: u64 = 1 << 25;

/// The least part of a pair in [`COMPARE_STEPS`]: 2¹⁶, enough for two lists of 40 small items.
///
/// Limit | steps of one pair, at least | steps | approximated, and said
pub const PAIR_STEPS: u64 = 1 << 16;

/// Replicates of one bundle. The size of the distance matrix is quadratic in this number.
///
/// Limit | replicates of a bundle | replicates | `options.invalid`
pub const REPLICATES: usize = 128;

/// Bytes of one replicate's JSON: 4 MiB. A longer replicate is reported as invalid.
///
/// Limit | the JSON of a replicate | bytes | the replicate is invalid
pub const REPLICATE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of the options of a bundle, or of the whole input of `summarizeReplicates`: 64 MiB.
///
/// Limit | the options of a bundle | bytes | `json.too_large`
pub const BUNDLE_BYTES: usize = 64 * 1024 * 1024;

/// Fields of a bundle that are listed one by one. Distances and confidence cover all fields.
///
/// Limit | fields listed one by one | fields | the list is cut
pub const BUNDLE_FIELDS: usize = 65_536;

/// Bytes of a planner's answer: 256 KiB. Arbitrary; a plan of 64 steps is under 32 KiB.
///
/// Limit | a plan | bytes | `plan.too_large`
pub const PLAN_BYTES: usize = 256 * 1024;

/// Steps of any plan. A host cannot raise this limit. Arbitrary.
///
/// Limit | steps of any plan | steps | `plan.too_many_steps`
pub const PLAN_STEPS: usize = 64;

/// Bytes of a provider's refusal that are searched for its cause: 64 KiB. Providers write a sentence; the
/// rest of a longer text is what was sent.
///
/// Limit | a refusal that is explained | bytes | not read further
pub const REFUSAL_BYTES: usize = 64 * 1024;

/// Steps that a chain runs by default, not counting its final synthesis.
///
/// Limit | steps of a plan, by default | steps | `plan.too_many_steps`
pub const CHAIN_STEPS: usize = 8;

/// Bytes of a step's id.
///
/// Limit | the id of a step | bytes | `plan.invalid_step`
pub const STEP_ID_BYTES: usize = 64;

/// Characters of the short text that stands for a whole result in a step's query.
///
/// Limit | the text that stands for a result | characters | cut
pub const PLACEHOLDER_CHARS: usize = 160;

/// Bytes that replace one placeholder in a step's query. Search engines truncate queries at about
/// this length.
///
/// Limit | what replaces a placeholder | bytes | cut
pub const PLACEHOLDER_BYTES: usize = 2048;

/// Bytes of the `when` condition of a step. Its nesting is limited separately, to 32 levels.
///
/// Limit | a condition of a step | bytes | `plan.invalid_condition`
pub const CONDITION_BYTES: usize = 1024;

/// Bytes of one step's result as JSON text: 1 MiB.
///
/// Limit | the result of a step | bytes | `chain.result_too_large`
pub const STEP_RESULT_BYTES: usize = 1024 * 1024;

/// Latencies that are stored for each chain pattern. The oldest are dropped first.
///
/// Limit | latencies kept of a pattern | numbers | the oldest is dropped
pub const PATTERN_LATENCIES: usize = 256;
