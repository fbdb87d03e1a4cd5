//! The way to the store and back: what a host reads, and what it writes.

use serde_json::{Value, json};
use turnlock::store::{Commit, CommitResult, StoredOutcome};
use turnlock::turn::Input;

use crate::leg::Wish;
use crate::plan::Fault;
use crate::world::{What, World};

impl World {
    /// The store is asked what it has of a turn.
    pub fn read(&mut self, leg: usize) {
        let turn = self.legs[leg].turn;
        let key = self.key(turn);
        if self.now < self.store.down_until {
            let wait = self.latency();
            return self.after(wait, What::Refused(leg));
        }
        let mut kept = self.store.read(self.now, &key).unwrap_or_default();
        // A clock that is wrong says that the owner is gone.
        let wrong = self.legs[leg].deceived;
        if !kept.is_null() {
            let state = kept["state"].as_str().expect("a state").to_owned();
            let idle = kept["idleMs"].as_u64().unwrap_or(u64::MAX);
            let parsed: Value = serde_json::from_str(&state).expect("a state is JSON");
            let lives = self.truth.lives[turn].len();
            let one = &mut self.legs[leg];
            one.life = lives.saturating_sub(1);
            one.found = parsed["status"].as_str().expect("a status").to_owned();
            one.shown = parsed["seq"].as_u64().expect("seq");
            let cancels = one.wish == Wish::Cancel;
            one.entitled = cancels || wrong || one.found != "running" || idle >= self.plan.lease();
            if wrong || self.bug("host: the owner is always gone") {
                kept["idleMs"] = Value::Null;
                self.disturbed |= wrong;
            }
            if self.chance(Fault::Version, turn, 4) {
                kept["state"] = json!(state.replacen("{\"v\":1,", "{\"v\":2,", 1));
                self.legs[leg].mismatch = true;
            }
        }
        self.legs[leg].read = Some(kept);
        let wait = self.latency();
        self.after(wait, What::Events(leg));
    }

    pub fn events(&mut self, leg: usize) {
        let one = &self.legs[leg];
        let (turn, after) = (one.turn, one.shown);
        let key = self.key(turn);
        let groups = self.store.events(self.now, &key, after);
        let kept = self.legs[leg].read.take().unwrap_or_default();
        let wait = self.latency();
        self.after(wait, What::Restore(leg, kept, groups));
        self.arrive_late();
    }

    /// Writes that were on their way when their owner died.
    pub fn arrive_late(&mut self) {
        for (dead, attempt, commit) in std::mem::take(&mut self.late_writes) {
            self.commit(dead, attempt, &commit, false);
        }
    }

    pub fn restore(&mut self, leg: usize, kept: Value, groups: &[(u64, String)]) {
        if !self.legs[leg].alive {
            return;
        }
        let mut events: Vec<&str> = groups.iter().map(|(_, text)| text.as_str()).collect();
        if self.bug("host: kept events are not read") {
            events.clear();
        }
        let last = groups.last().map(|(last, _)| *last);
        let mut resume = json!({ "kept": kept, "events": events });
        match &self.legs[leg].wish {
            Wish::Resume(approvals) => {
                let one = |(signature, approved): &(String, bool)| json!({ "signature": signature, "approved": approved });
                resume["approvals"] = approvals.iter().map(one).collect();
            }
            _ => resume["cancel"] = json!("other"),
        }
        let one = &mut self.legs[leg];
        one.shown = one.shown.max(last.unwrap_or(0));
        self.make(leg, Some(resume));
    }

    /// A commit arrives at the store.
    pub fn commit(&mut self, leg: usize, attempt: u32, commit: &Commit, answers: bool) {
        let turn = self.legs[leg].turn;
        let key = self.key(turn);
        let down = self.now < self.store.down_until;
        let failing = down || self.chance(Fault::Failing, turn, 6);
        if failing {
            self.disturbed = true;
            if !down && self.random.below(3) == 0 {
                self.store.down_until = self.now + self.random.below(3_000) as u64;
            }
        }
        // A store that fails may have written all the same.
        let mut answer = CommitResult::Failed {
            code: "store.unavailable".to_owned(),
            message: "simulated".to_owned(),
        };
        if !failing || self.random.below(4) == 0 {
            let fresh = self.store.stands(self.now, &key).is_none();
            let before = self.store.stands(self.now, &key).map(|one| one.standing.owner.clone());
            let (wrote, said) = self.store.commit(self.now, &key, commit);
            self.note(|| {
                format!(
                    "leg {leg} commit {}/{attempt} {wrote} {said:?} {commit:?}",
                    commit.revision
                )
            });
            if wrote {
                self.wrote(leg, commit, fresh, before);
            }
            if !failing {
                answer = said;
            } else if self.bug("host: a failed commit counts as kept") {
                answer = CommitResult::Stored;
            }
        } else if self.bug("host: a failed commit counts as kept") {
            answer = CommitResult::Stored;
        }
        if !answers || self.dies_at(leg, "commit applied") {
            return;
        }
        let wait = self.latency();
        let revision = commit.revision;
        self.after(wait, What::Tell(leg, Input::Stored { revision, attempt, answer }));
    }

    pub fn wrote(&mut self, leg: usize, commit: &Commit, fresh: bool, before: Option<String>) {
        let turn = self.legs[leg].turn;
        let one = &self.legs[leg];
        let (found, entitled, mismatch) = (one.found.clone(), one.entitled, one.mismatch);
        self.truth.check(!mismatch, "version", || format!("leg {leg} wrote what it cannot read"));
        if let Some(owner) = before.filter(|owner| *owner != commit.owner) {
            // I4: only a turn that rests, or whose owner is silent, is taken over.
            self.truth.check(commit.take_over && entitled, "I4", || {
                format!("leg {leg} took over a turn that was {found}")
            });
            let cancels = self.legs[leg].wish == Wish::Cancel;
            let live = self.legs.iter().any(|leg| leg.owner == owner && leg.works());
            self.truth.check(
                !live || found != "running" || cancels || self.disturbed,
                "I4",
                || format!("{owner} lives, and counted as gone"),
            );
        }
        self.truth.applied(&self.plan, turn, self.now, commit, fresh);
        // A store that is watched tells the others, if it comes to it.
        for other in 0..self.legs.len() {
            let watches = other != leg && self.legs[other].turn == turn && self.legs[other].works();
            if watches && !self.plan.exact && self.random.below(2) == 0 {
                let wait = self.latency();
                self.after(wait, What::Tell(other, Input::Verify));
            }
        }
    }

    pub fn recall(&mut self, leg: usize, call: u32, key: &str) {
        let turn = self.legs[leg].turn;
        let mut found = self.store.recall(self.now, key);
        if let Some((text, age)) = &mut found {
            self.hit(Fault::Reuse, turn);
            if *age > self.plan.reuse_ms(turn) {
                // Nobody may ever see it.
                *text = text.replace("CANARY-RESULT", "TOO-OLD");
            }
        }
        let lost = !self.healed && self.plan.has(Fault::LostAfter) && self.random.below(8) == 0;
        if !lost {
            let wait = self.latency();
            let found = found.map(|(text, age_ms)| StoredOutcome::new(text, age_ms));
            self.after(wait, What::Tell(leg, Input::Recalled { call, found }));
        }
    }
}
