//! Whether a turn has expired, by a clock that may jump.
//!
//! A clock that is ahead for a moment must not delete what it makes look expired, and a page that was
//! closed for long looks the same. As in the npm package.

use super::locks::OwnerLocks;
use super::rows::{CLOCK, ClockRow, Turn};
use super::transaction::Transaction;
use crate::clock;
use crate::store::StoreError;

/// Milliseconds between two sweeps from which on the clock may have jumped.
const JUMP: f64 = 3_600_000.0;
/// Milliseconds for which such a clock must go on before it is believed.
const BELIEVED: f64 = 86_400_000.0;

/// How a turn stands.
pub(super) struct Found {
    pub(super) row: Turn,
    pub(super) is_expired: bool,
    /// Only the clock says so, which may have jumped ahead: the turn stands if its owner is there.
    pub(super) is_doubtful: bool,
}

impl Found {
    pub(super) fn new(row: Turn, clock: Option<&ClockRow>) -> Self {
        let now = clock::unix_ms();
        let trusted = clock.filter(|clock| now - clock.at > JUMP).map_or(now, |clock| clock.at);
        let is_expired = row.expires <= now;
        let is_doubtful = is_expired && row.open && row.locked && row.expires > trusted;
        Self { row, is_expired, is_doubtful }
    }

    /// The turn, if it stands. Asks for the lock only where that decides: a transaction ends meanwhile.
    pub(super) async fn current(self, locks: &OwnerLocks) -> Option<Turn> {
        let stands = !self.is_expired || (self.is_doubtful && locks.is_held(&self.row.owner).await);
        stands.then_some(self.row)
    }
}

pub(super) async fn find(tx: &Transaction, turn: &str) -> Result<Option<Found>, StoreError> {
    let row: Option<Turn> = tx.get(turn).await?;
    let Some(row) = row else { return Ok(None) };
    let clock = clock_row(tx).await?;
    Ok(Some(Found::new(row, clock.as_ref())))
}

/// The row of the clock. One that nobody can have written counts as none.
pub(super) async fn clock_row(tx: &Transaction) -> Result<Option<ClockRow>, StoreError> {
    let row = tx.get_readable::<ClockRow>(CLOCK).await?;
    Ok(row.filter(|row| row.at.is_finite() && row.seen.is_finite()))
}

/// The row of the clock at a sweep.
pub(super) fn clock_at(now: f64, before: Option<ClockRow>) -> ClockRow {
    let row = |at, seen| ClockRow { turn: CLOCK.to_owned(), at, seen, expires: f64::INFINITY };
    match before {
        Some(before) if now - before.at > JUMP => {
            if before.seen == 0.0 || before.seen > now {
                row(before.at, now)
            } else if now - before.seen >= BELIEVED {
                row(now, 0.0)
            } else {
                before
            }
        }
        _ => row(now, 0.0),
    }
}
