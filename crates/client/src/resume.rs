//! Turns that go on, or end, in another process, page, tab or isolate.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{Either, select};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::error::Error;
use crate::guard::called;
use crate::launch::{AnswerSchema, Launch, TurnHost, fallbacks, owned, registry};
use crate::model::Model;
use crate::platform::{MaybeSend, MaybeSync};
use crate::store::{Store, StoreError};
use crate::tool::Tool;
use crate::turn::RunningTurn;
use turnlock::store::{StoredTurn, turn_key};
use turnlock::turn::{
    Approval, Keep, RestoreOptions, Resume, Revision, TraceEvent, Turn, TurnStatus,
};

/// Milliseconds for which a store is waited for, to be read. Longer than any of ours waits itself.
///
/// Limit | reading a store | ms | `store.timeout`
const READ_MS: f64 = 20_000.0;

/// Groups of events that are read at once.
///
/// Limit | groups of events read at once | groups | read on
const MOST_GROUPS: u32 = 1024;

/// What [`resume_turn`] takes. Mode, policy and history are those that the turn began with.
#[derive(Clone)]
pub struct ResumeOptions {
    model: Model,
    tool_batch_id: Option<u32>,
    approvals: Vec<Approval>,
    results: Vec<Revision>,
    host: TurnHost,
}

impl std::fmt::Debug for ResumeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResumeOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

impl ResumeOptions {
    /// Goes on with the turn of this id, with a model.
    pub fn new(request_id: impl Into<String>, store: impl Store + 'static, model: Model) -> Self {
        let host = TurnHost {
            request_id: request_id.into(),
            store: Some(Arc::new(store)),
            ..TurnHost::default()
        };
        Self { model, tool_batch_id: None, approvals: Vec::new(), results: Vec::new(), host }
    }

    /// As [`TurnOptions::fallbacks`](crate::TurnOptions::fallbacks). A turn that went on with one of
    /// them goes on with the one in the same place; if all failed, it begins with its model again.
    #[must_use]
    pub fn fallbacks(mut self, models: impl IntoIterator<Item = Model>) -> Self {
        self.host.fallbacks.extend(models);
        self
    }

    /// The tools that the turn began with; what is missing cannot be called.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.host.tools.extend(tools);
        self
    }

    /// One of them.
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.tools([tool])
    }

    /// The schema of the answer, in a turn that began with one: it is validated here.
    #[must_use]
    pub fn answer_schema(mut self, schema: impl Serialize) -> Self {
        self.host.answer = Some(AnswerSchema::new(&schema));
        self
    }

    /// Of the `paused` event; a turn that has gone on behind it ends with `turn.conflict`.
    #[must_use]
    pub fn tool_batch_id(mut self, id: u32) -> Self {
        self.tool_batch_id = Some(id);
        self
    }

    /// For calls that wait; those that are not named wait on. An approval of a call that never waited
    /// ends the resume with `tool.no_approval`, and changes nothing.
    #[must_use]
    pub fn approvals(mut self, approvals: impl IntoIterator<Item = Approval>) -> Self {
        self.approvals.extend(approvals);
        self
    }

    /// Results of the turn that are to be replaced or dropped before the model reads them. A call of
    /// which the turn has no result ends the resume with `tool.no_result`, and changes nothing.
    #[must_use]
    pub fn results(mut self, results: impl IntoIterator<Item = Revision>) -> Self {
        self.results.extend(results);
        self
    }

    /// Whom the turn belongs to. Default the empty string.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.host.tenant = tenant.into();
        self
    }

    /// Gets trace events; its panic is ignored.
    #[must_use]
    pub fn on_trace(
        mut self,
        on_trace: impl Fn(&TraceEvent) + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.host.on_trace = Some(Arc::new(on_trace));
        self
    }
}

/// Goes on with a turn that is paused, whose model failed, or whose owner is gone.
///
/// Outcomes that were kept are used; nothing is started twice unless its tool is read-only or
/// idempotent, and then with the same idempotency key. `seq` goes on where it stood.
///
/// Terminal `error` events: `turn.not_found` (unknown, expired, or another tenant's),
/// `turn.conflict` (over, alive elsewhere, or resumed by another at the same time),
/// `turn.cancelled`, `tool.no_result`, `tool.no_approval`, `store.*`.
///
/// # Errors
/// Misuse: `options.invalid`, `tool.invalid_name`, `tool.invalid_schema`.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn resume_turn(options: ResumeOptions) -> Result<RunningTurn, Error> {
    let ResumeOptions { model, tool_batch_id, approvals, results, host } = options;
    model.checked()?;
    check(&host)?;
    // Misuse is told now, not behind the store.
    registry(&host.tools)?;
    fallbacks(&host.fallbacks)?;
    host.answer.as_ref().map_or(Ok(()), |answer| answer.schema().map(drop))?;
    // An approval that cannot be read would be one that was not given.
    if !approvals.iter().all(is_readable) {
        return Err(Error::option("approvals", "signatures of calls"));
    }
    let wish = move |kept: &mut Resume| {
        kept.tool_batch_id = tool_batch_id.map(u64::from);
        kept.approvals = approvals;
        kept.results = results;
    };
    let (launch, mut turn) = Launch::new(&host);
    turn.running.spawn(restore(launch, Some(model), host, wish).map(drop));
    Ok(turn)
}

fn is_readable(approval: &Approval) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    approval.signature.len() == 64 && approval.signature.bytes().all(hex)
}

fn check(host: &TurnHost) -> Result<(), Error> {
    if host.request_id.is_empty() {
        return Err(Error::option("request_id", "the id of a turn"));
    }
    Ok(())
}

/// Attempts to get between two writes of an owner that is busy.
///
/// Limit | attempts to write between two writes of an owner | attempts | `turn.conflict`
pub(crate) const ATTEMPTS: u32 = 100;

/// Stops a turn, wherever it runs: its owner ends the provider's stream and drops its tools as soon
/// as it writes next or its store tells it, and no resume is possible any longer. Stopping a turn
/// that is over changes nothing; the answer says how it stands: `Cancelled`, `Complete` or
/// `Failed`.
///
/// # Errors
/// `turn.not_found`, `store.*`; `options.invalid` for misuse.
pub async fn cancel_turn(
    request_id: impl Into<String>,
    store: impl Store + 'static,
    tenant: impl Into<String>,
    reason: impl Into<String>,
) -> Result<TurnStatus, Error> {
    let host = TurnHost {
        request_id: request_id.into(),
        store: Some(Arc::new(store)),
        tenant: tenant.into(),
        ..TurnHost::default()
    };
    check(&host)?;
    let reason = reason.into();
    let mut attempt = 1;
    loop {
        let (launch, turn) = Launch::new(&host);
        let reason = reason.clone();
        let wish = move |kept: &mut Resume| kept.cancel = Some(reason);
        let stored = restore(launch, None, host.clone(), wish).await;
        let result = turn.result().await;
        let status = stored.as_ref().and_then(state_of).map(|state| state.status);
        if result.status == TurnStatus::Cancelled || status.as_deref() == Some("cancelled") {
            return Ok(TurnStatus::Cancelled);
        }
        match (status.as_deref(), stored.is_some_and(|stored| stored.open)) {
            (Some("complete"), _) => return Ok(TurnStatus::Complete),
            (Some("failed"), false) => return Ok(TurnStatus::Failed),
            _ => {}
        }
        let error = result.error.map_or_else(
            || Error::new("core.fault", "no answer"),
            |error| Error::new(error.code, error.message),
        );
        if error.code == "turn.cancelled" {
            // Another one did between our reading and our writing.
            return Ok(TurnStatus::Cancelled);
        }
        if error.code != "turn.conflict" || attempt >= ATTEMPTS {
            return Err(error);
        }
        // The owner wrote between our reading and our writing.
        clock::sleep(clock::jitter(10.0 * f64::from(attempt.min(20)))).await;
        attempt += 1;
    }
}

/// Reads what is kept, and begins with it; what fails is the turn's terminal event.
async fn restore(
    launch: Launch,
    model: Option<Model>,
    host: TurnHost,
    wish: impl FnOnce(&mut Resume),
) -> Option<StoredTurn> {
    let read = async {
        let (kept, events) = match &host.store {
            Some(store) => read(store, &turn_key(&host.tenant, &host.request_id)).await?,
            None => (None, Vec::new()),
        };
        // How much is kept was said when the turn began.
        let keep = owned(&host.tenant, Keep::default());
        let owner = keep.owner.clone();
        let (id, secret) = (host.request_id.as_str(), clock::random_hex(32));
        let mut options = RestoreOptions::new(id, secret, keep, kept.clone());
        options.resume.events = events;
        wish(&mut options.resume);
        if let Some(model) = &model {
            let (name, body) = model.parameters();
            options = options.dialect(Some(model.dialect)).max_retries(model.max_retries);
            options = options.think_tags(model.think_tags).text_tool_calls(model.text_tool_calls);
            options = options.history(model.history);
            options = options.model(name).body(body).fallbacks(fallbacks(&host.fallbacks)?);
        }
        let options = options.tools(registry(&host.tools)?).trace(host.on_trace.is_some());
        let options = options.started_at(clock::whole_ms(clock::unix_ms()));
        Ok::<_, Error>((Turn::restore(options)?, kept, owner))
    };
    match read.await {
        Ok((machine, kept, owner)) => {
            launch.run(machine, model, host, Some(owner)).await;
            kept
        }
        Err(error) => {
            launch.fail(error);
            None
        }
    }
}

/// What a store has of a turn, and the groups of events behind its state.
async fn read(
    store: &Arc<dyn Store>,
    key: &str,
) -> Result<(Option<StoredTurn>, Vec<String>), Error> {
    let request = (store.clone(), key.to_owned());
    let stored = in_time(move || async move { request.0.read(&request.1).await }).await?;
    let Some(state) = stored.as_ref().and_then(state_of) else { return Ok((stored, Vec::new())) };
    let mut texts = Vec::new();
    let mut last = state.seq;
    loop {
        let request = (store.clone(), key.to_owned());
        let groups =
            in_time(move || async move { request.0.events(&request.1, last, MOST_GROUPS).await });
        let groups = groups.await?;
        let behind = groups.last().map(|group| group.last);
        let many = groups.len();
        texts.extend(groups.into_iter().map(|group| group.text));
        match behind {
            // No more round trips than needed: meanwhile an owner may write.
            Some(next) if many >= MOST_GROUPS as usize => {
                if next <= last {
                    // It would be asked for ever.
                    return Err(Error::new("store.version", "the store gives events again"));
                }
                last = next;
            }
            _ => return Ok((stored, texts)),
        }
    }
}

/// What a store reads, if it answers at all: a turn that is resumed must end.
pub(crate) async fn in_time<T: 'static, F>(ask: impl FnOnce() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, StoreError>> + MaybeSend + 'static,
{
    match select(pin!(called(ask)), clock::sleep(READ_MS)).await {
        Either::Left((answer, _)) => {
            Ok(answer.map_err(|panicked| Error::new("store.unavailable", panicked))??)
        }
        Either::Right(_) => {
            let message = format!("the store did not answer within {READ_MS} ms");
            Err(Error::new("store.timeout", message))
        }
    }
}

/// The part of a kept state that is read outside of the core.
#[derive(Deserialize)]
struct KeptState {
    status: String,
    seq: u64,
}

/// `None` for what another version wrote: the core says so.
fn state_of(kept: &StoredTurn) -> Option<KeptState> {
    serde_json::from_str(&kept.state).ok()
}
