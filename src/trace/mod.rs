//! Trace events, for audits.
//!
//! A turn with `trace: true`, and every [pass](crate::planning) with it, emits
//! [`Effect::Trace`](crate::turn::Effect::Trace) with
//! `{ type, requestId, projectId, atMs, …, details: { phase, toolBatchId } }`. Trace events contain
//! names, numbers and hashes. Those of a turn contain no text, arguments or results; those of a pass
//! contain the requested arguments and reasons, which a host can redact.

#[doc(inline)]
pub use crate::planning::{PassEvent, PassEventKind};
#[doc(inline)]
pub use crate::turn::{TraceEvent, TraceEventKind};
