//! What really happened, and the rules that hold at every step: I1 to I15, each named where it is
//! checked. I3 and I4 are the promise of the stores (README, Turns that survive).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::store::Commit;

use crate::common::facts::misfit;
use crate::plan::Plan;

/// An event that is kept.
#[derive(Debug, Clone)]
pub struct Logged {
    pub seq: u64,
    pub raw: String,
    pub event: Value,
    pub owner: String,
    cycle: u64,
}

/// A start of a tool.
#[derive(Debug, Clone)]
pub struct Start {
    pub name: String,
    pub key: String,
    pub args: Value,
}

/// One life of a turn, from its first commit until it expires.
#[derive(Debug, Clone, Default)]
pub struct Life {
    pub log: Vec<Logged>,
    /// What its owners showed, by number, kept or not.
    pub shown: BTreeMap<u64, String>,
    /// Owner → when its last commit was applied.
    pub owners: BTreeMap<String, u64>,
    pub owner: String,
    pub open: bool,
    pub status: String,
    /// Owner → the status it kept last.
    pub said: BTreeMap<String, String>,
    pub records: BTreeMap<String, (String, String)>,
    /// (batch, call) → starts.
    pub starts: BTreeMap<(u64, String), Vec<Start>>,
    pub forgotten: u64,
    phase: u8,
    pub cycle: u64,
    spent: BTreeMap<(u64, String), u64>,
    signatures: BTreeSet<String>,
    /// Signatures that the user has denied.
    denied: BTreeSet<String>,
    answered: BTreeSet<(u64, String)>,
}

#[derive(Debug, Default)]
pub struct Truth {
    /// By turn of the plan; the last life is the current one.
    pub lives: Vec<Vec<Life>>,
    /// Turn → signatures that the user has approved.
    pub granted: Vec<BTreeSet<String>>,
    pub failure: Option<String>,
    /// Tools started, effects on the world by idempotency key.
    pub starts: u64,
    pub effects: BTreeMap<String, u64>,
}

pub const TERMINAL: [&str; 4] = ["complete", "paused", "cancelled", "error"];

fn is_terminal(event: &Value) -> bool {
    event["type"].as_str().is_some_and(|kind| TERMINAL.contains(&kind))
}

fn order(event: &Value) -> u8 {
    match event["phase"].as_str().unwrap_or_default() {
        "tool_phase" | "unified" => 0,
        "action_phase" => 1,
        _ => 2,
    }
}

/// The elements of a JSON array, as they stand.
pub fn elements(text: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut escaped, mut from) = (0, false, false, 1);
    let mut out = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 1 => {
                out.push(text[from..at].to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..text.len() - 1].to_owned());
    out
}

impl Truth {
    pub fn new(turns: usize) -> Self {
        Self {
            lives: vec![Vec::new(); turns],
            granted: vec![BTreeSet::new(); turns],
            ..Self::default()
        }
    }

    pub fn fail(&mut self, rule: &str, what: impl std::fmt::Display) {
        self.failure.get_or_insert_with(|| format!("{rule}: {what}"));
    }

    pub fn check(&mut self, holds: bool, rule: &str, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(rule, what());
        }
    }

    /// The life in which an owner has written, else the current one. A copy of its first commit
    /// that comes when its turn has expired begins another, in which nobody goes on.
    pub fn life(&self, turn: usize, owner: &str) -> Option<&Life> {
        self.home(turn, owner)
            .and_then(|at| self.lives[turn].get(at))
            .or_else(|| self.lives[turn].last())
    }

    /// Where in `lives` the life is in which an owner has written.
    pub fn home(&self, turn: usize, owner: &str) -> Option<usize> {
        let wrote = self.lives[turn].iter().enumerate();
        let wrote = wrote.filter(|(_, life)| life.owners.contains_key(owner));
        let by = |life: &Life| life.log.iter().filter(|one| one.owner == owner).count();
        wrote.max_by_key(|(_, life)| by(life)).map(|(at, _)| at)
    }

    /// I15: nothing of another tenant.
    pub fn foreign(&mut self, plan: &Plan, turn: usize, text: &str, place: &str) {
        let own = &plan.turns[turn].tenant;
        for other in ["TENANT-0", "TENANT-1"] {
            if other != own && text.contains(other) {
                self.fail("I15", format!("{other} in {place} of {own}: {text}"));
            }
        }
    }

    /// A store has written a commit.
    pub fn applied(&mut self, plan: &Plan, turn: usize, now: u64, commit: &Commit, fresh: bool) {
        // What has expired is gone, and what has not is known.
        let newest = self.lives[turn].last().and_then(|life| life.owners.values().max().copied());
        let ttl = plan.keep["ttlMs"].as_u64().unwrap_or(u64::MAX / 2);
        let expired = newest.is_none_or(|newest| now >= newest + ttl);
        self.check(fresh == expired, "expiry", || format!("{newest:?} at {now}: fresh {fresh}"));
        if fresh {
            let life = Life { open: true, cycle: 1, ..Life::default() };
            self.lives[turn].push(life);
        }
        let Some(mut life) = self.lives[turn].pop() else {
            return self.fail("I4", "the first commit of a turn is not number 1");
        };
        // I4: whoever was replaced never writes again; nobody writes a turn that is over (I14).
        let replaced = life.owners.contains_key(&commit.owner) && life.owner != commit.owner;
        self.check(!replaced, "I4", || format!("{} was replaced, and wrote", commit.owner));
        self.check(life.open, "I14", || format!("a turn that is {} was written", life.status));
        life.owner.clone_from(&commit.owner);
        life.owners.insert(commit.owner.clone(), now);
        if let Some(state) = &commit.state {
            let state: Value = serde_json::from_str(state).expect("a state is JSON");
            life.status = state["status"].as_str().expect("a status").to_owned();
            life.said.insert(commit.owner.clone(), life.status.clone());
            self.foreign(plan, turn, commit.state.as_deref().unwrap_or_default(), "a state");
        }
        let over = matches!(&*life.status, "complete" | "cancelled");
        let rests = matches!(&*life.status, "running" | "paused");
        self.check(!(over && commit.open || rests && !commit.open), "I14", || {
            format!("a turn that is {} has open: {}", life.status, commit.open)
        });
        life.open = commit.open;
        life.forgotten = life.forgotten.max(commit.forget);
        for (name, text) in &commit.records {
            // I2: a record is written once.
            let before = life.records.insert(name.clone(), (text.clone(), commit.owner.clone()));
            self.check(before.is_none(), "I2", || format!("{name} was written twice"));
            self.foreign(plan, turn, text, "a record");
        }
        if let Some((last, text)) = &commit.events {
            for raw in elements(text) {
                self.logged(plan, turn, &mut life, raw, &commit.owner);
            }
            let end = life.log.last().map_or(0, |one| one.seq);
            self.check(end == *last, "I5", || format!("a group up to {last} ends at {end}"));
        }
        self.lives[turn].push(life);
    }

    fn logged(&mut self, plan: &Plan, turn: usize, life: &mut Life, raw: String, owner: &str) {
        let event: Value = serde_json::from_str(&raw).expect("an event is JSON");
        self.foreign(plan, turn, &raw, "an event");
        self.check(!raw.contains("TOO-OLD"), "reuse", || raw.clone());
        let seq = event["seq"].as_u64().expect("seq");
        let last = life.log.last();
        let end = last.map_or(0, |one| one.seq);
        // I5: no gap and nothing twice; one terminal event per leg, nothing of it behind.
        let follows = if plan.keeps_text() { seq == end + 1 } else { seq > end };
        self.check(follows, "I5", || format!("event {seq} follows {end}: {raw}"));
        if let Some(last) = last.filter(|last| is_terminal(&last.event)) {
            let goes_on = last.event["type"] == "paused" || last.event["type"] == "error";
            self.check(goes_on && last.owner != owner, "I5", || {
                format!("{raw} stands behind {}", last.raw)
            });
        }
        self.check(event["requestId"] == *plan.turns[turn].request, "I15", || raw.clone());
        // I6: phases only move forward within a cycle.
        let phase = order(&event);
        if phase < life.phase {
            life.cycle += 1;
            self.check(event["type"] == "phase_start", "I6", || format!("{raw} goes back"));
            let most = plan.limit("maxCycles");
            self.check(life.cycle <= most, "I6", || format!("cycle {} of {most}", life.cycle));
        }
        life.phase = phase;
        if event["type"] == "tool_calls" && phase == 1 {
            // I7: a strict action phase has no tools.
            let hybrid = plan.policy["actionTools"].as_array().is_some_and(|all| !all.is_empty());
            self.check(hybrid, "I7", || raw.clone());
        }
        let signatures = |calls: &Value| -> BTreeSet<String> {
            let calls = calls.as_array().into_iter().flatten();
            calls.filter_map(|call| call["signature"].as_str().map(str::to_owned)).collect()
        };
        if event["type"] == "approval_required" {
            let again = !life.denied.is_disjoint(&signatures(&event["toolCalls"]));
            self.check(!again, "approval", || format!("{raw} was denied before"));
        }
        if event["type"] == "refused" && event["reason"] == "not_approved" {
            life.denied.append(&mut signatures(&event["toolCalls"]));
        }
        let batch = event["toolBatchId"].as_u64().expect("toolBatchId");
        for result in event["toolResults"].as_array().into_iter().flatten() {
            // I2: one outcome per call, and it is the one on record.
            let id = result["toolCallId"].as_str().expect("id").to_owned();
            let first = life.answered.insert((batch, id.clone()));
            self.check(first, "I2", || format!("a second outcome of {batch}/{id}"));
            let record = life.records.get(&format!("outcome/{batch}/{id}"));
            let started = life.starts.contains_key(&(batch, id.clone()));
            match record {
                Some((text, _)) => {
                    let kept: Value = serde_json::from_str(text).expect("an outcome is JSON");
                    for key in ["status", "result", "error", "truncated", "durationMs"] {
                        self.check(kept[key] == result[key], "I2", || {
                            format!("{batch}/{id} was kept as {kept} and shown as {result}")
                        });
                    }
                }
                None => self.check(!started, "I2", || format!("no record of {batch}/{id}")),
            }
            let size = result["result"].as_str().map_or(0, str::len);
            let cut = plan.tools[result["name"].as_str().unwrap_or_default()]["maxResultBytes"]
                .as_u64()
                .is_some_and(|limit| size as u64 > limit + 60 && result["status"] == "ok");
            self.check(!cut, "I8", || format!("a result of {size} bytes"));
        }
        let (owner, cycle) = (owner.to_owned(), life.cycle);
        life.log.push(Logged { seq, raw, event, owner, cycle });
    }

    /// A host starts a tool.
    pub fn started(
        &mut self,
        plan: &Plan,
        turn: usize,
        (now, owner): (u64, &str),
        (batch, id): (u64, &str),
        start: Start,
    ) {
        self.starts += 1;
        let granted = self.granted[turn].clone();
        let at = self.lives[turn].iter().rposition(|life| life.owners.contains_key(owner));
        let Some(at) = at else {
            return self.fail("I3", format!("{owner} started without a claim"));
        };
        let mut life = std::mem::take(&mut self.lives[turn][at]);
        let tool = &plan.tools[&start.name];
        // I3: the claim is kept, with this key, by this owner.
        let (from, to) = (format!("claim/{batch}/"), format!("/{id}"));
        let claimed = life.records.iter().any(|(name, (text, writer))| {
            name.starts_with(&from)
                && name.ends_with(&to)
                && writer == owner
                && text.contains(&start.key)
        });
        self.check(claimed, "I3", || format!("{batch}/{id} was started without a claim"));
        // An owner that slept past its lease starts nothing: it may have been replaced.
        let awake = life.owners[owner] + plan.lease() + 5 > now;
        self.check(awake, "I4", || format!("{owner} started {batch}/{id} behind its lease"));
        let starts = life.starts.entry((batch, id.to_owned())).or_default();
        if let Some(first) = starts.first() {
            // I1: started once, or with the same key.
            let again = tool["readOnly"] == true || tool["idempotent"] == true;
            let same =
                first.key == start.key && first.name == start.name && first.args == start.args;
            self.check(again, "I1", || format!("{} {batch}/{id} was started twice", start.name));
            self.check(same, "I1", || format!("{batch}/{id}: {first:?}, then {start:?}"));
        }
        let first = starts.is_empty();
        starts.push(start.clone());
        let is_call = |logged: &&Logged| {
            logged.event["type"] == "tool_calls" && logged.event["toolBatchId"] == batch
        };
        let found = life.log.iter().filter(is_call).find_map(|logged| {
            let calls = logged.event["toolCalls"].as_array()?;
            Some((logged, calls.iter().find(|call| call["id"] == id)?))
        });
        match found {
            None => self.fail("I3", format!("{batch}/{id} was started before it was shown")),
            Some((logged, call)) => {
                self.check(call["args"] == start.args && call["name"] == start.name, "I9", || {
                    format!("{call} was shown, and started as {start:?}")
                });
                let action = logged.event["phase"] == "action_phase";
                let allow = plan.policy["actionTools"].as_array();
                let listed = |allow: &Vec<Value>| allow.iter().any(|name| *name == *start.name);
                // I9: only tools of the registry and the allowlist, with arguments that fit.
                self.check(tool.is_object(), "I9", || start.name.clone());
                self.check(!action || allow.is_some_and(listed), "I9", || start.name.clone());
                let misfit = misfit(&tool["schema"], &start.args);
                self.check(misfit.is_none() && start.args.is_object(), "I9", || {
                    format!("{start:?}: {misfit:?}")
                });
                let signature = call["signature"].as_str().expect("signature").to_owned();
                let approved = tool["needsApproval"] != true || granted.contains(&signature);
                self.check(approved, "approval", || format!("{call} was not approved"));
                if first {
                    let fresh = life.signatures.insert(signature);
                    self.check(fresh || tool["dedupe"] == "allow", "I8", || {
                        format!("{call} has the signature of an earlier call")
                    });
                    let phase = logged.event["phase"].as_str().expect("phase").to_owned();
                    // I8: the budgets of the phases, over all legs of the turn.
                    let most = match &*phase {
                        "tool_phase" => plan.limit("maxTools"),
                        "action_phase" => plan.limit("actionMaxTools"),
                        _ => u64::MAX,
                    };
                    let spent = life.spent.entry((logged.cycle, phase)).or_default();
                    *spent += 1;
                    self.check(*spent <= most, "I8", || format!("{spent} of {most} calls ran"));
                }
            }
        }
        self.lives[turn][at] = life;
    }

    /// I12: a line that opens a box is followed by one payload line and its close.
    pub fn boxes(&mut self, body: &Value) {
        match body {
            Value::String(text) if text.contains("TOOL RESULT ") => {
                let mut lines = text.split('\n').peekable();
                while let Some(line) = lines.next() {
                    let opens = line.strip_prefix("TOOL RESULT ").filter(|nonce| nonce.len() == 32);
                    if let Some(nonce) = opens {
                        let payload = lines.next().unwrap_or_default();
                        let close = lines.next().unwrap_or_default();
                        let whole = format!("{line}\n{payload}\n{close}");
                        let inside = turnlock::tool::unwrap_box(&whole);
                        let closes = close == format!("END TOOL RESULT {nonce}");
                        self.check(inside.is_some() && closes, "I12", || whole.clone());
                    } else {
                        let stray =
                            line.starts_with("END TOOL RESULT") || line.starts_with("TOOL RESULT");
                        self.check(!stray, "I12", || format!("a forged box: {text}"));
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.boxes(item)),
            Value::Object(members) => members.values().for_each(|value| self.boxes(value)),
            _ => {}
        }
    }

    /// I10: what a page kept of the events is a history that any provider takes.
    pub fn history(&mut self, plan: &Plan, turn: usize) {
        let Some(life) = self.lives[turn].last() else { return };
        let mut all = vec![json!({ "role": "user", "content": "go" })];
        for Logged { event, .. } in &life.log {
            match event["type"].as_str().unwrap_or_default() {
                "tool_calls" => {
                    for call in event["toolCalls"].as_array().into_iter().flatten() {
                        all.push(json!({ "type": "tool_call_start", "toolCallId": call["id"],
                                         "toolName": call["name"], "args": call["args"] }));
                    }
                }
                "tool_results" => {
                    for one in event["toolResults"].as_array().into_iter().flatten() {
                        let result = one.get("result").or_else(|| one.get("error")).cloned();
                        all.push(
                            json!({ "type": "tool_call_result", "toolCallId": one["toolCallId"],
                                         "result": result.unwrap_or_default() }),
                        );
                    }
                }
                "text" => all.push(json!({ "role": "assistant", "content": event["chunk"] })),
                _ => {}
            }
        }
        all.push(json!({ "role": "user", "content": "and now?" }));
        let text = Value::Array(all).to_string();
        let Ok(Json::Array(items)) = Json::parse_str(&text) else { panic!("an array") };
        let dialect = turnlock::Dialect::parse(plan.dialect).expect("a dialect");
        let options = turnlock::history::HistoryOptions::new(dialect);
        match turnlock::history::normalize(items, &options) {
            Err(error) => self.fail("I10", format!("{error}: {text}")),
            Ok(made) => {
                let violations = turnlock::history::diagnose(made.messages, dialect);
                let clean = violations.as_ref().is_ok_and(Vec::is_empty);
                self.check(clean, "I10", || format!("{violations:?}: {text}"));
            }
        }
    }
}
