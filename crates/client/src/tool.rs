//! Tools: what they take, how that is checked, how they run.

use std::cell::OnceCell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use js_sys::Function;
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::{AbortController, AbortSignal};

use super::error::Error;
use super::guard::{Guarded, guarded};
use super::js_tool::call_js;
use super::json::to_json;
use super::schema::Validator;
use turnlock::json::Json;
use turnlock::tool::{Dedupe, ToolSpec};
use turnlock::turn::{Settled, Verdict};

type Check = Rc<dyn Fn(&Json<'static>) -> Result<(), String>>;
type Action = Rc<dyn Fn(&Json<'static>) -> Option<String>>;
type Approval = Rc<dyn Fn(&Json<'static>) -> bool>;
pub(super) type Run = Rc<dyn Fn(Json<'static>, ToolContext) -> LocalBoxFuture<'static, Settled>>;

/// A tool: an async Rust closure, or a JavaScript function.
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
    dedupe: Option<Dedupe>,
    /// What is wrong with the schema; told when the tool is used.
    wrong: Option<Error>,
    checks: Vec<Check>,
    action: Option<Action>,
    approval: Option<Approval>,
    run: Run,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What a tool is told beside its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The turn.
    pub request_id: Rc<str>,
    /// The batch of the call.
    pub tool_batch_id: u32,
    /// The provider's id of the call.
    pub tool_call_id: String,
    /// The same whenever this call is started again; send it along to whoever performs the effect.
    pub idempotency_key: String,
    /// The project of the turn.
    pub project_id: Option<Rc<str>>,
    pub(super) abort: Abort,
    pub(super) report: Rc<dyn Fn(String)>,
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

    /// Aborted when the result is no longer wanted: a time-out, a cancelled turn. A Rust tool's
    /// future is dropped then anyway; this is for what it has begun in JavaScript.
    ///
    /// `None` in a runtime without `AbortController`.
    #[must_use]
    pub fn signal(&self) -> Option<AbortSignal> {
        self.abort.signal()
    }
}

/// Made when somebody asks for it: most tools do not.
#[derive(Clone, Default)]
pub(super) struct Abort(Rc<OnceCell<Option<AbortController>>>);

impl Abort {
    pub(super) fn signal(&self) -> Option<AbortSignal> {
        self.0.get_or_init(|| AbortController::new().ok()).as_ref().map(AbortController::signal)
    }

    pub(super) fn abort(&self) {
        if let Some(Some(controller)) = self.0.get() {
            controller.abort();
        }
    }

    /// As `abort`, with an `AbortError` that says why.
    pub(super) fn abort_because(&self, why: &str) {
        if let Some(Some(controller)) = self.0.get() {
            let error = js_sys::Error::new(why);
            error.set_name("AbortError");
            controller.abort_with_reason(&error);
        }
    }
}

impl Tool {
    /// A tool from an async closure. `schema` is the JSON Schema of the arguments that the model is
    /// shown; with the feature `jsonschema` they are checked against it. Arguments that `A` cannot
    /// be read from are refused as `invalid_arguments`, and the model is told why.
    ///
    /// What the closure fails with, in its own words, and a panic, are the result of the call
    /// (`tool.threw`): they never end the turn. Its future is dropped when the turn is cancelled
    /// or the call times out.
    pub fn new<A, R, E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Serialize,
        run: F,
    ) -> Self
    where
        A: DeserializeOwned + 'static,
        R: Serialize + 'static,
        E: fmt::Display + 'static,
        F: Fn(A, ToolContext) -> Fut + 'static,
        Fut: Future<Output = Result<R, E>> + 'static,
    {
        let run = Rc::new(run);
        let run: Run = Rc::new(move |args: Json<'static>, context| {
            let run = run.clone();
            Box::pin(async move {
                let args: A = match args.to() {
                    Ok(args) => args,
                    Err(error) => return failed("tool.invalid_arguments", &error.to_string()),
                };
                let started = Guarded::new(move || run(args, context));
                let ended = match started {
                    Ok(future) => future.await,
                    Err(panicked) => Err(panicked),
                };
                match ended {
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
        Self::of(name.into(), description.into(), &schema, run).takes::<A>()
    }

    /// A tool from a JavaScript function `(args, context) => value`, or a promise of one: what the
    /// npm package's `execute` gets and may return. Arguments are values of `JSON.parse`.
    ///
    /// Without the feature `jsonschema` its arguments are checked by [`Tool::check`] alone.
    pub fn js(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Serialize,
        function: Function,
    ) -> Self {
        let function = Rc::new(function);
        let run: Run = Rc::new(move |args: Json<'static>, context| {
            let function = function.clone();
            Box::pin(async move { call_js(&function, &args, &context).await })
        });
        Self::of(name.into(), description.into(), &schema, run)
    }

    pub(super) fn of(name: String, description: String, schema: &impl Serialize, run: Run) -> Self {
        let mut spec = ToolSpec::new(name);
        spec.description = description;
        spec.checks = true;
        let (dedupe, wrong, checks) = (None, None, Vec::new());
        let mut tool = Self { spec, dedupe, wrong, checks, action: None, approval: None, run };
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

    /// It has no effect on the world. A repeated call gets the outcome of the first one.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.spec.read_only = true;
        self
    }

    /// It may run twice with the same idempotency key.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.spec.idempotent = true;
        self
    }

    /// What to do with a repeated call. Default [`Dedupe::Block`]; [`Dedupe::Replay`] for read-only
    /// tools.
    #[must_use]
    pub fn dedupe(mut self, dedupe: Dedupe) -> Self {
        self.dedupe = Some(dedupe);
        self
    }

    /// Milliseconds for one call. Default `policy.tool_timeout_ms`.
    #[must_use]
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.spec.timeout_ms = Some(ms);
        self
    }

    /// Bytes of the result as JSON. Default `policy.max_tool_result_bytes`.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.spec.max_result_bytes = Some(bytes);
        self
    }

    /// Read-only tools, with a store: milliseconds for which another turn of the tenant may use an
    /// outcome of the same signature instead of executing. Default never.
    #[must_use]
    pub fn reuse_ms(mut self, ms: u64) -> Self {
        self.spec.reuse_ms = Some(ms);
        self
    }

    /// Part of the signature, for tools with several actions.
    #[must_use]
    pub fn action<A: DeserializeOwned>(mut self, action: impl Fn(A) -> String + 'static) -> Self {
        self.action = Some(Rc::new(move |args| args.to::<A>().ok().map(&action)));
        self
    }

    /// A further check of the arguments; what it says is told to the model.
    #[must_use]
    pub fn check<A: DeserializeOwned>(
        mut self,
        check: impl Fn(A) -> Result<(), String> + 'static,
    ) -> Self {
        self.checks
            .push(Rc::new(move |args| check(args.to::<A>().map_err(|error| error.to_string())?)));
        self
    }

    /// The user must approve a call before it runs: the turn pauses, and
    /// [`resume_turn`](super::resume_turn) goes on. Needs a store.
    #[must_use]
    pub fn needs_approval(self) -> Self {
        self.needs_approval_if(|_: serde::de::IgnoredAny| true)
    }

    /// As [`Tool::needs_approval`], for some arguments. What cannot be read as `A` needs one.
    #[must_use]
    pub fn needs_approval_if<A: DeserializeOwned>(
        mut self,
        asks: impl Fn(A) -> bool + 'static,
    ) -> Self {
        self.approval = Some(Rc::new(move |args| args.to::<A>().map_or(true, &asks)));
        self
    }

    /// Arguments that `A` cannot be read from are refused.
    pub(super) fn takes<A: DeserializeOwned>(mut self) -> Self {
        self.checks
            .push(Rc::new(|args| args.to::<A>().map(drop).map_err(|error| error.to_string())));
        self
    }

    /// It was misused, which is told when it is used.
    pub(super) fn misused(mut self, wrong: Error) -> Self {
        self.wrong.get_or_insert(wrong);
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn may_need_approval(&self) -> bool {
        self.approval.is_some()
    }

    /// The tool as the core takes it.
    pub(super) fn wire(&self) -> Result<Json<'static>, Error> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        Ok(self.spec().to_json())
    }

    pub(super) fn spec(&self) -> ToolSpec {
        let mut spec = self.spec.clone();
        spec.dedupe = self.dedupe;
        spec
    }

    /// Checks arguments; what panics refuses them.
    pub(super) fn verdict(&self, args: &Json<'static>) -> Verdict {
        let verdict = guarded(|| {
            self.checks.iter().try_for_each(|check| check(args))?;
            Ok(Verdict::Valid {
                action: self.action.as_ref().and_then(|action| action(args)),
                approval: self.approval.as_ref().is_some_and(|asks| asks(args)),
            })
        });
        match verdict.unwrap_or_else(Err) {
            Ok(verdict) => verdict,
            Err(errors) => Verdict::Invalid { errors },
        }
    }

    pub(super) fn run(
        &self,
        args: Json<'static>,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Settled> {
        (self.run)(args, context)
    }
}

/// Says at most five things, as the npm package does.
fn check_of(validator: Validator) -> Check {
    Rc::new(move |args| {
        let errors = validator.errors(args, 5);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    })
}

pub(super) fn failed(code: &str, message: &str) -> Settled {
    Settled::Error { code: code.to_owned(), message: message.to_owned() }
}

/// The value of a Rust tool as JSON text.
fn returned(value: &impl Serialize) -> Settled {
    match guarded(|| serde_json::to_string(value).map_err(|error| error.to_string())) {
        Ok(Ok(text)) => text_of(text),
        Ok(Err(why)) | Err(why) => unserializable(&why),
    }
}

pub(super) fn text_of(text: String) -> Settled {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    Settled::Ok { text, bytes }
}

pub(super) fn unserializable(why: &str) -> Settled {
    failed("tool.unserializable", &format!("the tool's result cannot be sent: {why}"))
}
