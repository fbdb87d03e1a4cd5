//! Commits: judged and written in one transaction.

use super::connection::{Connection, Mode};
use super::locks::OwnerLocks;
use super::rows::{self, EventRow, RecordRow, Reusable, Row, Turn};
use super::transaction::Transaction;
use crate::clock;
use crate::store::memory::milliseconds;
use crate::store::{StoreError, repeated_name};
use turnlock::store::{Commit, Judgement, judge};

/// The judgement of a commit, and the turn as it stood before.
pub(super) type Judged = (Judgement, Option<Turn>);

/// Judges and writes in one transaction. It ends by itself when nothing is asked of it, so
/// nothing but its own requests is waited for in here.
pub(super) async fn attempt(
    connection: &Connection,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
) -> Result<Judged, StoreError> {
    let strict = !commit.records.is_empty() || commit.state.is_some();
    let mode = if strict { Mode::Strict } else { Mode::Relaxed };
    let tx = connection.transaction(mode).await?;
    match judge_and_write(&tx, locks, turn, commit).await {
        Ok((Judgement::Apply, before)) => tx.finish().await.map(|()| (Judgement::Apply, before)),
        Ok(judged) => Ok(judged),
        Err(error) => Err(tx.give_up(error)),
    }
}

async fn judge_and_write(
    tx: &Transaction,
    locks: &OwnerLocks,
    turn: &str,
    commit: &Commit,
) -> Result<Judged, StoreError> {
    let before = current(tx, turn).await?;
    let judgement = judge(before.as_ref().map(Turn::standing).as_ref(), commit);
    if judgement != Judgement::Apply {
        return Ok((judgement, before));
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
    Ok((judgement, before))
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

/// The turn, if it has not expired.
pub(super) async fn current(tx: &Transaction, turn: &str) -> Result<Option<Turn>, StoreError> {
    let kept: Option<Turn> = tx.get(turn).await?;
    Ok(kept.filter(|kept| kept.expires > clock::unix_ms()))
}
