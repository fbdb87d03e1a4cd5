//! A store that keeps what `judge` says. Its bugs are on purpose.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnlock::store::{Commit, CommitResult, Judgement, TurnHead, judge};

#[derive(Debug, Clone)]
pub struct Stored {
    pub standing: TurnHead,
    /// When the last commit was made, by this store's clock.
    pub at: u64,
    pub ttl: u64,
    pub state: String,
    pub records: Vec<(String, String)>,
    pub groups: Vec<(u64, String)>,
}

#[derive(Debug, Default)]
pub struct Store {
    bug: &'static str,
    turns: BTreeMap<String, Stored>,
    reusable: BTreeMap<String, (String, u64, u64)>,
    /// What stood before the last commit: a store without a disk loses it.
    before: BTreeMap<String, Option<Stored>>,
    /// It fails until then.
    pub down_until: u64,
}

impl Store {
    pub fn new(bug: &'static str) -> Self {
        Self { bug, ..Self::default() }
    }

    pub fn stands(&self, now: u64, key: &str) -> Option<&Stored> {
        let stored = self.turns.get(key)?;
        (now < stored.at + stored.ttl || self.bug == "store: nothing expires").then_some(stored)
    }

    /// Does as the rule says; whether it wrote, and the answer.
    pub fn commit(&mut self, now: u64, key: &str, commit: &Commit) -> (bool, CommitResult) {
        let stands = self.stands(now, key).cloned();
        let mut standing = stands.as_ref().map(|stored| stored.standing.clone());
        if let Some(standing) = &mut standing {
            match self.bug {
                "store: no fence" => standing.owner.clone_from(&commit.owner),
                "store: no compare" if standing.open && standing.owner != commit.owner => {
                    standing.revision = commit.revision - 1;
                }
                _ => {}
            }
        }
        if self.bug == "store: a turn that is over is not known" {
            standing = standing.filter(|standing| standing.open);
        }
        let anybody = Commit { replaces: None, ..commit.clone() };
        let judged =
            if self.bug == "store: a take-over replaces anybody" { &anybody } else { commit };
        let mut judgement = judge(standing.as_ref(), judged);
        match self.bug {
            "store: a repeat is refused" if judgement == Judgement::Repeated => {
                judgement = Judgement::Refuse;
            }
            "store: a repeat is written again" if judgement == Judgement::Repeated => {
                judgement = Judgement::Apply;
            }
            _ => {}
        }
        match judgement {
            Judgement::Repeated => (false, CommitResult::Stored),
            Judgement::Refuse => {
                (false, CommitResult::Refused { state: stands.map(|one| one.state) })
            }
            Judgement::Apply => {
                self.before.insert(key.to_owned(), stands.clone());
                self.apply(now, key, commit, stands);
                (true, CommitResult::Stored)
            }
        }
    }

    fn apply(&mut self, now: u64, key: &str, commit: &Commit, stands: Option<Stored>) {
        let mut stored = stands.unwrap_or_else(|| Stored {
            standing: TurnHead::default(),
            at: now,
            ttl: 0,
            state: String::new(),
            records: Vec::new(),
            groups: Vec::new(),
        });
        stored.standing =
            TurnHead { owner: commit.owner.clone(), revision: commit.revision, open: commit.open };
        (stored.at, stored.ttl) = (now, commit.ttl_ms);
        if let Some(state) = &commit.state {
            stored.state.clone_from(state);
        }
        let mut records = commit.records.clone();
        match self.bug {
            "store: torn, without records" if commit.revision.is_multiple_of(3) => records.clear(),
            "store: outcomes are lost" => records.retain(|(name, _)| !name.starts_with("outcome/")),
            _ => {}
        }
        stored.records.extend(records);
        let torn = self.bug == "store: torn, without events" && commit.revision.is_multiple_of(3);
        stored.groups.extend(commit.events.clone().filter(|_| !torn));
        let slack = if self.bug == "store: forgets too much" { 3 } else { 0 };
        if commit.forget > 0 {
            stored.groups.retain(|(last, _)| *last > commit.forget + slack);
        }
        for (key, text, ttl) in &commit.reusable {
            self.reusable.insert(self.reuse_key(key), (text.clone(), now, *ttl));
        }
        self.turns.insert(key.to_owned(), stored);
    }

    /// What a power cut takes from a store that answers before it has written.
    pub fn power_cut(&mut self, key: &str) {
        if self.bug == "store: the last commit is not durable"
            && let Some(Some(before)) = self.before.remove(key)
        {
            self.turns.insert(key.to_owned(), before);
        }
    }

    /// `StoredTurn`, as a host gives it to the core.
    pub fn read(&self, now: u64, key: &str) -> Option<Value> {
        let stored = self.stands(now, key)?;
        let records: Vec<_> =
            stored.records.iter().map(|(name, text)| json!([name, text])).collect();
        Some(
            json!({ "owner": stored.standing.owner, "revision": stored.standing.revision, "open": stored.standing.open,
                     "idleMs": now - stored.at, "state": stored.state, "records": records }),
        )
    }

    pub fn events(&self, now: u64, key: &str, after: u64) -> Vec<(u64, String)> {
        let Some(stored) = self.stands(now, key) else { return Vec::new() };
        let after = if self.bug == "store: events off by one" { after + 1 } else { after };
        stored.groups.iter().filter(|(last, _)| *last > after).cloned().collect()
    }

    fn reuse_key(&self, key: &str) -> String {
        if self.bug == "store: tenants share outcomes" {
            let parts: Vec<String> = serde_json::from_str(key).unwrap();
            return parts[1].clone();
        }
        key.to_owned()
    }

    pub fn recall(&self, now: u64, key: &str) -> Option<(String, u64)> {
        let (text, at, ttl) = self.reusable.get(&self.reuse_key(key))?;
        let age = now - at;
        (age <= *ttl || self.bug == "store: nothing expires").then(|| (text.clone(), age))
    }
}
