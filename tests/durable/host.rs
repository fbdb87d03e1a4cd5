//! The rules of a host, as every driver has them: perform each effect in order, tell each fact.

use std::sync::Arc;

use serde_json::Value;
use turnlock::Next;
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult};
use turnlock::turn::{Effect, Input, Settled, Verdict};

use crate::common::facts::misfit;
use crate::leg::describe;
use crate::plan::Fault;
use crate::truth::Start;
use crate::world::{Run, What, World};

/// From the end of a turn's time to its last word: two commits, each with every attempt.
const GRACE: u64 = 45_000;

impl World {
    pub fn tell(&mut self, leg: usize, fact: Input) {
        let Some(mut machine) = self.legs[leg].machine.take().filter(|_| self.legs[leg].alive)
        else {
            return;
        };
        let now = self.now + self.legs[leg].clock;
        let stored = matches!(&fact, Input::Stored { answer: CommitResult::Stored, .. });
        self.note(|| format!("leg {leg} is told {}", describe(&fact)));
        let fact = match fact {
            Input::Stored { attempt, answer, .. }
                if self.bug("host: an answer is taken for the newest commit's") =>
            {
                Input::Stored { revision: self.legs[leg].newest, attempt, answer }
            }
            fact => fact,
        };
        machine.handle(now, fact.clone());
        if !matches!(
            fact,
            Input::ResponseBytes { .. }
                | Input::ResponseEnded { .. }
                | Input::Pause
                | Input::Cancel { .. }
        ) {
            self.legs[leg].told.push(fact.clone());
        }
        if self.tapes {
            self.legs[leg].tape.push((now, fact));
        }
        let deadline = loop {
            let effect = match machine.poll() {
                Next::Effect(effect) => effect,
                Next::Wait { until } => break until,
            };
            let over = self.legs[leg].result.is_some();
            self.truth.check(!over, "I5", || format!("behind the end: {effect:?}"));
            if self.tapes {
                self.legs[leg].effects.push(format!("{effect:?}"));
            }
            if !matches!(effect, Effect::Commit { .. } | Effect::Emit(_) | Effect::Trace(_)) {
                self.note(|| format!("leg {leg} does {effect:?}"));
            }
            self.perform(leg, effect);
            if !self.legs[leg].alive {
                return;
            }
        };
        let old = self.legs[leg].told.len();
        if old > 0 && !self.plan.exact && self.random.below(12) == 0 {
            // What comes late, or twice, changes nothing.
            let fact = self.legs[leg].told[self.random.below(old)].clone();
            let wait = self.latency();
            self.after(wait, What::Tell(leg, fact));
        }
        if stored && self.dies_at(leg, "commit answered") {
            return;
        }
        let one = &mut self.legs[leg];
        one.machine = Some(machine);
        if one.result.is_none() {
            // I13: a leg ends in time, whatever happens to it.
            let most = self.plan.limit("turnMs") + GRACE + one.frozen_for;
            let took = self.now - one.began;
            self.truth.check(took <= most, "I13", || format!("leg {leg} took {took} ms"));
            let waits = deadline.is_some();
            self.truth.check(waits, "I13", || format!("leg {leg} waits for ever"));
        }
        let Some(at) = deadline.map(|at| at.saturating_sub(self.legs[leg].clock)) else { return };
        if self.legs[leg].timer.is_none_or(|(due, _)| due != at) {
            let number = self.next_fetch();
            self.legs[leg].timer = Some((at, number));
            self.after(at.saturating_sub(self.now), What::Timer(leg, number));
        }
    }

    fn perform(&mut self, leg: usize, effect: Effect) {
        match effect {
            Effect::Fetch { inference, attempt, request, .. } => {
                self.fetch(leg, inference, attempt, &request.body)
            }
            Effect::Repair { inference, attempt, mut body, refusal, .. } => {
                let dialect = turnlock::Dialect::parse(self.plan.dialect).expect("a dialect");
                let repairs = turnlock::history::repair(dialect, &mut body, &refusal);
                let repaired = Input::Repaired { inference, attempt, body, repairs };
                let wait = self.latency();
                self.after(wait, What::Tell(leg, repaired));
            }
            Effect::Abort { inference } => {
                if let Some(lane) = self.legs[leg].inference.remove(&inference) {
                    self.legs[leg].lanes.remove(&lane);
                }
            }
            Effect::Check { call, name, args } => self.check_arguments(leg, call, &name, &args),
            Effect::Recall { call, key } => {
                let wait = self.latency();
                self.after(wait, What::Recall(leg, call, key));
            }
            Effect::Commit { attempt, commit } => self.send(leg, attempt, commit),
            Effect::RunTool {
                call,
                name,
                tool_call_id,
                tool_batch_id,
                idempotency_key,
                args,
                ..
            } => {
                if self.dies_at(leg, "tool is about to start") {
                    return;
                }
                let args: Value = serde_json::from_str(&args.to_text()).expect("JSON");
                let start = Start { name: name.clone(), key: idempotency_key.clone(), args };
                let turn = self.legs[leg].turn;
                self.note(|| format!("leg {leg} starts {tool_batch_id}/{tool_call_id} {start:?}"));
                let owner = self.legs[leg].owner.clone();
                let at = (u64::from(tool_batch_id), &*tool_call_id);
                if self.bug("host: a tool is started twice") && call == 2 {
                    self.truth.started(&self.plan, turn, (self.now, &owner), at, start.clone());
                }
                self.truth.started(&self.plan, turn, (self.now, &owner), at, start);
                self.run(leg, call, name, idempotency_key);
            }
            Effect::CancelTool { call, .. } => {
                let Some(run) = self.legs[leg].open.remove(&call) else {
                    return self.truth.fail("host", format!("call {call} does not run"));
                };
                self.runs[run].told = true;
                // It settles all the same, too late.
                let wait = self.latency();
                self.after(wait, What::Settle(run));
            }
            Effect::Emit(event) => {
                let mut raw = String::new();
                event.write_json(&mut raw);
                self.show(leg, &raw);
            }
            Effect::Trace(event) => {
                let mut text = event.to_json().to_text();
                if self.bug("host: text goes to the trace") {
                    text += &self.legs[leg].options;
                    text += &self.legs[leg].secret;
                }
                let (owner, secret) = (&self.legs[leg].owner, &self.legs[leg].secret);
                // I11: nothing secret, no arguments, no results in traces.
                let leaks = ["CANARY", "TENANT", "word ", owner, secret]
                    .into_iter()
                    .any(|s| text.contains(s));
                self.truth.check(!leaks, "I11", || text.clone());
            }
            Effect::Done { result } => self.done(leg, &result),
            effect => self.truth.fail("host", format!("unknown: {effect:?}")),
        }
    }

    fn check_arguments(&mut self, leg: usize, call: u32, name: &str, args: &Json<'static>) {
        let tool = &self.plan.tools[name];
        let args: Value = serde_json::from_str(&args.to_text()).expect("JSON");
        let verdict = match misfit(&tool["schema"], &args) {
            Some(errors) => Verdict::Invalid { errors },
            None => {
                Verdict::Valid { action: None, args: None, approval: tool["needsApproval"] == true }
            }
        };
        let wait = self.latency();
        self.after(wait, What::Tell(leg, Input::Checked { call, verdict }));
    }

    /// A commit goes to the store.
    fn send(&mut self, leg: usize, attempt: u32, commit: Arc<Commit>) {
        let turn = self.legs[leg].turn;
        if let Some(state) = &commit.state {
            self.legs[leg].ending = !state.contains("\"status\":\"running\"");
        }
        if self.plan.exact {
            // A process dies while its write is on the way, and the write comes late.
            let before = self.deaths.len();
            if self.dies_at(leg, "commit is about to be sent") {
                return;
            }
            if self.dies_at(leg, "commit is on its way") {
                if self.deaths.len() < before {
                    self.late_writes.push((leg, attempt, commit));
                }
                return;
            }
        }
        let revision = commit.revision;
        self.legs[leg].newest = revision;
        if self.bug("host: a commit counts as kept when it is sent") {
            let kept = Input::Stored { revision, attempt, answer: CommitResult::Stored };
            self.after(0, What::Tell(leg, kept));
        }
        if self.bug("host: events are shown when they are sent")
            && let Some((_, text)) = &commit.events
        {
            for raw in crate::truth::elements(text) {
                self.show(leg, &raw);
            }
        }
        let mut wait = self.latency();
        if self.chance(Fault::LostBefore, turn, 10) {
            self.disturbed = true;
            return;
        }
        let answers = !self.chance(Fault::LostAfter, turn, 10);
        if self.chance(Fault::Slow, turn, 8) {
            wait += 100 + self.random.below(4_700) as u64;
        }
        if self.chance(Fault::Late, turn, 12) {
            wait += 5_000 + self.random.below(30_000) as u64;
        }
        self.disturbed |= !answers || wait > 100;
        if self.chance(Fault::Doubled, turn, 6) {
            let late = wait + self.random.below(400) as u64;
            self.after(late, What::Commit(leg, attempt, commit.clone(), answers));
        }
        self.after(wait, What::Commit(leg, attempt, commit, answers));
    }

    fn run(&mut self, leg: usize, call: u32, name: String, key: String) {
        let turn = self.legs[leg].turn;
        let run = self.runs.len();
        self.runs.push(Run { leg, call, name: name.clone(), key, told: false, over: false });
        self.legs[leg].open.insert(call, run);
        if self.dies_at(leg, "tool has started") {
            self.runs[run].over = true;
            return;
        }
        if self.plan.tools[&name]["hangs"] == true {
            return self.hit(Fault::Hangs, turn);
        }
        let (effect, settle) = if self.plan.exact {
            (1, 2)
        } else {
            let short = self.random.below(200) as u64;
            let long = if self.chance(Fault::LateTool, turn, 3) { 40_000 } else { 600 };
            (short, short + self.random.below(long) as u64)
        };
        self.after(effect, What::Effect(run));
        self.after(settle, What::Settle(run));
    }

    pub fn settle(&mut self, run: usize) {
        let one = self.runs[run].clone();
        if one.over {
            return;
        }
        self.runs[run].over = true;
        let turn = self.legs[one.leg].turn;
        if self.dies_at(one.leg, "tool settles") {
            return;
        }
        let tool = self.plan.tools[&one.name].clone();
        let settled = if let Some(message) = tool["throws"].as_str() {
            self.hit(Fault::Throws, turn);
            Settled::Error { code: "tool.threw".to_owned(), message: message.to_owned() }
        } else {
            // A result is its tenant's.
            let text = match tool["returns"].as_str() {
                Some("CANARY-RESULT") => {
                    Value::from(format!("CANARY-RESULT of {}", self.plan.turns[turn].tenant))
                        .to_string()
                }
                _ => tool["returns"].to_string(),
            };
            Settled::Ok { bytes: text.len() as u64, text }
        };
        self.legs[one.leg].open.remove(&one.call);
        self.tell(one.leg, Input::ToolSettled { call: one.call, settled });
    }
}
