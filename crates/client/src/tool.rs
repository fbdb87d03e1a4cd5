//! Tools: what they take, how that is checked, how they run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::guard::{called, guarded};
use crate::json::to_json;
use crate::platform::{BoxFuture, Dyn, MaybeSend, MaybeSync, Signal};
use crate::schema::Validator;
use turnlock::guard::Dedupe;
use turnlock::json::Json;
use turnlock::stream::Usage;
use turnlock::tool::ToolSpec;
use turnlock::turn::{CallView, Settled, Verdict};

type Check = Arc<Dyn![Fn(&Json<'static>) -> Result<(), String>]>;
type Action = Arc<Dyn![Fn(&Json<'static>) -> Option<String>]>;
type Approval = Arc<Dyn![Fn(&Json<'static>) -> ApprovalDecision]>;
type Reconcile = Arc<Dyn![Fn(CallView, String) -> BoxFuture<'static, Settled>]>;
pub(crate) type Run = Arc<Dyn![Fn(Json<'static>, ToolContext) -> BoxFuture<'static, Settled>]>;

/// Whether a call may run, decided before the user is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// It runs.
    Allow,
    /// The user must approve it.
    Ask,
    /// It does not run. The model reads the reason, cut to 500 bytes, if it is not empty.
    Deny(String),
}

/// A tool: an async closure; on the web also a JavaScript function (`Tool::js`).
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
/// use turnlock_client::Tool;
///
/// #[derive(Deserialize)]
/// struct City { name: String }
/// #[derive(Serialize)]
/// struct Weather { celsius: f64 }
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "name": { "type": "string" } },
///     "required": ["name"],
/// });
/// let weather = Tool::new("weather", "The weather of a city", schema, |city: City, _| async move {
///     if city.name.is_empty() { Err("no such city") } else { Ok(Weather { celsius: 21.5 }) }
/// })
/// .read_only();
/// ```
#[derive(Clone)]
pub struct Tool {
    spec: ToolSpec,
    /// What is wrong with the schema; told when the tool is used.
    wrong: Option<Error>,
    checks: Vec<Check>,
    action: Option<Action>,
    approval: Option<Approval>,
    reconcile: Option<Reconcile>,
    run: Run,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What became of a call that may have run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled<R> {
    /// It ran, and returned this.
    Returned(R),
    /// It failed, for this reason.
    Failed(String),
    /// Nobody knows.
    Unknown,
}

/// What a tool is told beside its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The turn.
    pub request_id: Arc<str>,
    /// The batch of the call.
    pub tool_batch_id: u32,
    /// The provider's id of the call.
    pub tool_call_id: String,
    /// The same whenever this call is started again; send it along to whoever performs the effect.
    pub idempotency_key: String,
    /// The project of the turn.
    pub project_id: Option<Arc<str>>,
    /// The conversation of the turn.
    pub conversation_id: Option<Arc<str>>,
    pub(crate) signal: Signal,
    pub(crate) report: Arc<Dyn![Fn(String)]>,
    pub(crate) spend: Arc<Dyn![Fn(Usage)]>,
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("tool_call_id", &self.tool_call_id)
            .finish_non_exhaustive()
    }
}

impl ToolContext {
    /// Shows how far it is: a `tool_progress` event of the turn with this data. What has no JSON,
    /// or more than 64 KiB of it, is not shown.
    pub fn report(&self, data: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(data) {
            (self.report)(text);
        }
    }

    /// Adds tokens that the tool has used to the turn's `total_usage`, for example those of models
    /// that it has called. Reports add up; what is reported after the call has ended is ignored.
    pub fn report_usage(&self, usage: Usage) {
        (self.spend)(usage);
    }
}

/// Declares methods that set a member of the core's declaration.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $type:ty)?) => $set:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self $(, $value: $type)?) -> Self {
            self.spec.$name = $set;
            self
        }
    )*};
}

impl Tool {
    /// A tool from an async closure. `schema` is the JSON Schema of the arguments that the model is
    /// shown; with the feature `jsonschema` they are checked against it. Arguments that `A` cannot
    /// be read from are refused as `invalid_arguments`, and the model is told why.
    ///
    /// What the closure fails with, in its own words, and a panic, are the result of the call
    /// (`tool.threw`): they never end the turn. Its future is dropped when the turn is cancelled
    /// or the call times out.
    ///
    /// A value of the form `{ "content": [{ "type": "text", "text" } | { "type": "image" | "file",
    /// "mediaType", "data" | "url", "name"? }] }` gives the model images and files; `data` is base64.
    pub fn new<A, R, E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Serialize,
        run: F,
    ) -> Self
    where
        A: DeserializeOwned + MaybeSend + 'static,
        R: Serialize + 'static,
        E: fmt::Display + 'static,
        F: Fn(A, ToolContext) -> Fut + MaybeSend + MaybeSync + 'static,
        Fut: Future<Output = Result<R, E>> + MaybeSend + 'static,
    {
        let run = Arc::new(run);
        let run: Run = Arc::new(move |args: Json<'static>, context| {
            let run = run.clone();
            Box::pin(async move {
                let args: A = match args.to() {
                    Ok(args) => args,
                    Err(error) => return failed("tool.invalid_arguments", &error.to_string()),
                };
                match called(move || run(args, context)).await {
                    Ok(Ok(value)) => returned(&value),
                    Ok(Err(error)) => {
                        let words = guarded(|| error.to_string());
                        failed("tool.threw", &words.unwrap_or_else(|panicked| panicked))
                    }
                    Err(panicked) => failed("tool.threw", &panicked),
                }
            })
        });
        // The schema's words are better than serde's: they come first.
        Self::of(name.into(), description.into(), &schema, run).takes(readable::<A>)
    }

    pub(crate) fn of(name: String, description: String, schema: &impl Serialize, run: Run) -> Self {
        let mut spec = ToolSpec::new(name);
        spec.description = description;
        spec.checks = true;
        let (wrong, checks) = (None, Vec::new());
        let (action, approval, reconcile) = (None, None, None);
        let mut tool = Self { spec, wrong, checks, action, approval, reconcile, run };
        match to_json(schema) {
            Ok(schema) => {
                match Validator::of(&schema) {
                    Ok(validator) => tool.checks.extend(validator.map(check_of)),
                    Err(why) => {
                        let why = format!("`{}`: {why}", tool.spec.name);
                        tool.wrong = Some(Error::new("tool.invalid_schema", why));
                    }
                }
                tool.spec.input_schema = schema;
            }
            Err(error) => tool.wrong = Some(error),
        }
        tool
    }

    settings! {
        /// It has no effect on the world. A repeated call gets the outcome of the first one.
        read_only() => true;
        /// Its results have text of other people. The provider loads no address that they have.
        untrusted() => true;
        /// It may run twice with the same idempotency key.
        idempotent() => true;
        /// What to do with a repeated call. Default [`Dedupe::Block`]; [`Dedupe::Replay`] for
        /// read-only tools.
        dedupe(dedupe: Dedupe) => Some(dedupe);
        /// Milliseconds for one call. Default `policy.tool_timeout_ms`.
        timeout_ms(ms: u64) => Some(ms);
        /// Bytes of the result as JSON. Default `policy.max_tool_result_bytes`.
        max_result_bytes(bytes: u64) => Some(bytes);
        /// Maximum calls that are executed in one turn. Default: the budgets of the phases.
        max_calls(calls: u32) => Some(calls);
        /// Read-only tools, with a store: milliseconds for which another turn of the tenant may use
        /// an outcome of the same signature instead of executing. Default never.
        reuse_ms(ms: u64) => Some(ms);
    }

    /// Part of the signature, for tools with several actions.
    #[must_use]
    pub fn action<A: DeserializeOwned>(
        mut self,
        action: impl Fn(A) -> String + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.action = Some(Arc::new(move |args| args.to::<A>().ok().map(&action)));
        self
    }

    /// A further check of the arguments; what it says is told to the model.
    #[must_use]
    pub fn check<A: DeserializeOwned>(
        mut self,
        check: impl Fn(A) -> Result<(), String> + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.checks
            .push(Arc::new(move |args| check(args.to::<A>().map_err(|error| error.to_string())?)));
        self
    }

    /// The user must approve a call before it runs: the turn pauses, and
    /// [`resume_turn`](super::resume_turn) goes on. Needs a store.
    #[must_use]
    pub fn needs_approval(self) -> Self {
        self.needs_approval_if(|_: serde::de::IgnoredAny| true)
    }

    /// Somebody else runs it, such as a page: the turn pauses with its calls (`calls` of `paused`).
    /// Whoever resumes approves those that were answered, with a tool here whose function returns
    /// their outcomes. Needs a store.
    #[must_use]
    pub fn page(mut self) -> Self {
        self.spec = self.spec.page(true).idempotent(true);
        self.needs_approval()
    }

    /// As [`Tool::needs_approval`], for some arguments. What cannot be read as `A` needs one.
    #[must_use]
    pub fn needs_approval_if<A: DeserializeOwned>(
        self,
        asks: impl Fn(A) -> bool + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.decide_approval(move |args| {
            if asks(args) { ApprovalDecision::Ask } else { ApprovalDecision::Allow }
        })
    }

    /// Decides whether a call runs, waits for the user, or is denied. It is called once for each call;
    /// a resume does not call it again. The user must approve arguments that cannot be read as `A`. If
    /// it panics, the call is refused. Needs a store.
    #[must_use]
    pub fn decide_approval<A: DeserializeOwned>(
        mut self,
        decide: impl Fn(A) -> ApprovalDecision + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        let decided = move |args: &Json<'static>| match args.to::<A>() {
            Ok(args) => decide(args),
            Err(_) => ApprovalDecision::Ask,
        };
        self.approval = Some(Arc::new(decided));
        self
    }

    /// Finds out what became of a call that may have run, whose owner is gone, and that may not run
    /// again. It gets the call and the idempotency key with which it was started; what it answers
    /// becomes the recorded outcome. If it fails, panics or takes longer than the tool may, the
    /// outcome is `unknown`.
    #[must_use]
    pub fn reconcile<R, E, F, Fut>(mut self, reconcile: F) -> Self
    where
        R: Serialize + 'static,
        E: fmt::Display + 'static,
        F: Fn(CallView, String) -> Fut + MaybeSend + MaybeSync + 'static,
        Fut: Future<Output = Result<Reconciled<R>, E>> + MaybeSend + 'static,
    {
        let reconcile = Arc::new(reconcile);
        self.spec.reconciles = true;
        self.reconcile = Some(Arc::new(move |call, key| {
            let reconcile = reconcile.clone();
            Box::pin(async move {
                match called(move || reconcile(call, key)).await {
                    Ok(Ok(Reconciled::Returned(value))) => returned(&value),
                    Ok(Ok(Reconciled::Failed(message))) => failed("tool.threw", &message),
                    Ok(Ok(Reconciled::Unknown)) => Settled::Unknown { why: String::new() },
                    Ok(Err(error)) => {
                        let words = guarded(|| error.to_string());
                        Settled::Unknown { why: words.unwrap_or_else(|panicked| panicked) }
                    }
                    Err(why) => Settled::Unknown { why },
                }
            })
        }));
        self
    }

    /// Arguments for which `readable` fails are refused.
    pub(crate) fn takes(mut self, readable: fn(&Json<'static>) -> Result<(), String>) -> Self {
        self.checks.push(Arc::new(readable));
        self
    }

    /// It was misused, which is told when it is used.
    pub(crate) fn misused(mut self, wrong: Error) -> Self {
        self.wrong.get_or_insert(wrong);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(crate) fn may_need_approval(&self) -> bool {
        self.approval.is_some()
    }

    /// The tool as the core takes it, in JSON.
    pub(crate) fn wire(&self) -> Result<Json<'static>, Error> {
        Ok(self.declared()?.to_json())
    }

    /// The tool as the core takes it.
    pub(crate) fn declared(&self) -> Result<ToolSpec, Error> {
        match &self.wrong {
            Some(wrong) => Err(wrong.clone()),
            None => Ok(self.spec()),
        }
    }

    pub(crate) fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// Checks arguments; what panics refuses them.
    pub(crate) fn verdict(&self, args: &Json<'static>) -> Verdict {
        let verdict = guarded(|| {
            self.validate(args)?;
            let action = self.action.as_ref().and_then(|action| action(args));
            Ok(match self.approval.as_ref().map(|decide| decide(args)) {
                Some(ApprovalDecision::Deny(reason)) => {
                    Verdict::Denied { action, args: None, reason }
                }
                decision => {
                    let approval = decision == Some(ApprovalDecision::Ask);
                    Verdict::Valid { action, args: None, approval }
                }
            })
        });
        match verdict.unwrap_or_else(Err) {
            Ok(verdict) => verdict,
            Err(errors) => Verdict::Invalid { errors },
        }
    }

    /// Checks arguments whose approval is decided; what panics refuses them.
    pub(crate) fn accepts(&self, args: &Json<'static>) -> Result<(), String> {
        guarded(|| self.validate(args)).and_then(|accepted| accepted)
    }

    fn validate(&self, args: &Json<'static>) -> Result<(), String> {
        self.checks.iter().try_for_each(|check| check(args))
    }

    pub(crate) async fn reconciled(self, call: CallView, key: String) -> Settled {
        match &self.reconcile {
            Some(reconcile) => reconcile(call, key).await,
            None => Settled::Unknown { why: String::new() },
        }
    }

    pub(crate) fn run(
        &self,
        args: Json<'static>,
        context: ToolContext,
    ) -> BoxFuture<'static, Settled> {
        (self.run)(args, context)
    }
}

/// Whether a value can be read as `A`.
///
/// # Errors
/// The error of serde.
pub(crate) fn readable<A: DeserializeOwned>(args: &Json<'static>) -> Result<(), String> {
    args.to::<A>().map(drop).map_err(|error| error.to_string())
}

/// Says at most five things, as the npm package does.
fn check_of(validator: Validator) -> Check {
    Arc::new(move |args| {
        let errors = validator.errors(args, 5);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    })
}

pub(crate) fn failed(code: &str, message: &str) -> Settled {
    Settled::Error { code: code.to_owned(), message: message.to_owned() }
}

/// The value of a Rust tool as JSON text.
fn returned(value: &impl Serialize) -> Settled {
    match guarded(|| serde_json::to_string(value).map_err(|error| error.to_string())) {
        Ok(Ok(text)) => text_of(text),
        Ok(Err(why)) | Err(why) => unserializable(&why),
    }
}

pub(crate) fn text_of(text: String) -> Settled {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    Settled::Ok { text, bytes }
}

pub(crate) fn unserializable(why: &str) -> Settled {
    failed("tool.unserializable", &format!("the tool's result cannot be sent: {why}"))
}
