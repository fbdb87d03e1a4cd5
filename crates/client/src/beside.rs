//! What reads and writes kept turns beside their owner: lists, and pauses that are asked for.

use std::sync::Arc;

use serde::Deserialize;

use crate::clock;
use crate::error::Error;
use crate::resume::{ATTEMPTS, in_time};
use crate::store::{ListedTurn, Store};
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult, turn_key};

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
        let request = (store.clone(), key.clone());
        let stored = in_time(move || async move { request.0.read(&request.1).await }).await?;
        let unknown = || Error::new("turn.not_found", "no such turn is kept");
        let stored = stored.filter(|stored| !stored.state.is_empty()).ok_or_else(unknown)?;
        let foreign = || Error::new("store.version", "the turn was kept by another version");
        let mut state = Json::parse_host(stored.state.as_bytes(), stored.state.len())
            .map_err(|_| foreign())?
            .into_owned();
        if state.get("v").and_then(Json::as_u64) != Some(1) {
            return Err(foreign());
        }
        let status = state.get("status").and_then(Json::as_str).unwrap_or_default().to_owned();
        if status != "running" || state.get("pause").is_some() {
            return Ok(status);
        }
        let ttl_ms = state.get("ttlMs").and_then(Json::as_u64).ok_or_else(foreign)?;
        let revision = stored.revision.saturating_add(1);
        if let Json::Object(members) = &mut state {
            members.push(("pause".into(), Json::integer(revision)));
            members.push(("pausedBy".into(), Json::from(owner.clone())));
        }
        let commit = Arc::new(Commit {
            owner: owner.clone(),
            revision,
            take_over: true,
            replaces: stored.owner,
            open: true,
            state: Some(state.to_text()),
            ttl_ms,
            ..Commit::default()
        });
        let request = (store.clone(), key.clone());
        match in_time(move || async move { request.0.commit(&request.1, commit).await }).await? {
            CommitResult::Stored => return Ok(status),
            CommitResult::Failed { code, message } => return Err(Error::new(code, message)),
            // The owner wrote between our reading and our writing.
            CommitResult::Refused { .. } => {
                clock::sleep(clock::jitter(10.0 * f64::from(attempt.min(20)))).await;
            }
        }
    }
    Err(Error::new("turn.conflict", "the owner wrote at the same time, several times: try again"))
}

/// Turns in a list.
///
/// Limit | turns of a list | turns | the newest
const MOST_LISTED: u32 = 100;

/// The turns of a tenant that are open: those that run, are paused, or can be resumed because their
/// model failed, the one that was written last first, at most 100.
///
/// # Errors
/// `store.unsupported` for a store that does not list its turns; `store.*`.
pub async fn list_turns(
    store: impl Store + 'static,
    tenant: impl Into<String>,
) -> Result<Vec<OpenTurn>, Error> {
    let (store, tenant) = (Arc::new(store), tenant.into());
    let listed = in_time(move || async move { store.list(&tenant, MOST_LISTED).await }).await?;
    let read = |one: ListedTurn| {
        let (_, request_id): (String, String) = serde_json::from_str(&one.turn).ok()?;
        let state: ListedState = serde_json::from_str(&one.state).ok()?;
        let is_old = one.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms);
        Some(OpenTurn {
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
pub struct OpenTurn {
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
