//! Trace events, for audits.
//!
//! A turn with `trace: true`, and every [pass](crate::request), emits
//! [`Effect::Trace`](crate::turn::Effect::Trace) with
//! `{ type, requestId, projectId, atMs, …, details: { phase, toolBatchId } }`. Trace events contain
//! names, numbers and hashes. Those of a turn contain no text, arguments or results; those of a pass
//! contain the requested arguments and reasons, which a host can redact.

use crate::json::{Json, object};

/// The members of a trace event, in order.
pub(crate) type Members = Vec<(&'static str, Json<'static>)>;

/// What all trace events of one machine have in common.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) project_id: Option<&'a str>,
    /// Milliseconds since the start.
    pub(crate) at_ms: u64,
    pub(crate) phase: &'static str,
    pub(crate) tool_batch_id: u64,
}

/// Builds a trace event.
pub(crate) fn event(kind: &'static str, source: &Source<'_>, own: Members) -> Json<'static> {
    let details = object! {
        "phase": Json::from(source.phase),
        "toolBatchId": Json::integer(source.tool_batch_id),
    };
    let mut members = vec![
        ("type", kind.into()),
        ("requestId", source.request_id.to_owned().into()),
        ("projectId", source.project_id.map_or(Json::Null, |id| id.to_owned().into())),
        ("atMs", Json::integer(source.at_ms)),
    ];
    members.extend(own);
    members.push(("details", details));
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}
