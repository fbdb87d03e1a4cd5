//! Commits: judged and written in one transaction.

use super::connection::{Connection, Mode};
use super::expiry::find;
use super::locks::OwnerLocks;
use super::rows::{self, EventRow, RecordRow, Reusable, Row, Turn};
use super::transaction::Transaction;
use crate::clock;
use crate::store::memory::milliseconds;
use crate::store::{StoreError, repeated_name};
use turnlock::store::{Commit, Judgement, judge};

/// The judgement of a commit, and the turn as it stood before.
pub(super) type Judged = (Judgement, Option<Turn>);

/// What an attempt comes to.
pub(super) enum Attempt {
    Judged(Judged),
    /// Whether the turn has expired depends on whether this owner is there.
    Doubtful(String),
}

/// Commits.
pub(super) async fn commit(
    connection: &Connection,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
) -> Result<Judged, StoreError> {
    let mut holder = None;
    loop {
        match attempt(connection, locks, turn, commit, holder.as_deref()).await? {
            Attempt::Judged(judged) => return Ok(judged),
            Attempt::Doubtful(owner) => {
                let is_held = locks.is_held(&owner).await;
                holder = Some(if is_held { owner } else { String::new() });
            }
        }
    }
}

/// Judges and writes in one transaction. It ends by itself when nothing is asked of it, so
/// nothing but its own requests is waited for in here. `holder`: the owner whose doubtful turn stands,
/// or an empty text.
async fn attempt(
    connection: &Connection,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
    holder: Option<&str>,
) -> Result<Attempt, StoreError> {
    let strict = !commit.records.is_empty() || commit.state.is_some();
    let mode = if strict { Mode::Strict } else { Mode::Relaxed };
    let tx = connection.transaction(mode).await?;
    match judge_and_write(&tx, locks, turn, commit, holder).await {
        Ok(Attempt::Judged((Judgement::Apply, before))) => {
            tx.finish().await.map(|()| Attempt::Judged((Judgement::Apply, before)))
        }
        Ok(other) => Ok(other),
        Err(error) => Err(tx.give_up(error)),
    }
}

async fn judge_and_write(
    tx: &Transaction,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
    holder: Option<&str>,
) -> Result<Attempt, StoreError> {
    let found = find(tx, turn).await?;
    if let Some(doubtful) = found.as_ref().filter(|found| found.is_doubtful)
        && holder.is_none()
    {
        return Ok(Attempt::Doubtful(doubtful.row.owner.clone()));
    }
    let before = found.and_then(|found| {
        let is_held = found.is_doubtful && holder == Some(found.row.owner.as_str());
        (is_held || !found.is_expired).then_some(found.row)
    });
    let judgement = judge(before.as_ref().map(Turn::standing).as_ref(), commit);
    if judgement != Judgement::Apply {
        return Ok(Attempt::Judged((judgement, before)));
    }
    if let Some(name) = repeated_name(&commit.records) {
        return Err(StoreError::record_exists(name));
    }
    if before.is_some() {
        for (name, _) in &commit.records {
            if tx.has_record(turn, name).await? {
                return Err(StoreError::record_exists(name));
            }
        }
    } else {
        tx.drop_turn(turn)?;
    }
    write(tx, locks, turn, commit, before.as_ref())?;
    Ok(Attempt::Judged((judgement, before)))
}

fn write(
    tx: &Transaction,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
    before: Option<&Turn>,
) -> Result<(), StoreError> {
    let at = clock::unix_ms();
    let mut records = before.map_or(0, |kept| kept.records);
    for (name, text) in &commit.records {
        let (turn, name, text) = (turn.to_owned(), name.clone(), text.clone());
        tx.add(&RecordRow { turn, n: records, name, text })?;
        records += 1;
    }
    let state = commit.state.as_ref().or_else(|| before.map(|kept| &kept.state));
    tx.put(&Turn {
        turn: turn.to_owned(),
        owner: commit.owner.clone(),
        revision: commit.revision,
        open: commit.open,
        state: state.cloned().unwrap_or_default(),
        records,
        locked: locks.has(&commit.owner),
        at,
        expires: at + milliseconds(commit.ttl_ms),
    })?;
    if let Some((last, text)) = &commit.events {
        tx.put(&EventRow { turn: turn.to_owned(), last: *last, text: text.clone() })?;
    }
    if commit.forget > 0 {
        tx.delete(EventRow::STORE, rows::up_to(turn, commit.forget)?)?;
    }
    for (key, text, ttl_ms) in &commit.reusable {
        let expires = at + milliseconds(*ttl_ms);
        tx.put(&Reusable { key: key.clone(), text: text.clone(), at, expires })?;
    }
    Ok(())
}
