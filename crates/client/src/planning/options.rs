//! What a host says about a pass before it starts.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::redact::Redact;
use crate::clock;
use crate::error::Error;
use crate::json::to_json;
use crate::launch::registry;
use crate::model::Model;
use crate::platform::{Dyn, MaybeSend, MaybeSync};
use crate::schema::Validator;
use crate::tool::Tool;
use turnlock::json::Json;
use turnlock::planning::{self, Pass, Policy, Recorded, Template};

/// Gets what came of a call.
pub(super) type OnRecord = Arc<Dyn![Fn(Recorded)]>;

/// What [`run_planning`](super::run_planning) takes.
#[derive(Clone)]
pub struct PassOptions {
    model: Model,
    /// With an input that is not set yet.
    pass: planning::PassOptions,
    input: Result<Json<'static>, Error>,
    tools: Vec<Tool>,
    on_record: Option<OnRecord>,
    in_result: bool,
    started: bool,
    redact: Option<Redact>,
    plan_schema: Option<Result<Json<'static>, Error>>,
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
        let pass = planning::PassOptions::new(model.dialect, Json::Null);
        Self {
            pass: pass.max_retries(u64::from(model.max_retries)).trace(true),
            model,
            input: to_json(&input),
            tools: Vec::new(),
            on_record: None,
            in_result: false,
            started: false,
            redact: None,
            plan_schema: None,
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
        self.pass.policy = policy;
        self
    }

    /// Names the plan in every event and record. Default random; of the input when recording or
    /// replaying. A replay uses the records of its own plan only, so passes with equal inputs each
    /// need one when they are recorded.
    #[must_use]
    pub fn plan_id(mut self, id: impl Into<String>) -> Self {
        self.pass.plan_id = id.into();
        self
    }

    /// Names the run that the plan belongs to. Default random; of the input when recording or
    /// replaying.
    #[must_use]
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.pass.run_id = id.into();
        self
    }

    /// What asked for the plan, such as `live`, `paper` or `backtest`. Default none: events then have
    /// no source.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.pass.source = Some(source.into());
        self
    }

    /// In place of the shipped prompt of the request pass: a text, or a [`Template`] with a name.
    /// See [`lint_prompt`](turnlock::planning::lint_prompt).
    #[must_use]
    pub fn request_prompt(mut self, prompt: impl Into<Template>) -> Self {
        self.pass.request_prompt = prompt.into();
        self
    }

    /// In place of the shipped prompt of the plan pass, for example a strategy. The request pass is
    /// shown it too, behind its own prompt and the tools.
    #[must_use]
    pub fn plan_prompt(mut self, prompt: impl Into<Template>) -> Self {
        self.pass.plan_prompt = prompt.into();
        self
    }

    /// JSON Schema of the plan. The only object in prose is then the plan; other prose is none, and
    /// with the feature `jsonschema` neither is JSON that does not match: the pass fails with
    /// `plan.invalid`.
    #[must_use]
    pub fn plan_schema(mut self, schema: impl Serialize) -> Self {
        self.plan_schema = Some(to_json(&schema));
        self
    }

    /// Gets every result when the pass ends, also when it fails, for a later
    /// [`replay`](Self::replay). Not redacted. Its panic is ignored.
    #[must_use]
    pub fn record(mut self, record: impl Fn(Recorded) + MaybeSend + MaybeSync + 'static) -> Self {
        self.on_record = Some(Arc::new(record));
        self
    }

    /// As [`record`](Self::record), into [`PassResult::recorded`](planning::PassResult::recorded).
    #[must_use]
    pub fn record_in_result(mut self) -> Self {
        self.in_result = true;
        self
    }

    /// Recorded results, by plan and signature. No tool runs: a call gets the error `replay.miss` if
    /// the plan has no record of it, or several with different results. The same input gives the same
    /// requests, result and events, byte for byte.
    #[must_use]
    pub fn replay(mut self, recorded: impl IntoIterator<Item = Recorded>) -> Self {
        self.pass.replay = Some(recorded.into_iter().collect());
        self
    }

    /// Ends the pass with `replay.miss` if a call has no recorded result or several, so that no plan is
    /// made.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.pass.strict = strict;
        self
    }

    /// A secret of at least 32 characters from which the nonces of boxes derive, so that a replay with
    /// the same ids sends the bytes of the recorded pass. Default: randomness of each pass.
    #[must_use]
    pub fn box_secret(mut self, secret: impl Into<turnlock::Secret>) -> Self {
        self.pass.box_secret = Some(secret.into());
        self
    }

    /// Milliseconds since 1970 that the start counts as in events. Default now; 0 when replaying.
    #[must_use]
    pub fn started_at(mut self, ms: u64) -> Self {
        self.pass.started_at = ms;
        self.started = true;
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
        let mut pass = self.pass;
        if pass.replay.is_none() {
            // Missing ids of a recorded pass are made from its input, as those of its replay.
            for id in [&mut pass.plan_id, &mut pass.run_id] {
                if id.is_empty() && !recording {
                    *id = clock::random_id();
                }
            }
            pass.secret = clock::random_hex(32).into();
            if !self.started {
                pass.started_at = clock::whole_ms(clock::unix_ms());
            }
        } else if recording {
            return Err(Error::option("record", "none when replaying"));
        }
        let input = self.input?;
        let wrong = |why| Error::new("options.invalid", format!("`planSchema`: {why}"));
        let compiled = |schema| Validator::of(&schema?).map_err(wrong);
        let plan_schema = self.plan_schema.map(compiled).transpose()?;
        pass.plan_is_json = plan_schema.is_some();
        let (name, body) = self.model.parameters();
        let most_reason = pass.policy.max_reason_chars;
        pass.whole = self.redact.is_some();
        let pass = pass.model(name).body(body).tools(registry(&self.tools)?).input(input.clone());
        let machine = Pass::new(pass)?;
        Ok(Begun {
            run_id: machine.run_id().to_owned(),
            machine,
            input,
            model: self.model,
            tools: self.tools,
            on_record: self.on_record,
            in_result: self.in_result,
            redact: self.redact,
            most_reason,
            plan_schema,
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
    /// The maximum number of UTF-16 units of a reason.
    pub(super) most_reason: u64,
    /// With it, the plan is JSON. `None` inside: JSON of any form.
    pub(super) plan_schema: Option<Option<Validator>>,
}
