//! Those who wait for news of a turn within this process, page or worker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Changed, Watch};
use crate::lock::Lock;
use crate::platform::{Active, Platform};

type Turns = BTreeMap<String, BTreeMap<u64, Changed>>;

#[derive(Clone, Default)]
pub(crate) struct Watchers {
    turns: Arc<Lock<Turns>>,
    next: Arc<AtomicU64>,
}

impl Watchers {
    pub(crate) fn add(&self, turn: &str, changed: Changed) -> Watch {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.turns.lock().entry(turn.to_owned()).or_default().insert(id, changed);
        let (turns, turn) = (Arc::downgrade(&self.turns), turn.to_owned());
        Watch::new(move || {
            let Some(turns) = turns.upgrade() else { return };
            let mut turns = turns.lock();
            let Some(left) = turns.get_mut(&turn) else { return };
            // Dropped behind the lock: what it owns may watch, or stop to.
            let stopped = left.remove(&id);
            if left.is_empty() {
                turns.remove(&turn);
            }
            drop(turns);
            drop(stopped);
        })
    }

    /// `owner` wrote; `None` where nobody knows who did, or whether. Calls come later, so that
    /// none runs inside of a commit, and none comes after its stop.
    pub(crate) fn tell(&self, turn: &str, owner: Option<&str>) {
        let ids: Vec<u64> = match self.turns.lock().get(turn) {
            Some(all) => all.keys().copied().collect(),
            None => return,
        };
        let (turns, turn) = (Arc::clone(&self.turns), turn.to_owned());
        let owner = owner.map(str::to_owned);
        Active::spawn(async move {
            for id in ids {
                // Looked up one by one: each may stop another, and the lock must not last.
                let watcher = turns.lock().get(&turn).and_then(|all| all.get(&id).cloned());
                if let Some(changed) = watcher {
                    changed(owner.as_deref());
                }
            }
        });
    }

    /// Something may have happened to any of them.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn tell_all(&self) {
        let turns: Vec<String> = self.turns.lock().keys().cloned().collect();
        for turn in turns {
            self.tell(&turn, None);
        }
    }
}
