//! Those who wait for news of a turn within this page or worker.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use wasm_bindgen_futures::spawn_local;

use super::{Changed, Watch};

type Turns = BTreeMap<String, BTreeMap<u64, Changed>>;

#[derive(Clone, Default)]
pub(super) struct Watchers {
    turns: Rc<RefCell<Turns>>,
    next: Rc<Cell<u64>>,
}

impl Watchers {
    pub(super) fn add(&self, turn: &str, changed: Changed) -> Watch {
        let id = self.next.replace(self.next.get() + 1);
        self.turns.borrow_mut().entry(turn.to_owned()).or_default().insert(id, changed);
        let (turns, turn) = (Rc::downgrade(&self.turns), turn.to_owned());
        Watch::new(move || {
            let Some(turns) = turns.upgrade() else { return };
            let mut turns = turns.borrow_mut();
            let Some(left) = turns.get_mut(&turn) else { return };
            // Dropped behind the borrow: what it owns may watch, or stop to.
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
    pub(super) fn tell(&self, turn: &str, owner: Option<&str>) {
        let ids: Vec<u64> = match self.turns.borrow().get(turn) {
            Some(all) => all.keys().copied().collect(),
            None => return,
        };
        let (turns, turn) = (Rc::clone(&self.turns), turn.to_owned());
        let owner = owner.map(str::to_owned);
        spawn_local(async move {
            for id in ids {
                // Looked up one by one: each may stop another, and the borrow must not last.
                let one = turns.borrow().get(&turn).and_then(|all| all.get(&id).cloned());
                if let Some(changed) = one {
                    changed(owner.as_deref());
                }
            }
        });
    }

    /// Something may have happened to any of them.
    pub(super) fn tell_all(&self) {
        let turns: Vec<String> = self.turns.borrow().keys().cloned().collect();
        for turn in turns {
            self.tell(&turn, None);
        }
    }
}
