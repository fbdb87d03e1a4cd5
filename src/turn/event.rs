//! The events of a turn, and their JSON form, which every host passes on.
//!
//! The JSON is written here and not in the wasm bindings, because it is the public contract and the
//! scenario tables compare it in native tests.

use std::sync::Arc;

use super::policy::ToolLimit;
use crate::error::Failure;
use crate::guard::Refusal;
use crate::json::table::{cases, envelope, names, record};
use crate::json::{Json, write_string};
use crate::stream::{FinishReason, ProviderTool, ProviderToolStatus, TokenUsage};
use crate::tool::{CallView, Outcome};

envelope! {
    /// An event of a turn. The last one is terminal: `complete`, `paused`, `cancelled` or `error`.
    pub struct Event as "TurnEvent" of EventKind {
        /// The phase of the turn.
        phase "phase": PhaseName;
        /// The id of the turn.
        request_id "requestId": Arc<str>;
        /// The host's project, if the host set one.
        project_id "projectId": Option<Arc<str>>;
        /// The id of the conversation, if the host set one.
        conversation_id "conversationId?": Option<Arc<str>>;
        /// The number of the last batch of tool calls; 0 before the first.
        tool_batch_id "toolBatchId": u32;
        /// The number of the event in the turn, from 1. It has no gaps unless the turn was resumed
        /// and events may have been shown without being stored.
        seq "seq": u64;
    }
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

cases! {
    /// What happened in a turn.
    pub enum EventKind as "TurnEventKind" {
        /// A phase begins, or continues in a resumed turn.
        PhaseStart "phase_start" {
            /// Whether the phase continues in a resumed turn.
            resumed "resumed?": bool,
            /// How many calls may still run in the phase: what the policy and the host grant, less
            /// those that ran. Not in unified mode.
            max_tools "maxTools?": Option<u32>,
            /// The inference that was interrupted is made again: its `text` and `reasoning` events,
            /// those with this `seq` or a later one before this event, are void.
            void_from "voidFrom?": Option<u64>,
        }
        /// A phase ends; another one or the end of the turn follows.
        PhaseEnd "phase_end" {
            /// The limit that ended the tools, in the tool phase and in unified mode. None where the
            /// model was through, no call could run, the turn pauses, or another owner goes on.
            ended "ended?": Option<ToolLimit>,
        }
        /// Text for the user.
        Text "text" {
            /// The piece of text.
            chunk "chunk": String,
        }
        /// Reasoning of the model.
        Reasoning "reasoning" {
            /// The piece of text.
            chunk "chunk": String,
        }
        /// A tool that the provider runs itself, such as its web search, was called or has a result.
        /// It is not executed here, and counts in no budget.
        ProviderTool "provider_tool" {
            /// The provider's name for it.
            name "name": String,
            /// The provider's id of the call, which a result has too.
            id "id?": Option<String>,
            /// How far it is.
            status "status": ProviderToolStatus,
            /// The provider's own block, which goes back to it unchanged.
            block "block?": Option<Json<'static>>,
            /// What the provider says of it and does not take back.
            data "data?": Option<Json<'static>>,
        }
        /// A call that is executed now or uses another call's outcome; in unified mode, also a
        /// refused call.
        ToolCalls "tool_calls" {
            /// The calls.
            calls "toolCalls": Vec<CallView>,
        }
        /// A running tool reports its progress.
        ToolProgress "tool_progress" {
            /// The provider's id of the call.
            tool_call_id "toolCallId": String,
            /// The tool.
            name "name": String,
            /// The progress data.
            data "data": Json<'static>,
        }
        /// The arguments of a call are arriving: another 256 bytes of them are there. Whether the
        /// call will run is not decided yet.
        ToolArguments "tool_arguments" {
            /// The place of the call in its response, from 0, as the provider counts.
            index "index": u32,
            /// The tool.
            name "name": String,
            /// Bytes of the arguments so far.
            bytes "bytes": u64,
        }
        /// The result of a call, as soon as it is there.
        ToolResults "tool_results" {
            /// The results.
            results "toolResults": Vec<ResultView>,
        }
        /// A tool has returned the same result again behind other arguments.
        Stagnation "stagnation" {
            /// The tool.
            tool "tool": String,
            /// How often it has returned this result, from 2.
            count "count": u32,
        }
        /// Calls that are not executed.
        Refused "refused" {
            /// The calls.
            calls "toolCalls": Vec<CallView>,
            /// The reason.
            reason "reason": Refusal,
            /// The notice for the model.
            notice "notice": String,
            /// Signatures of all calls of this turn that were refused or replayed so far.
            blocked "blockedSignatures": Vec<String>,
        }
        /// Calls that the user must approve; the turn pauses.
        ApprovalRequired "approval_required" {
            /// The calls.
            calls "toolCalls": Vec<CallView>,
        }
        /// Terminal: the turn waits to be resumed.
        Paused "paused" {
            /// What names the turn and its last batch to whoever resumes it.
            resume "resume": ResumePoint,
            /// The calls of tools without `execute`, which wait for their outcomes.
            calls "calls?": Vec<CallView>,
            /// The calls that wait for an approval.
            approvals "approvals?": Vec<CallView>,
            /// What the turn has used so far.
            spent "": Spent,
        }
        /// Terminal: the turn has answered.
        Complete "complete", "done" = true {
            /// The answer: the text of the last inference of the last phase that had any.
            text "text": String,
            /// The answer as a value, in a turn with `answerSchema`: what the validator made of it.
            object "object?": Option<Json<'static>>,
            /// All text shown in this turn that still stands, in order.
            full_content "fullContent": String,
            /// Tokens of all inferences.
            usage "usage": TokenUsage,
            /// Tokens of all inferences, and those that tools reported.
            total_usage "totalUsage": Box<TokenUsage>,
            /// How many inferences the turn made.
            inferences "inferences": u32,
            /// Signatures of all calls of this turn that were refused, or that got the outcome of an
            /// earlier call, each once.
            blocked "blockedSignatures": Vec<String>,
            /// How often a call of these signatures came again without being executed again.
            repeats "repeats": Vec<(String, u32)>,
            /// Whether the answer was composed from the tool results, because the model gave none.
            composed "composed?": bool,
            /// Why the model stopped its last response, if it said so and the response was read to its
            /// end: with `length` or `content_filter` the answer is not whole.
            finish_reason "finishReason?": Option<FinishReason>,
            /// The provider's word for it.
            raw_finish_reason "rawFinishReason?": Option<String>,
            /// The provider's name of the model that answered, in a turn with fallbacks.
            model "model?": Option<String>,
        }
        /// Terminal: the host ended the turn.
        Cancelled "cancelled" {
            /// The reason.
            reason "reason": String,
            /// What the turn has used.
            spent "": Spent,
        }
        /// Terminal: the turn failed.
        Error "error" {
            /// Why.
            failure "": Failure,
            /// What the turn has used.
            spent "": Spent,
        }
    }
}

record! {
    /// What a turn has used that has not answered. Missing in an event that the turn did not make
    /// itself, such as the failure of a host that could not start it.
    pub struct Spent as "TurnSpent" {
        /// Tokens of all inferences. Missing in an event that the turn did not make itself.
        usage "usage?": Option<TokenUsage>;
        /// Tokens of all inferences, and those that tools reported.
        total_usage "totalUsage?": Option<TokenUsage>;
        /// How many inferences the turn made.
        inferences "inferences?": Option<u32>;
    }
}

record! {
    /// What a paused turn is resumed with.
    pub struct ResumePoint as "ResumePoint" {
        /// The id of the turn.
        request_id "requestId": Arc<str>;
        /// The number of the last batch of tool calls.
        tool_batch_id "toolBatchId": u32;
    }
}

record! {
    /// The form of a call's result in events.
    pub struct ResultView as "ToolResult" {
        /// The provider's id of the call.
        tool_call_id "toolCallId": String;
        /// The tool.
        name "name": String;
        /// The arguments of the call.
        args "args": Json<'static>;
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

impl Spent {
    /// Of an event that the turn did not make itself.
    fn unknown() -> Self {
        Self { usage: None, total_usage: None, inferences: None }
    }
}

impl From<ProviderTool> for EventKind {
    fn from(tool: ProviderTool) -> Self {
        let raw = Json::parse_str(&tool.raw).ok().map(Json::into_owned);
        let (block, data) = if tool.kept { (raw, None) } else { (None, raw) };
        Self::ProviderTool { name: tool.name, id: tool.id, status: tool.status, block, data }
    }
}

impl EventKind {
    /// Makes text for the user.
    #[must_use]
    pub fn text(chunk: impl Into<String>) -> Self {
        Self::Text { chunk: chunk.into() }
    }

    /// Makes reasoning of the model.
    #[must_use]
    pub fn reasoning(chunk: impl Into<String>) -> Self {
        Self::Reasoning { chunk: chunk.into() }
    }

    /// Makes the end of a turn that the host cancelled.
    #[must_use]
    pub fn cancelled(reason: impl Into<String>) -> Self {
        Self::Cancelled { reason: reason.into(), spent: Spent::unknown() }
    }

    /// Makes the end of a turn that failed.
    #[must_use]
    pub fn error(failure: Failure) -> Self {
        Self::Error { failure, spent: Spent::unknown() }
    }
}

impl Event {
    /// Makes an event without a project, and before any batch of tool calls.
    #[must_use]
    pub fn new(phase: PhaseName, request_id: &str, seq: u64, kind: EventKind) -> Self {
        let (request_id, project_id, conversation_id) = (request_id.into(), None, None);
        Self { phase, request_id, project_id, conversation_id, tool_batch_id: 0, seq, kind }
    }

    /// Returns the text of a `text` event.
    #[must_use]
    pub fn chunk(&self) -> Option<&str> {
        match &self.kind {
            EventKind::Text { chunk } => Some(chunk),
            _ => None,
        }
    }

    /// Appends the JSON of [`Event::to_json`], which is sent over HTTP. Text and reasoning events,
    /// which are frequent, are written without a [`Json`] tree.
    ///
    /// ```
    /// use turnlock::Next;
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
    /// let EventKind::Cancelled { reason, .. } = &event.kind else { panic!("{event:?}") };
    /// assert_eq!(reason, "the tab was closed");
    ///
    /// let mut json = String::new();
    /// event.write_json(&mut json);
    /// assert!(json.starts_with(r#"{"type":"cancelled","phase":"tool_phase","requestId":"r1","#));
    /// # Ok::<(), turnlock::Error>(())
    /// ```
    pub fn write_json(&self, out: &mut String) {
        let (EventKind::Text { chunk } | EventKind::Reasoning { chunk }) = &self.kind else {
            return self.to_json().write(out);
        };
        out.push_str("{\"type\":\"");
        out.push_str(self.kind.name());
        out.push_str("\",\"phase\":\"");
        out.push_str(self.phase.name());
        out.push_str("\",\"requestId\":");
        write_string(&self.request_id, out);
        out.push_str(",\"projectId\":");
        match &self.project_id {
            Some(id) => write_string(id, out),
            None => out.push_str("null"),
        }
        if let Some(id) = &self.conversation_id {
            out.push_str(",\"conversationId\":");
            write_string(id, out);
        }
        out.push_str(&format!(
            ",\"toolBatchId\":{},\"seq\":{},\"chunk\":",
            self.tool_batch_id, self.seq
        ));
        write_string(chunk, out);
        out.push('}');
    }

    /// Returns the event for a `text/event-stream` response: `id: <seq>`,
    /// `data: <one line of JSON>` and a blank line.
    ///
    /// ```
    /// use turnlock::turn::{Event, EventKind, PhaseName};
    ///
    /// let event = Event::new(PhaseName::Unified, "r", 2, EventKind::text("a\nb"));
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
}
