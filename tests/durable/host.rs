//! The rules of a host, as every driver has them: perform each effect in order, tell each fact.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use turnlock::canon::Json;
use turnlock::store::{Answer, Commit};
use turnlock::turn::{Effect, Settled, Verdict};

use crate::common;
use crate::leg::{Fact, Wish};
use crate::misfit;
use crate::plan::{Fault, entry};
use crate::truth::Start;
use crate::world::{Run, What, World};

/// From the end of a turn's time to its last word: two commits, each with every attempt.
const GRACE: u64 = 45_000;

impl World {
    pub fn tell(&mut self, leg: usize, fact: Fact) {
        let Some(mut machine) = self.legs[leg].machine.take().filter(|_| self.legs[leg].alive)
        else {
            return;
        };
        let now = self.now + self.legs[leg].clock;
        let stored = matches!(&fact, Fact::Stored { answer: Answer::Kept, .. });
        self.note(|| format!("leg {leg} is told {}", fact.describe()));
        let fact = match fact {
            Fact::Stored { attempt, answer, .. }
                if self.bug("host: an answer is taken for the newest commit's") =>
            {
                Fact::Stored { revision: self.legs[leg].newest, attempt, answer }
            }
            fact => fact,
        };
        machine.handle(now, fact.input());
        if !matches!(fact, Fact::Bytes { .. } | Fact::Ended { .. } | Fact::Pause | Fact::Cancel(_))
        {
            self.legs[leg].told.push(fact.clone());
        }
        if self.tapes {
            self.legs[leg].tape.push((now, fact));
        }
        while let Some(effect) = machine.poll() {
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
        }
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
        let deadline = machine.next_deadline();
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
            Effect::Fetch { inference, attempt, body } => {
                self.fetch(leg, inference, attempt, &body)
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
                let mut text = event.to_text();
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
        }
    }

    fn fetch(&mut self, leg: usize, inference: u32, attempt: u32, body: &Json<'static>) {
        if self.dies_at(leg, "request is about to be sent") {
            return;
        }
        let turn = self.legs[leg].turn;
        let text = body.to_text();
        let asked: Value = serde_json::from_str(&text).expect("JSON");
        // Asking costs money: only the owner of a turn does.
        let owner = self.legs[leg].owner.clone();
        let asks = self.legs[leg].inference.keys().next().copied();
        self.truth.check(asks.is_none(), "I8", || format!("leg {leg} asks twice at a time"));
        let ours = self.truth.lives[turn].iter().any(|life| life.owners.contains_key(&owner));
        self.truth.check(ours, "I4", || format!("leg {leg} asks, and has kept nothing"));
        // I10: every request is one that the provider takes.
        let dialect = turnlock::Dialect::parse(self.legs[leg].dialect).expect("a dialect");
        let Some(Json::Array(messages)) = body.get("messages") else { panic!("no messages") };
        let violations = turnlock::message::diagnose(messages.iter().cloned(), dialect);
        let clean = violations.as_ref().is_ok_and(Vec::is_empty);
        self.truth.check(clean, "I10", || format!("{violations:?}: {text}"));
        self.truth.foreign(&self.plan, turn, &text, "a request");
        if !self.plan.is_unified() && self.plan.policy["resultsAs"] != "native" {
            self.truth.boxes(&asked);
        }
        // I8: inferences and attempts, over all legs.
        let most = if self.plan.is_unified() {
            self.plan.limit("maxSteps")
        } else {
            (self.plan.limit("maxTools") + self.plan.limit("actionMaxTools") + 3)
                * self.plan.limit("maxCycles")
        };
        self.truth.check(u64::from(inference) <= most, "I8", || format!("{inference} of {most}"));
        let retries = self.plan.max_retries + 1;
        self.truth.check(u64::from(attempt) <= retries, "I8", || format!("attempt {attempt}"));
        self.legs[leg].requests.push((inference, asked));
        let (entry, fault) = self.answer_to(inference);
        if let Some(fault) = fault {
            self.hit(fault, turn);
        }
        let mut lane = VecDeque::new();
        if let Some(status) = entry["status"].as_u64() {
            let status = u16::try_from(status).expect("a status");
            let retry = entry["retryAfterMs"].as_u64();
            lane.push_back(Fact::Head { inference, attempt, status, retry });
        } else if entry["then"] != "stall_head" {
            lane.push_back(Fact::Head { inference, attempt, status: 200, retry: None });
            let bytes = common::render(&entry, self.legs[leg].dialect);
            let pieces = if self.plan.exact { 3 } else { [1, 2, 3, 7][self.random.below(4)] };
            for bytes in bytes.chunks(bytes.len().div_ceil(pieces).max(1)) {
                lane.push_back(Fact::Bytes { inference, attempt, bytes: bytes.to_vec() });
            }
            match entry["then"].as_str() {
                Some("stall") => {}
                Some("cut") => lane.push_back(Fact::Broken { inference, attempt }),
                _ => lane.push_back(Fact::Ended { inference, attempt }),
            }
        }
        let number = self.next_fetch();
        self.legs[leg].inference.insert(inference, number);
        self.legs[leg].lanes.insert(number, lane);
        let wait = self.latency();
        self.after(wait, What::Lane(leg, number));
    }

    fn answer_to(&mut self, inference: u32) -> (Value, Option<Fault>) {
        if let Some(model) = &self.plan.model {
            let at = usize::try_from(inference).expect("small") - 1;
            let last = || serde_json::json!({ "text": ["done"] });
            return (model.get(at).cloned().unwrap_or_else(last), None);
        }
        if self.healed {
            return (serde_json::json!({ "text": ["done"] }), None);
        }
        entry(&mut self.random, &self.plan.faults)
    }

    pub fn next_of_lane(&mut self, leg: usize, lane: u64) {
        if !self.legs[leg].works() {
            return;
        }
        let Some(facts) = self.legs[leg].lanes.get_mut(&lane) else { return };
        let Some(fact) = facts.pop_front() else { return };
        let place = match &fact {
            Fact::Head { .. } => "response head",
            Fact::Bytes { .. } => "response bytes",
            _ => "response end",
        };
        let ends = match &fact {
            Fact::Head { inference, status, .. } if *status != 200 => Some(*inference),
            Fact::Ended { inference, .. } | Fact::Broken { inference, .. } => Some(*inference),
            _ => None,
        };
        if !facts.is_empty() {
            let wait = if self.plan.exact { 1 } else { self.random.below(60) as u64 };
            self.after(wait, What::Lane(leg, lane));
        }
        if !self.dies_at(leg, place) {
            if let Some(inference) = ends {
                self.legs[leg].inference.remove(&inference);
            }
            if let Fact::Bytes { inference, attempt, .. } = &fact
                && !self.plan.exact
                && self.random.below(16) == 0
            {
                let held = Fact::HeldBack { inference: *inference, attempt: *attempt };
                self.tell(leg, held);
            }
            self.tell(leg, fact);
        }
    }

    fn check_arguments(&mut self, leg: usize, call: u32, name: &str, args: &Json<'static>) {
        let tool = &self.plan.tools[name];
        let args: Value = serde_json::from_str(&args.to_text()).expect("JSON");
        let verdict = match misfit(&tool["schema"], &args) {
            Some(errors) => Verdict::Invalid { errors },
            None => Verdict::Valid { action: None, approval: tool["needsApproval"] == true },
        };
        let wait = self.latency();
        self.after(wait, What::Tell(leg, Fact::Checked { call, verdict }));
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
            let kept = Fact::Stored { revision, attempt, answer: Answer::Kept };
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
        self.tell(one.leg, Fact::Settled { call: one.call, settled });
    }

    /// An event reaches the user of this leg.
    fn show(&mut self, leg: usize, raw: &str) {
        let event: Value = serde_json::from_str(raw).expect("an event is JSON");
        self.note(|| format!("leg {leg} shows {raw}"));
        let one = &self.legs[leg];
        let over = one.terminal.is_some();
        let (turn, seq) = (one.turn, event["seq"].as_u64().expect("seq"));
        // I5: nothing behind the terminal event, no gap, and nothing that is not kept.
        self.truth.check(!over, "I5", || format!("behind the end of leg {leg}: {raw}"));
        let terminal = Self::is_terminal(&event);
        // A leg that never was the owner's has no place in the order of events.
        let owns = self.truth.lives[turn].iter().any(|life| life.owners.contains_key(&one.owner));
        let follows = seq == one.shown + 1 || !owns && terminal;
        self.truth.check(follows, "I5", || format!("leg {leg} shows {seq} behind {}", one.shown));
        let life = self.truth.life(turn, &one.owner);
        let logged = life.and_then(|life| match life.log.get(usize::try_from(seq).ok()? - 1) {
            Some(one) if one.seq == seq => Some(one),
            _ => life.log.iter().find(|one| one.seq == seq),
        });
        let kept = logged.is_some_and(|logged| logged.raw == raw && logged.owner == one.owner);
        let quiet = matches!(event["type"].as_str(), Some("text" | "reasoning"));
        let shows_early = quiet && !self.plan.keeps_text();
        if !kept && !shows_early {
            // A leg that is not, or no longer, the owner's ends with its own word.
            let code = event["code"].as_str().unwrap_or_default();
            let own = code.starts_with("turn.") || code.starts_with("store.");
            let stopped = life.is_some_and(|life| life.status == "cancelled");
            let may = event["type"] == "error" && own || event["type"] == "cancelled" && stopped;
            self.truth.check(may, "I5", || format!("leg {leg} shows what is not kept: {raw}"));
        }
        let one = &mut self.legs[leg];
        one.shown = seq;
        one.phase = event["phase"].as_str().expect("phase").to_owned();
        if terminal {
            one.terminal = Some((event, kept));
        }
    }

    fn done(&mut self, leg: usize, result: &Json<'static>) {
        let result: Value = serde_json::from_str(&result.to_text()).expect("JSON");
        self.note(|| format!("leg {leg} is done: {result}"));
        let one = &self.legs[leg];
        let (turn, owner) = (one.turn, one.owner.clone());
        let Some((terminal, kept)) = one.terminal.clone() else {
            return self.truth.fail("I5", format!("leg {leg} ends without a terminal event"));
        };
        let status = match terminal["type"].as_str() {
            Some("error") => "failed",
            other => other.unwrap_or_default(),
        };
        self.truth.check(result["status"] == status, "I5", || format!("{result} and {terminal}"));
        // What runs is told.
        let runs = one.open.len();
        self.truth.check(runs == 0, "I14", || format!("leg {leg} leaves {runs} tools running"));
        let code = terminal["code"].as_str().unwrap_or_default().to_owned();
        let (found, mismatch) = (one.found.clone(), one.mismatch);
        self.truth.check(!mismatch || code == "store.version", "version", || terminal.to_string());
        // I14: a turn that was stopped is never resumed, and says so.
        let resumes = !mismatch && matches!(one.wish, Wish::Resume(_));
        self.truth.check(
            !resumes || found != "cancelled" || code == "turn.cancelled",
            "I14",
            || format!("a stopped turn: {terminal}"),
        );
        let cutoff = terminal["seq"].as_u64().expect("seq") - u64::from(!kept);
        if let Some(life) = self.truth.life(turn, &owner).filter(|l| l.owners.contains_key(&owner))
        {
            let mut wrong = None;
            if kept && life.said.get(&owner).map(String::as_str) != Some(status) {
                wrong = Some(format!("{status}, and kept as {:?}", life.said.get(&owner)));
            }
            let events = || life.log.iter().filter(|one| one.seq <= cutoff).map(|one| &one.event);
            // Never lost to itself.
            let current = life.owner == owner && life.open && self.truth.lives[turn].len() == 1;
            let stands = self.store.stands(self.now, &self.key(turn)).is_some();
            if code == "turn.conflict" && current && stands {
                wrong = Some(format!("leg {leg} lost its turn to nobody"));
            }
            if self.plan.keeps_text() {
                let text =
                    |event: &Value| (event["type"] == "text").then(|| event["chunk"].clone());
                let texts: String = events()
                    .filter_map(text)
                    .map(|chunk| chunk.as_str().unwrap_or_default().to_owned())
                    .collect();
                if result["fullContent"] != *texts {
                    wrong = Some(format!("{texts:?} was shown, the result has {result}"));
                }
            }
            if kept {
                let all: Vec<&Value> = events()
                    .flat_map(|e| e["toolResults"].as_array().into_iter().flatten())
                    .collect();
                let got: Vec<&Value> =
                    result["toolResults"].as_array().into_iter().flatten().collect();
                if all != got {
                    wrong = Some(format!("results {all:?} were kept, the result has {got:?}"));
                }
                let blocked = events().rfind(|e| e["type"] == "refused");
                let blocked =
                    blocked.map_or(Value::Array(vec![]), |e| e["blockedSignatures"].clone());
                if result["blockedSignatures"] != blocked {
                    wrong = Some(format!("{blocked} was blocked, the result has {result}"));
                }
            }
            if let Some(wrong) = wrong {
                self.truth.fail("result", wrong);
            }
        }
        let lost = !kept && matches!(self.legs[leg].wish, Wish::Cancel) && code == "turn.conflict";
        let one = &mut self.legs[leg];
        one.result = Some(result);
        let rests = self.truth.lives[turn].last().is_some_and(|life| life.open);
        if lost && rests {
            // The owner wrote in between: a host that cancels tries again.
            let wait = self.latency();
            self.retry_cancel(turn, wait);
        } else if rests {
            self.follow_up(turn);
        }
    }

    fn retry_cancel(&mut self, turn: usize, wait: u64) {
        if self.follow_ups[turn] < 20 {
            self.follow_ups[turn] += 1;
            self.after(wait, What::Begin(turn, Wish::Cancel));
        }
    }
}
