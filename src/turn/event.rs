//! The events of a turn, and their JSON form, which every host passes on.
//!
//! The JSON is written here and not in the wasm bindings, because it is the public contract and the
//! scenario tables compare it in native tests.

use std::sync::Arc;

use crate::error::Failure;
use crate::json::table::{names, record};
use crate::json::{Json, write_string};
use crate::stream::Usage;
use crate::tool::{CallView, Outcome, Refusal};

/// One event. `seq` counts from 1, without gaps unless the turn was resumed and events may have
/// been shown without being stored.
///
/// ```
/// use turnlock::Next;
/// use turnlock::json::Json;
/// use turnlock::turn::{Effect, EventKind, Input, Turn, TurnOptions};
///
/// let mut turn = Turn::new(TurnOptions::parse(
///     br#"{ "dialect": "openai-chat", "requestId": "r1",
///         "secret": "0123456789abcdef0123456789abcdef",
///         "messages": [{ "role": "user", "content": "hi" }] }"#,
/// )?)?;
/// turn.handle(0, Input::Start);
/// turn.handle(0, Input::Cancel { reason: "the tab was closed".into() });
/// let mut last = None;
/// while let Next::Effect(effect) = turn.poll() {
///     if let Effect::Emit(event) = effect {
///         last = Some(event);
///     }
/// }
/// let event = last.unwrap();
/// let EventKind::Cancelled { reason } = &event.kind else { panic!("{event:?}") };
/// assert_eq!(reason, "the tab was closed");
/// // The form that is sent over HTTP:
/// let json = event.to_json();
/// assert_eq!(json.get("type").and_then(Json::as_str), Some("cancelled"));
/// assert_eq!(json.get("requestId").and_then(Json::as_str), Some("r1"));
/// # Ok::<(), turnlock::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The phase of the turn.
    pub phase: PhaseName,
    /// The id of the turn.
    pub request_id: Arc<str>,
    /// The host's project, if the host set one.
    pub project_id: Option<Arc<str>>,
    /// The number of the last batch of tool calls; 0 before the first.
    pub tool_batch_id: u32,
    /// The number of the event in the turn.
    pub seq: u64,
    /// The kind of the event, with its data.
    pub kind: EventKind,
}

names! {
    /// The phase that an event names.
    pub enum PhaseName as "PhaseName", "a phase" {
        /// Two-stage mode: the tool phase.
        Tool "tool_phase",
        /// Two-stage mode: the action phase, which answers.
        Action "action_phase",
        /// Unified mode.
        Unified "unified",
        /// Used by the event `complete` only.
        Complete "complete",
    }
}

/// The kind of an event, with its data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A phase begins, or continues in a resumed turn.
    PhaseStart {
        /// Whether the phase continues. Discard the text of its unfinished inference.
        resumed: bool,
    },
    /// A phase ends; another one or the end of the turn follows.
    PhaseEnd,
    /// Text for the user.
    Text(String),
    /// Reasoning of the model.
    Reasoning(String),
    /// Calls that are executed now or use another call's outcome; in unified mode, also refused
    /// calls.
    ToolCalls(Vec<CallView>),
    /// A running tool reports its progress.
    ToolProgress {
        /// The provider's id of the call.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// The progress data.
        data: Json<'static>,
    },
    /// The results of these calls, in the same order.
    ToolResults(Vec<ResultView>),
    /// Calls that are not executed.
    Refused {
        /// The calls.
        calls: Vec<CallView>,
        /// The reason.
        reason: Refusal,
        /// The notice for the model.
        notice: String,
        /// Signatures of all calls refused so far in this turn.
        blocked: Vec<String>,
    },
    /// Calls that the user must approve; the turn pauses.
    ApprovalRequired(Vec<CallView>),
    /// Terminal: the turn waits to be resumed.
    Paused {
        /// The calls that wait for an approval.
        approvals: Vec<CallView>,
    },
    /// Terminal: the turn has answered.
    Complete {
        /// All text shown in this turn, in order.
        full_content: String,
        /// Tokens of all inferences.
        usage: Usage,
        /// Signatures of all calls refused in this turn.
        blocked: Vec<String>,
        /// Whether the answer was composed from the tool results, because the model gave none.
        composed: bool,
    },
    /// Terminal: the host ended the turn.
    Cancelled {
        /// The reason.
        reason: String,
    },
    /// Terminal: the turn failed.
    Error(Failure),
}

record! {
    /// The form of a call's result in events.
    pub struct ResultView as "ToolResult" {
        /// The provider's id of the call.
        tool_call_id "toolCallId": String;
        /// The tool.
        name "name": String;
        /// The outcome of the call.
        outcome "": Outcome;
        /// Milliseconds from the start of the call until it settled.
        duration_ms "durationMs": u64;
        /// The signature of the call.
        signature "signature": String;
        /// Whether an earlier outcome was used instead of an execution.
        replayed "replayed": bool;
    }
}

impl Event {
    /// Makes an event without a project, and before any batch of tool calls.
    #[must_use]
    pub fn new(phase: PhaseName, request_id: &str, seq: u64, kind: EventKind) -> Self {
        let request_id = request_id.into();
        Self { phase, request_id, project_id: None, tool_batch_id: 0, seq, kind }
    }

    /// Returns the text of a `text` event.
    #[must_use]
    pub fn chunk(&self) -> Option<&str> {
        match &self.kind {
            EventKind::Text(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// Returns the event with its envelope, in the form that is sent over HTTP.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let list = |items: &[String]| {
            Json::Array(items.iter().map(|item| item.clone().into()).collect::<Vec<_>>())
        };
        let calls = |calls: &[CallView]| Json::Array(calls.iter().map(CallView::to_json).collect());
        let (kind, own) = match &self.kind {
            EventKind::PhaseStart { resumed: false } => ("phase_start", vec![]),
            EventKind::PhaseStart { resumed: true } => {
                ("phase_start", vec![("resumed", true.into())])
            }
            EventKind::ApprovalRequired(views) => {
                ("approval_required", vec![("toolCalls", calls(views))])
            }
            EventKind::PhaseEnd => ("phase_end", vec![]),
            EventKind::Text(chunk) => ("text", vec![("chunk", chunk.clone().into())]),
            EventKind::Reasoning(chunk) => ("reasoning", vec![("chunk", chunk.clone().into())]),
            EventKind::ToolCalls(views) => ("tool_calls", vec![("toolCalls", calls(views))]),
            EventKind::ToolProgress { tool_call_id, name, data } => (
                "tool_progress",
                vec![
                    ("toolCallId", tool_call_id.clone().into()),
                    ("name", name.clone().into()),
                    ("data", data.clone()),
                ],
            ),
            EventKind::ToolResults(results) => {
                let results = results.iter().map(ResultView::to_json).collect();
                ("tool_results", vec![("toolResults", Json::Array(results))])
            }
            EventKind::Refused { calls: views, reason, notice, blocked } => (
                "refused",
                vec![
                    ("toolCalls", calls(views)),
                    ("reason", reason.name().into()),
                    ("notice", notice.clone().into()),
                    ("blockedSignatures", list(blocked)),
                ],
            ),
            EventKind::Paused { approvals } => {
                let resume = Json::object([
                    ("requestId", self.request_id.to_string().into()),
                    ("toolBatchId", Json::integer(u64::from(self.tool_batch_id))),
                ]);
                let mut own = vec![("resume", resume)];
                if !approvals.is_empty() {
                    own.push(("approvals", calls(approvals)));
                }
                ("paused", own)
            }
            EventKind::Complete { full_content, usage, blocked, composed } => {
                let mut own = vec![
                    ("done", true.into()),
                    ("fullContent", full_content.clone().into()),
                    ("usage", usage.to_json()),
                    ("blockedSignatures", list(blocked)),
                ];
                if *composed {
                    own.push(("composed", true.into()));
                }
                ("complete", own)
            }
            EventKind::Cancelled { reason } => {
                ("cancelled", vec![("reason", reason.clone().into())])
            }
            EventKind::Error(failure) => {
                let mut members = vec![("type".into(), "error".into())];
                members.extend(self.envelope());
                if let Json::Object(own) = failure.to_json() {
                    members.extend(own);
                }
                return Json::Object(members);
            }
        };
        let mut members = vec![("type".into(), kind.into())];
        members.extend(self.envelope());
        members.extend(own.into_iter().map(|(key, value)| (key.into(), value)));
        Json::Object(members)
    }

    /// Appends the JSON of [`Event::to_json`]. Text and reasoning events, which are frequent, are
    /// written without a [`Json`] tree.
    pub fn write_json(&self, out: &mut String) {
        let (kind, chunk) = match &self.kind {
            EventKind::Text(chunk) => ("text", chunk),
            EventKind::Reasoning(chunk) => ("reasoning", chunk),
            _ => return self.to_json().write(out),
        };
        out.push_str("{\"type\":\"");
        out.push_str(kind);
        out.push('"');
        for (key, value) in self.envelope() {
            out.push(',');
            write_string(&key, out);
            out.push(':');
            value.write(out);
        }
        out.push_str(",\"chunk\":");
        write_string(chunk, out);
        out.push('}');
    }

    /// Returns the event for a `text/event-stream` response: `id: <seq>`,
    /// `data: <one line of JSON>` and a blank line.
    ///
    /// ```
    /// use turnlock::turn::{Event, EventKind, PhaseName};
    ///
    /// let event = Event::new(PhaseName::Unified, "r", 2, EventKind::Text("a\nb".into()));
    /// let wire = event.to_sse();
    /// assert!(wire.starts_with("id: 2\ndata: {\"type\":\"text\","));
    /// assert!(wire.ends_with("\"chunk\":\"a\\nb\"}\n\n"));
    /// ```
    #[must_use]
    pub fn to_sse(&self) -> String {
        let mut out = format!("id: {}\ndata: ", self.seq);
        self.write_json(&mut out);
        out.push_str("\n\n");
        out
    }

    fn envelope(&self) -> [(std::borrow::Cow<'static, str>, Json<'static>); 5] {
        [
            ("phase".into(), self.phase.name().into()),
            ("requestId".into(), self.request_id.to_string().into()),
            (
                "projectId".into(),
                self.project_id.as_ref().map_or(Json::Null, |id| id.to_string().into()),
            ),
            ("toolBatchId".into(), Json::integer(u64::from(self.tool_batch_id))),
            ("seq".into(), Json::integer(self.seq)),
        ]
    }
}
