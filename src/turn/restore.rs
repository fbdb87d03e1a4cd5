//! The options with which a stored turn is restored.

use std::sync::Arc;

use super::options::{Fallback, Keep, TurnOptions};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::history::{ModelHistory, Strategy};
use crate::json::Json;
use crate::json::table::{At, Read, options, read};
use crate::limits;
use crate::secret::Secret;
use crate::store::FORMAT;
use crate::store::StoredTurn;
use crate::stream::{TextToolCalls, ThinkTags};
use crate::tool::Registry;

options! {
    /// What a new owner of a stored turn brings. Mode, policy, history, project and conversation
    /// are those that the turn began with.
    pub struct RestoreOptions as "RestoreOptions" {
        /// The wire format of the model. Default: that of the stored turn.
        dialect "dialect": Option<Dialect>;
        /// As [`TurnOptions::model`](super::TurnOptions).
        model "model": Option<String>;
        /// As [`TurnOptions::body`](super::TurnOptions).
        body "body": Json<'static> = Json::Null;
        /// The tools that the turn began with. Those that are missing cannot be called.
        tools "tools": Registry;
        /// The turn's id.
        request_id "requestId": Arc<str>;
        /// Randomness of the host, at least 32 characters, for boxes, keys and jitter.
        secret "secret": Secret;
        /// As [`TurnOptions::box_secret`](super::TurnOptions).
        box_secret "boxSecret": Option<Secret>;
        /// Retries of a failed request.
        max_retries "maxRetries": u32 = 2, whole 0..=10;
        /// As [`TurnOptions::think_tags`](super::TurnOptions).
        think_tags "thinkTags": ThinkTags = ThinkTags::Auto;
        /// As [`TurnOptions::text_tool_calls`](super::TurnOptions).
        text_tool_calls "textToolCalls": TextToolCalls = TextToolCalls::Report;
        /// As [`TurnOptions::history`](super::TurnOptions).
        history "history": ModelHistory = ModelHistory::blank();
        /// As [`TurnOptions::repair_on_error`](super::TurnOptions).
        repair_on_error "repairOnError": bool = true;
        /// As [`TurnOptions::fallbacks`](super::TurnOptions). A turn that went on with one of them
        /// goes on with the one in the same place.
        fallbacks "fallbacks": Vec<Fallback>;
        /// Whether the turn emits trace events.
        trace "trace": bool = false;
        /// Milliseconds since 1970 at the start, for trace events.
        started_at "startedAt": u64 = 0, whole 0..=1 << 53;
        /// The new owner and the tenant. How much is stored was said when the turn began.
        keep "keep": Keep | required = Keep::blank();
        /// What is stored of the turn, and what is to be done with it.
        resume "resume": Resume | required = Resume::blank();
    }
}

options! {
    /// What is stored of a turn, and what is to be done with it.
    pub struct Resume as "ResumeFrom" {
        /// The stored form. Default: the store does not know the turn.
        kept "kept": Option<StoredTurn>;
        /// The JSON texts of the groups of events that were stored after the state.
        events "events": Vec<String>;
        /// The batch behind which the turn paused. A turn that has gone on ends with
        /// `turn.conflict`. Default: any.
        tool_batch_id "toolBatchId": Option<u64>;
        /// Decisions on calls that wait. Those that are not named go on waiting.
        approvals "approvals": Vec<Approval>;
        /// Results of the turn that are to be replaced or dropped.
        results "results": Vec<Revision>;
        /// Cancels the turn, for this reason, instead of resuming it.
        cancel "cancel": Option<String>;
    }
}

options! {
    /// The user's decision on a call that waits. It applies only to the arguments of this signature.
    pub struct Approval as "CallApproval" {
        /// The signature of the call, from the event `approval_required`.
        signature "signature": String | required;
        /// Whether the call may run.
        approved "approved": bool | required;
        /// Why the call is denied: the notice gives it to the model, cut to 500 bytes.
        reason "reason": Option<String>;
    }
}

options! {
    /// What takes the place of a result of the turn. Only a result that a tool of this turn gave can
    /// be revised. Where calls have the same id, those that `result.messages` shows tell them apart;
    /// an id that is not there is that of the last such call.
    pub struct Revision as "RevisedResult" {
        /// The id of the call, from `result.messages` or the event `tool_results`.
        tool_call_id "toolCallId": String | required;
        /// The new result, cut to `policy.maxToolResultBytes`.
        result "result": Json<'static> = Json::Null;
        /// Removes the result: the model is told that there was one.
        drop "drop": bool = false;
    }
}

impl Eq for Revision {}

impl Revision {
    /// Replaces a result.
    #[must_use]
    pub fn replaced(tool_call_id: impl Into<String>, result: Json<'static>) -> Self {
        Self { tool_call_id: tool_call_id.into(), result, drop: false }
    }

    /// Removes a result.
    #[must_use]
    pub fn dropped(tool_call_id: impl Into<String>) -> Self {
        Self { tool_call_id: tool_call_id.into(), result: Json::Null, drop: true }
    }
}

impl Eq for Approval {}

impl Approval {
    /// Makes a decision.
    #[must_use]
    pub fn new(signature: impl Into<String>, approved: bool) -> Self {
        Self { signature: signature.into(), approved, reason: None }
    }
}

impl RestoreOptions {
    /// Returns the defaults for a stored turn. `keep` names the new owner and the tenant; `secret` is
    /// randomness of the host, at least 32 characters. A turn that the store does not know ends with
    /// `turn.not_found` when it is started.
    #[must_use]
    pub fn new(
        request_id: impl Into<Arc<str>>,
        secret: impl Into<Secret>,
        keep: Keep,
        kept: Option<StoredTurn>,
    ) -> Self {
        let options = Self::blank().request_id(request_id.into()).secret(secret.into());
        options.keep(keep).resume(Resume::blank().kept(kept))
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    /// `resume.kept` is the input of [`StoredTurn::read`]; what it cannot read counts as a turn that the
    /// store does not know.
    ///
    /// # Errors
    /// Those of [`TurnOptions::parse`](super::TurnOptions::parse).
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let mut options = Self::blank();
        let json = Json::parse_host(text, limits::KEPT_BYTES)?.into_owned();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Returns the options of the turn: those of the new owner, and those that the turn began with,
    /// if the record of them is readable. The resumed turn may use another model.
    pub(super) fn turn(&mut self) -> Result<(TurnOptions, bool), Error> {
        let mut turn = TurnOptions::blank();
        let mut keep = std::mem::take(&mut self.keep);
        let stored_members = self.resume.kept.as_ref().and_then(stored_options);
        let is_stored = stored_members.is_some();
        if let Some(mut members) = stored_members {
            members.retain(|(name, _)| name != "v");
            if let Some(at) = members.iter().position(|(name, _)| name == "keep") {
                keep.read(members.swap_remove(at).1, &At::top("keep"))?;
            }
            read(&mut turn, Json::Object(members), &At::ROOT)?;
        }
        let was_stored = turn.is_kept();
        turn.dialect = self.dialect.unwrap_or(turn.dialect);
        if was_stored && !turn.is_kept() {
            // The new provider has nothing of the conversation.
            turn.strategy = Strategy::Reconstruct;
        }
        turn.model = self.model.take();
        turn.body = std::mem::take(&mut self.body);
        turn.tools = std::mem::take(&mut self.tools);
        turn.request_id = Arc::clone(&self.request_id);
        turn.secret = self.secret.clone();
        turn.box_secret = self.box_secret.clone();
        turn.max_retries = self.max_retries;
        turn.think_tags = self.think_tags;
        turn.text_tool_calls = self.text_tool_calls;
        turn.history = self.history;
        turn.repair_on_error = self.repair_on_error;
        turn.fallbacks = std::mem::take(&mut self.fallbacks);
        turn.trace = self.trace;
        turn.started_at = self.started_at;
        turn.keep = Some(keep);
        Ok((turn, is_stored))
    }
}

/// Returns the options that the host set when the turn began, if this version wrote them.
fn stored_options(
    kept: &StoredTurn,
) -> Option<Vec<(std::borrow::Cow<'static, str>, Json<'static>)>> {
    let text = kept.record("turn")?;
    match Json::parse_host(text.as_bytes(), text.len()).ok()?.into_owned() {
        Json::Object(members) => {
            let written = members.iter().find(|(name, _)| name == "v")?.1.as_u64();
            (written == Some(FORMAT)).then_some(members)
        }
        _ => None,
    }
}
