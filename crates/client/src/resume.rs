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
use crate::store::{Listed, Store, StoreError};
use crate::tool::Tool;
use crate::turn::RunningTurn;
use turnlock::json::Json;
use turnlock::store::{Answer, Commit, Kept, turn_key};
use turnlock::turn::{
    Approval, Keep, RestoreOptions, Resume, Revision, TraceEvent, Turn, TurnStatus,
};

/// Milliseconds for which a store is waited for, to be read. Longer than any of ours waits itself.
const READ_MS: f64 = 20_000.0;

/// Groups of events that are read at once.
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
const ATTEMPTS: u32 = 100;

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
        let kept = restore(launch, None, host.clone(), wish).await;
        let result = turn.result().await;
        let status = kept.as_ref().and_then(state_of).map(|state| state.status);
        if result.status == TurnStatus::Cancelled || status.as_deref() == Some("cancelled") {
            return Ok(TurnStatus::Cancelled);
        }
        match (status.as_deref(), kept.is_some_and(|kept| kept.open)) {
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

/// Asks the owner of a running turn for a pause, wherever it runs, as [`Control::pause`] does: the turn
/// ends as paused behind the results of its tools; a turn that is answering completes. The owner
/// learns of it as soon as it writes next or its store tells it. The answer is how the turn stands
/// now, `running` until its owner has paused it. Asking again, or for a turn that does not run,
/// changes nothing.
///
/// # Errors
/// `turn.not_found`, `turn.conflict` (the owner wrote again and again), `store.*`; `options.invalid`
/// for misuse.
///
/// [`Control::pause`]: crate::Control::pause
pub async fn pause_turn(
    request_id: impl Into<String>,
    store: impl Store + 'static,
    tenant: impl Into<String>,
) -> Result<String, Error> {
    let (request_id, tenant) = (request_id.into(), tenant.into());
    if request_id.is_empty() {
        return Err(Error::option("request_id", "the id of a turn"));
    }
    let store: Arc<dyn Store> = Arc::new(store);
    let (key, owner) = (turn_key(&tenant, &request_id), clock::random_hex(16));
    for attempt in 1..=ATTEMPTS {
        let asked = (store.clone(), key.clone());
        let kept = in_time(move || async move { asked.0.read(&asked.1).await }).await?;
        let unknown = || Error::new("turn.not_found", "no such turn is kept");
        let kept = kept.filter(|kept| !kept.state.is_empty()).ok_or_else(unknown)?;
        let foreign = || Error::new("store.version", "the turn was kept by another version");
        let mut state = Json::parse_str(&kept.state).map_err(|_| foreign())?.into_owned();
        if state.get("v").and_then(Json::as_u64) != Some(1) {
            return Err(foreign());
        }
        let status = state.get("status").and_then(Json::as_str).unwrap_or_default().to_owned();
        if status != "running" || state.get("pause").is_some() {
            return Ok(status);
        }
        let ttl_ms = state.get("ttlMs").and_then(Json::as_u64).ok_or_else(foreign)?;
        let revision = kept.revision.saturating_add(1);
        if let Json::Object(members) = &mut state {
            members.push(("pause".into(), Json::integer(revision)));
            members.push(("pausedBy".into(), Json::from(owner.clone())));
        }
        let commit = Arc::new(Commit {
            owner: owner.clone(),
            revision,
            take_over: true,
            replaces: kept.owner,
            open: true,
            state: Some(state.to_text()),
            ttl_ms,
            ..Commit::default()
        });
        let asked = (store.clone(), key.clone());
        match in_time(move || async move { asked.0.commit(&asked.1, commit).await }).await? {
            Answer::Kept => return Ok(status),
            Answer::Failed { code, message } => return Err(Error::new(code, message)),
            // The owner wrote between our reading and our writing.
            Answer::Refused { .. } => {
                clock::sleep(clock::jitter(10.0 * f64::from(attempt.min(20)))).await;
            }
        }
    }
    Err(Error::new("turn.conflict", "the owner wrote again and again"))
}

/// Turns in a list.
const MOST_LISTED: u32 = 100;

/// The turns of a tenant that are open: those that run, are paused, or can be resumed because their
/// model failed, the one that was written last first, at most 100.
///
/// # Errors
/// `store.unsupported` for a store that does not list its turns; `store.*`.
pub async fn list_turns(
    store: impl Store + 'static,
    tenant: impl Into<String>,
) -> Result<Vec<ListedTurn>, Error> {
    let (store, tenant) = (Arc::new(store), tenant.into());
    let listed = in_time(move || async move { store.list(&tenant, MOST_LISTED).await }).await?;
    let read = |one: Listed| {
        let (_, request_id): (String, String) = serde_json::from_str(&one.turn).ok()?;
        let state: ListedState = serde_json::from_str(&one.state).ok()?;
        let is_old = one.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms);
        Some(ListedTurn {
            request_id,
            conversation_id: state.conversation_id,
            interrupted: is_old && state.status == "running",
            status: state.status,
            tool_batch_id: state.tool_batch_id,
            seq: state.seq,
            idle_ms: one.idle_ms,
        })
    };
    // What cannot be read is another version's.
    Ok(listed.into_iter().filter_map(read).collect())
}

/// An open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedTurn {
    /// Its id.
    pub request_id: String,
    /// The id of the conversation, if the host set one.
    pub conversation_id: Option<String>,
    /// `running`, `paused`, or `failed` where its model failed.
    pub status: String,
    /// Its owner is gone, so that it can be resumed although it runs.
    pub interrupted: bool,
    /// The number of its last batch.
    pub tool_batch_id: u32,
    /// `seq` of its last event that was stored with its state.
    pub seq: u64,
    /// Milliseconds since it was written; `None` where the store knows only that its owner is gone.
    pub idle_ms: Option<u64>,
}

/// The part of a kept state that a list shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedState {
    status: String,
    seq: u64,
    tool_batch_id: u32,
    lease_ms: u64,
    conversation_id: Option<String>,
}

/// Reads what is kept, and begins with it; what fails is the turn's terminal event.
async fn restore(
    launch: Launch,
    model: Option<Model>,
    host: TurnHost,
    wish: impl FnOnce(&mut Resume),
) -> Option<Kept> {
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
            options = options.model(name).body(body).fallbacks(fallbacks(&host.fallbacks)?);
        }
        let options = options.tools(registry(&host.tools)?).trace(host.on_trace.is_some());
        let options = options.started_at(clock::whole(clock::unix_ms()));
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
async fn read(store: &Arc<dyn Store>, key: &str) -> Result<(Option<Kept>, Vec<String>), Error> {
    let asked = (store.clone(), key.to_owned());
    let kept = in_time(move || async move { asked.0.read(&asked.1).await }).await?;
    let Some(state) = kept.as_ref().and_then(state_of) else { return Ok((kept, Vec::new())) };
    let mut texts = Vec::new();
    let mut last = state.seq;
    loop {
        let asked = (store.clone(), key.to_owned());
        let groups =
            in_time(move || async move { asked.0.events(&asked.1, last, MOST_GROUPS).await });
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
            _ => return Ok((kept, texts)),
        }
    }
}

/// What a store reads, if it answers at all: a turn that is resumed must end.
async fn in_time<T: 'static, F>(ask: impl FnOnce() -> F) -> Result<T, Error>
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
fn state_of(kept: &Kept) -> Option<KeptState> {
    serde_json::from_str(&kept.state).ok()
}
