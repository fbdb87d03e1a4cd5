//! What a host says about a pass before it starts.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::event::Redact;
use super::result::RecordedCall;
use crate::clock;
use crate::error::Error;
use crate::json::to_json;
use crate::launch::of_model;
use crate::model::Model;
use crate::platform::{Dyn, MaybeSend, MaybeSync};
use crate::tool::Tool;
use turnlock::json::Json;
use turnlock::request::{Pass, Policy, Template};

/// Gets what came of a call.
pub(super) type OnRecord = Arc<Dyn![Fn(RecordedCall)]>;

/// What [`run_with_tool_requests`](super::run_with_tool_requests) takes.
#[derive(Clone)]
pub struct PassOptions {
    model: Model,
    input: Result<Json<'static>, Error>,
    tools: Vec<Tool>,
    policy: Policy,
    plan_id: Option<String>,
    run_id: Option<String>,
    source: Option<String>,
    request_prompt: Option<Template>,
    plan_prompt: Option<Template>,
    on_record: Option<OnRecord>,
    in_result: bool,
    replay: Option<Vec<RecordedCall>>,
    started_at: Option<u64>,
    redact: Option<Redact>,
}

impl fmt::Debug for PassOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

impl PassOptions {
    /// A plan of a model over an input, a JSON object. What the tools bring goes to its
    /// `global_context.tool_results`; anything that stands there already is not sent.
    pub fn new(model: Model, input: impl Serialize) -> Self {
        Self {
            model,
            input: to_json(&input),
            tools: Vec::new(),
            policy: Policy::default(),
            plan_id: None,
            run_id: None,
            source: None,
            request_prompt: None,
            plan_prompt: None,
            on_record: None,
            in_result: false,
            replay: None,
            started_at: None,
            redact: None,
        }
    }

    /// A tool. It runs only if it is [`read_only`](Tool::read_only).
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Tools. Only those that are [`read_only`](Tool::read_only) ever run.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Limits.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Names the plan in every event. Default random; of the input when replaying.
    #[must_use]
    pub fn plan_id(mut self, id: impl Into<String>) -> Self {
        self.plan_id = Some(id.into());
        self
    }

    /// Names the run that the plan belongs to. Default random; of the input when replaying.
    #[must_use]
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// What asked for the plan. Default `live`; `paper` when recording, `backtest` when replaying.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// In place of the shipped prompt of the request pass: a text, or a [`Template`] with a name.
    /// See [`lint_prompt`](turnlock::request::lint_prompt).
    #[must_use]
    pub fn request_prompt(mut self, prompt: impl Into<Template>) -> Self {
        self.request_prompt = Some(prompt.into());
        self
    }

    /// In place of the shipped prompt of the plan pass.
    #[must_use]
    pub fn plan_prompt(mut self, prompt: impl Into<Template>) -> Self {
        self.plan_prompt = Some(prompt.into());
        self
    }

    /// Gets every result when the pass ends, also when it fails, for a later
    /// [`replay`](Self::replay). Not redacted. Its panic is ignored.
    #[must_use]
    pub fn record(
        mut self,
        record: impl Fn(RecordedCall) + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.on_record = Some(Arc::new(record));
        self
    }

    /// As [`record`](Self::record), into [`PassResult::recorded`](super::PassResult::recorded).
    #[must_use]
    pub fn record_in_result(mut self) -> Self {
        self.in_result = true;
        self
    }

    /// Recorded results, by signature. No tool runs: a call without a record gets the error
    /// `replay.miss`. The same input gives the same requests, result and events, byte for byte.
    #[must_use]
    pub fn replay(mut self, recorded: impl IntoIterator<Item = RecordedCall>) -> Self {
        self.replay = Some(recorded.into_iter().collect());
        self
    }

    /// Milliseconds since 1970 that the start counts as in events. Default now; 0 when replaying.
    #[must_use]
    pub fn started_at(mut self, ms: u64) -> Self {
        self.started_at = Some(ms);
        self
    }

    /// Takes out of the texts of events what must not be kept: arguments, reasons, details and
    /// summaries. Where it panics, the text is dropped.
    #[must_use]
    pub fn redact(
        mut self,
        redact: impl Fn(&str) -> String + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// The machine, and what the driver needs beside it.
    pub(super) fn begin(self) -> Result<Begun, Error> {
        self.model.checked()?;
        let recording = self.on_record.is_some() || self.in_result;
        let replaying = self.replay.is_some();
        if recording && replaying {
            return Err(Error::option("record", "none when replaying"));
        }
        let input = self.input?;
        let tools: Result<Vec<_>, _> = self.tools.iter().map(Tool::wire).collect();
        // When replaying, what is left out is made from the input.
        let random = |make: fn() -> String| (!replaying).then(make);
        let run_id = self.run_id.or_else(|| random(clock::random_id));
        let source = self.source.or_else(|| recording.then(|| "paper".to_owned()));
        let now = || if replaying { 0 } else { clock::whole(clock::unix_ms()) };
        let text = |text: Option<String>| text.map_or(Json::Null, Json::from);
        let prompt = |prompt: Option<Template>| prompt.map_or(Json::Null, |one| one.to_json());
        let mut members = vec![
            ("input", input.clone()),
            ("tools", Json::Array(tools?)),
            ("policy", self.policy.to_json()),
            ("planId", text(self.plan_id.or_else(|| random(clock::random_id)))),
            ("runId", text(run_id.clone())),
            ("secret", text(random(|| clock::random_hex(32)))),
            ("source", text(source)),
            ("requestPrompt", prompt(self.request_prompt)),
            ("planPrompt", prompt(self.plan_prompt)),
            ("replay", self.replay.map_or(Ok(Json::Null), |all| to_json(&all))?),
            ("startedAt", Json::integer(self.started_at.unwrap_or_else(now))),
            ("trace", true.into()),
        ];
        members.extend(of_model(&self.model));
        let members = members.into_iter().map(|(key, value)| (key.into(), value)).collect();
        Ok(Begun {
            machine: Pass::new(turnlock::request::PassOptions::from_json(Json::Object(members))?)?,
            input,
            model: self.model,
            tools: self.tools,
            run_id: run_id.unwrap_or_default(),
            on_record: self.on_record,
            in_result: self.in_result,
            redact: self.redact,
        })
    }
}

/// A pass that is about to run.
pub(super) struct Begun {
    pub(super) machine: Pass,
    pub(super) input: Json<'static>,
    pub(super) model: Model,
    pub(super) tools: Vec<Tool>,
    pub(super) run_id: String,
    pub(super) on_record: Option<OnRecord>,
    pub(super) in_result: bool,
    pub(super) redact: Option<Redact>,
}
