//! The simulated world: clock, randomness, schedule, processes, readers.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use std::sync::Arc;

use serde_json::{Value, json};
use turnlock::store::{Answer, Commit, turn_key};
use turnlock::turn::Turn;

use crate::common::Random;
use crate::leg::{Fact, Leg, Wish};
use crate::plan::{DIALECTS, FAULTS, Fault, Plan, Stage};
use crate::store::Store;
use crate::truth::{TERMINAL, Truth, elements};

/// What happens next.
#[derive(Debug, Clone)]
pub enum What {
    Begin(usize, Wish),
    Tell(usize, Fact),
    Lane(usize, u64),
    Timer(usize, u64),
    /// A commit arrives at the store; whether its answer arrives.
    Commit(usize, u32, Arc<Commit>, bool),
    Read(usize),
    Events(usize),
    Restore(usize, Value, Vec<(u64, String)>),
    Refused(usize),
    Recall(usize, u32, String),
    /// A tool has its effect; it settles.
    Effect(usize),
    Settle(usize),
    Poll(usize),
}

/// A run of a tool.
#[derive(Debug, Clone)]
pub struct Run {
    pub leg: usize,
    pub call: u32,
    pub name: String,
    pub key: String,
    pub told: bool,
    pub over: bool,
}

/// Follows the events of a turn, and reconnects with the last `seq` it saw.
#[derive(Debug)]
pub struct Reader {
    pub turn: usize,
    pub life: usize,
    pub after: u64,
    pub seen: Vec<String>,
    pub from: u64,
    pub gone: bool,
    pub polls: u32,
}

/// What happens at a boundary of an exact plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// The process dies, and another one goes on.
    Death,
    /// The process dies, and two others want to go on.
    Race,
    /// Another process stops the turn.
    Stop,
}

/// (fault, stage) → hits.
pub type Hits = BTreeMap<(Fault, Stage), u64>;

#[derive(Debug)]
pub struct World {
    pub plan: Plan,
    pub random: Random,
    pub now: u64,
    queue: BTreeMap<(u64, u64), What>,
    count: u64,
    pub store: Store,
    pub truth: Truth,
    pub legs: Vec<Leg>,
    pub runs: Vec<Run>,
    pub readers: Vec<Reader>,
    pub healed: bool,
    pub trace: Option<String>,
    pub tapes: bool,
    pub hits: Hits,
    /// A fault that can delay or deceive the store has happened.
    pub disturbed: bool,
    pub follow_ups: Vec<u32>,
    mishaps: u32,
    /// What happens at a boundary of an exact plan.
    pub blow: Blow,
    /// Boundaries at which it happens; boundaries passed.
    pub deaths: VecDeque<u64>,
    pub boundaries: Vec<String>,
    pub late_writes: Vec<(usize, u32, Arc<Commit>)>,
    fetched: u64,
}

impl World {
    pub fn new(plan: Plan) -> Self {
        let mut random = Random(plan.seed.wrapping_mul(0xD134_2543_DE82_EF95) | 1);
        random.next();
        let turns = plan.turns.len();
        Self {
            random,
            now: 1_000,
            queue: BTreeMap::new(),
            count: 0,
            store: Store::new(plan.bug),
            truth: Truth::new(turns),
            legs: Vec::new(),
            runs: Vec::new(),
            readers: Vec::new(),
            healed: false,
            trace: None,
            tapes: false,
            hits: Hits::new(),
            disturbed: false,
            follow_ups: vec![0; turns],
            mishaps: 0,
            blow: Blow::Death,
            deaths: VecDeque::new(),
            boundaries: Vec::new(),
            late_writes: Vec::new(),
            fetched: 0,
            plan,
        }
    }

    /// Plays everything; the first rule that was broken.
    pub fn play(&mut self) -> Result<(), String> {
        for turn in 0..self.plan.turns.len() {
            let at = self.plan.turns[turn].at;
            self.after(at, What::Begin(turn, Wish::Run));
            let readers = if self.plan.exact { 1 } else { self.random.below(3) };
            for _ in 0..readers {
                self.read_from(turn, at);
            }
        }
        self.go_on()?;
        self.heal()?;
        self.at_the_end();
        match self.truth.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn read_from(&mut self, turn: usize, at: u64) {
        self.readers.push(Reader {
            turn,
            life: 0,
            after: 0,
            seen: Vec::new(),
            from: 0,
            gone: false,
            polls: 0,
        });
        let reader = self.readers.len() - 1;
        self.after(at + 3, What::Poll(reader));
    }

    /// Until nothing is left to happen.
    fn go_on(&mut self) -> Result<(), String> {
        for _ in 0..60_000 {
            let Some((at, what)) = self.queue.pop_first() else { return Ok(()) };
            self.now = at.0;
            self.mishap();
            self.happen(what);
            if let Some(failure) = self.truth.failure.take() {
                return Err(failure);
            }
        }
        Err("I13: the world does not come to rest".to_owned())
    }

    /// No more faults: every turn that is not over is resumed until it is.
    fn heal(&mut self) -> Result<(), String> {
        self.healed = true;
        self.store.down_until = 0;
        for turn in 0..self.plan.turns.len() {
            for attempt in 0.. {
                let open = self.truth.lives[turn].last().is_some_and(|life| life.open);
                let key = self.key(turn);
                let unknown = self.truth.lives[turn].is_empty();
                if !unknown && (!open || self.store.stands(self.now, &key).is_none()) {
                    break;
                }
                if attempt == 8 {
                    let life = self.truth.lives[turn].last().map(|life| life.status.clone());
                    return Err(format!("I13: turn {turn} is never over: {life:?}"));
                }
                let resume = Wish::Resume(self.approvals(turn));
                // Whoever never got an answer asks once more.
                let wish = if unknown { Wish::Run } else { resume };
                if self.blow == Blow::Race {
                    self.after(self.plan.lease() + 11, What::Begin(turn, wish.clone()));
                }
                self.after(self.plan.lease() + 10, What::Begin(turn, wish));
                self.go_on()?;
            }
        }
        Ok(())
    }

    pub fn after(&mut self, ms: u64, what: What) {
        self.count += 1;
        self.queue.insert((self.now + ms, self.count), what);
    }

    pub fn latency(&mut self) -> u64 {
        if self.plan.exact { 1 } else { 1 + self.random.below(30) as u64 }
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let mut line = line();
            if line.len() > 600 {
                line.truncate(line.floor_char_boundary(600));
                line.push('…');
            }
            writeln!(trace, "{:>7} {line}", self.now).expect("a string takes all");
        }
    }

    pub fn bug(&self, name: &str) -> bool {
        self.plan.bug == name
    }

    pub fn key(&self, turn: usize) -> String {
        let wanted = &self.plan.turns[turn];
        let tenant = if self.bug("host: tenants share turns") { "" } else { &*wanted.tenant };
        turn_key(tenant, &wanted.request)
    }

    /// Where the turn stands.
    pub fn stage(&self, turn: usize) -> Stage {
        let Some(leg) = self.legs.iter().rev().find(|leg| leg.turn == turn && leg.works()) else {
            return Stage::Resting;
        };
        match &*leg.phase {
            _ if leg.ending => Stage::Ending,
            "" => Stage::Opening,
            _ if !leg.open.is_empty() => Stage::Running,
            "action_phase" => Stage::Acting,
            "unified" => Stage::Stepping,
            _ => Stage::Asking,
        }
    }

    /// Whether a fault happens now, once in `of` times.
    pub fn chance(&mut self, fault: Fault, turn: usize, of: usize) -> bool {
        let may = !self.healed && self.plan.has(fault);
        let does = may && self.random.below(of) == 0;
        if does {
            self.hit(fault, turn);
        }
        does
    }

    pub fn hit(&mut self, fault: Fault, turn: usize) {
        let stage = self.stage(turn);
        self.note(|| format!("FAULT {fault:?} in {stage:?} of turn {turn}"));
        *self.hits.entry((fault, stage)).or_default() += 1;
    }

    /// A fault that may come at any point.
    fn mishap(&mut self) {
        if self.healed || self.mishaps >= 6 || self.plan.exact || self.plan.faults.is_empty() {
            return;
        }
        let turn = self.random.below(self.plan.turns.len());
        let stage = self.stage(turn);
        // Tools run for a short time, and that is when most can go wrong.
        let often = if stage == Stage::Running { 2 } else { 8 };
        if self.random.below(often) != 0 {
            return;
        }
        let fault = self.plan.faults[self.random.below(self.plan.faults.len())];
        if !FAULTS.iter().any(|(one, stages)| *one == fault && stages.contains(&stage)) {
            return;
        }
        let leg = self.legs.iter().rposition(|leg| leg.turn == turn && leg.works());
        let lease = self.plan.lease();
        match (fault, leg) {
            (Fault::Crash, Some(leg)) => {
                self.hit(fault, turn);
                self.crash(leg);
            }
            (Fault::Freeze, Some(leg)) => {
                self.hit(fault, turn);
                let long = lease / 2 + self.random.below(3 * lease as usize) as u64;
                self.freeze(leg, long);
            }
            (Fault::FailingForGood, Some(_)) => {
                self.hit(fault, turn);
                self.disturbed = true;
                self.store.down_until = self.now + 120_000;
            }
            (Fault::CancelOwn, Some(leg)) => {
                self.hit(fault, turn);
                self.after(0, What::Tell(leg, Fact::Cancel("own".to_owned())));
            }
            (Fault::Pause, Some(leg)) => {
                self.hit(fault, turn);
                self.after(0, What::Tell(leg, Fact::Pause));
            }
            (Fault::CancelOther, _) => {
                self.hit(fault, turn);
                self.after(0, What::Begin(turn, Wish::Cancel));
            }
            (Fault::TwoResumes, _) => {
                self.hit(fault, turn);
                for _ in 0..2 {
                    let wish = if self.random.below(6) == 0 {
                        Wish::Run
                    } else {
                        Wish::Resume(self.approvals(turn))
                    };
                    let apart = self.random.below(40) as u64;
                    self.after(apart, What::Begin(turn, wish));
                }
            }
            (Fault::WrongClock, Some(_)) => {
                let approvals = self.approvals(turn);
                self.hit(fault, turn);
                self.begin(turn, Wish::Resume(approvals));
                if let Some(leg) = self.legs.last_mut() {
                    leg.deceived = true;
                }
            }
            (Fault::Expiry, None) => {
                self.hit(fault, turn);
                let ttl = self.plan.keep["ttlMs"].as_u64().unwrap_or(0);
                let wish = if self.random.below(2) == 0 { Wish::Run } else { Wish::Resume(vec![]) };
                self.after(ttl + 1, What::Begin(turn, wish));
            }
            (Fault::Disconnect, _) if self.readers.len() < 5 => {
                self.read_from(turn, 0);
            }
            _ => return,
        }
        self.mishaps += 1;
    }

    pub fn crash(&mut self, leg: usize) {
        self.note(|| format!("leg {leg} dies"));
        let turn = self.legs[leg].turn;
        self.legs[leg].alive = false;
        self.legs[leg].machine = None;
        let key = self.key(turn);
        self.store.power_cut(&key);
        for run in 0..self.runs.len() {
            if self.runs[run].leg == leg && !self.plan.exact && self.random.below(2) == 0 {
                // The tool died with its process, before its effect.
                self.runs[run].over = true;
            }
        }
        if !self.plan.exact {
            self.follow_up(turn);
        }
    }

    fn freeze(&mut self, leg: usize, ms: u64) {
        self.disturbed = true;
        let until = self.now + ms;
        let one = &mut self.legs[leg];
        one.slept = true;
        one.frozen_for += ms + 100;
        one.frozen_until = one.frozen_until.max(until);
        let turn = one.turn;
        self.note(|| format!("leg {leg} sleeps for {ms} ms"));
        if self.random.below(2) == 0 {
            let wait = self.plan.lease() + self.random.below(500) as u64;
            let approvals = self.approvals(turn);
            self.after(wait, What::Begin(turn, Wish::Resume(approvals)));
        }
    }

    /// Somebody comes back to a turn that is not over.
    pub fn follow_up(&mut self, turn: usize) {
        if self.healed || self.follow_ups[turn] >= 4 || self.plan.exact {
            return;
        }
        self.follow_ups[turn] += 1;
        let wait = self.random.below(2 * self.plan.lease() as usize) as u64;
        let approvals = self.approvals(turn);
        let wish = if self.random.below(12) == 0 { Wish::Run } else { Wish::Resume(approvals) };
        self.after(wait, What::Begin(turn, wish.clone()));
        let two = self.chance(Fault::TwoResumes, turn, 4);
        if two {
            let apart = self.random.below(30) as u64;
            self.after(wait + apart, What::Begin(turn, wish));
        }
    }

    /// What the user says of the calls that wait.
    pub fn approvals(&mut self, turn: usize) -> Vec<(String, bool)> {
        let Some(life) = self.truth.lives[turn].last() else { return Vec::new() };
        let asked = life.log.iter().rev().find(|one| one.event["type"] == "approval_required");
        let calls = asked.and_then(|one| one.event["toolCalls"].as_array().cloned());
        let waits = life.status == "paused";
        let mut out = Vec::new();
        for call in calls.unwrap_or_default() {
            let mut signature = call["signature"].as_str().expect("signature").to_owned();
            if waits && self.chance(Fault::Partial, turn, 3) {
                continue;
            }
            let mut approved = !(waits && self.chance(Fault::Denied, turn, 3));
            if self.plan.exact {
                approved = !self.plan.denied.iter().any(|name| *name == call["name"]);
            }
            if waits && self.chance(Fault::OtherSignature, turn, 3) {
                signature = signature.chars().rev().collect();
            }
            if approved {
                self.truth.granted[turn].insert(signature.clone());
            }
            out.push((signature, approved));
        }
        out
    }

    fn happen(&mut self, what: What) {
        // A process that sleeps hears of it when it wakes.
        let sleeper = match &what {
            What::Tell(leg, _)
            | What::Lane(leg, _)
            | What::Timer(leg, _)
            | What::Restore(leg, ..)
            | What::Refused(leg) => Some(*leg),
            What::Settle(run) => Some(self.runs[*run].leg),
            _ => None,
        };
        if let Some(leg) = sleeper.filter(|leg| self.legs[*leg].frozen_until > self.now) {
            let wait = self.legs[leg].frozen_until - self.now + self.random.below(3) as u64;
            return self.after(wait, what);
        }
        match what {
            What::Begin(turn, wish) => self.begin(turn, wish),
            What::Tell(leg, fact) => self.tell(leg, fact),
            What::Lane(leg, lane) => self.next_of_lane(leg, lane),
            What::Timer(leg, number) => {
                if self.legs[leg].timer.is_some_and(|(_, one)| one == number) {
                    self.legs[leg].timer = None;
                    self.tell(leg, Fact::Timer);
                }
            }
            What::Commit(leg, attempt, commit, answers) => {
                self.commit(leg, attempt, &commit, answers)
            }
            What::Read(leg) => self.read(leg),
            What::Events(leg) => self.events(leg),
            What::Restore(leg, kept, groups) => self.restore(leg, kept, &groups),
            What::Refused(leg) => {
                // The host's own reading failed: there is no turn.
                self.legs[leg].result = Some(json!({ "status": "failed", "host": true }));
                let turn = self.legs[leg].turn;
                self.follow_up(turn);
            }
            What::Recall(leg, call, key) => self.recall(leg, call, &key),
            What::Effect(run) => self.effect(run),
            What::Settle(run) => self.settle(run),
            What::Poll(reader) => self.poll(reader),
        }
    }

    fn name(&mut self) -> String {
        format!("{:016x}{:016x}", self.random.next(), self.random.next())
    }

    fn begin(&mut self, turn: usize, wish: Wish) {
        if self.legs.len() >= 40 {
            return;
        }
        let (owner, mut secret) = (self.name(), self.name());
        if self.plan.one_secret {
            secret = "00112233445566778899aabbccddeeff".to_owned();
        }
        let leg = self.legs.len();
        self.note(|| format!("leg {leg} of turn {turn} begins: {wish:?}, owner {owner}"));
        let run = wish == Wish::Run;
        let mut dialect = self.plan.dialect;
        if !run && !self.plan.exact && self.random.below(6) == 0 {
            // Whoever goes on may ask another provider.
            dialect = DIALECTS[self.random.below(DIALECTS.len())];
        }
        self.legs.push(Leg::new(turn, wish, (owner, secret), dialect, self.now));
        self.legs[leg].clock =
            if self.plan.exact { 0 } else { self.random.below(1_000_000) as u64 };
        if run {
            self.arrive_late();
            self.make(leg, None);
        } else {
            let wait = self.latency();
            self.after(wait, What::Read(leg));
        }
    }

    fn make(&mut self, leg: usize, resume: Option<Value>) {
        let one = &self.legs[leg];
        let restores = resume.is_some();
        let options = self.plan.options(one.turn, one.dialect, (&one.owner, &one.secret), resume);
        let made = if restores {
            Turn::restore(options.as_bytes())
        } else {
            Turn::new(options.as_bytes())
        };
        match made {
            Ok(machine) => {
                self.legs[leg].machine = Some(machine);
                self.legs[leg].began = self.now;
                if self.tapes {
                    self.legs[leg].options = options;
                }
                self.tell(leg, Fact::Start);
            }
            Err(error) => self.truth.fail("options", error),
        }
    }

    /// The store is asked what it has of a turn.
    fn read(&mut self, leg: usize) {
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

    fn events(&mut self, leg: usize) {
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
    fn arrive_late(&mut self) {
        for (dead, attempt, commit) in std::mem::take(&mut self.late_writes) {
            self.commit(dead, attempt, &commit, false);
        }
    }

    fn restore(&mut self, leg: usize, kept: Value, groups: &[(u64, String)]) {
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
    fn commit(&mut self, leg: usize, attempt: u32, commit: &Commit, answers: bool) {
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
        let mut answer = Answer::Failed {
            code: "store.unavailable".to_owned(),
            message: "simulated".to_owned(),
        };
        // A take-over names the revision it read, and not the owner: one that was read before
        // the turn expired and was run anew could hit the same revision of the new life. Nothing
        // short of a commit that is on its way over the whole ttl does that, so it is lost here.
        let old = commit.take_over && self.legs[leg].life + 1 < self.truth.lives[turn].len();
        if old {
            return;
        }
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
                answer = Answer::Kept;
            }
        } else if self.bug("host: a failed commit counts as kept") {
            answer = Answer::Kept;
        }
        if !answers || self.dies_at(leg, "commit applied") {
            return;
        }
        let wait = self.latency();
        let revision = commit.revision;
        self.after(wait, What::Tell(leg, Fact::Stored { revision, attempt, answer }));
    }

    fn wrote(&mut self, leg: usize, commit: &Commit, fresh: bool, before: Option<String>) {
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
                self.after(wait, What::Tell(other, Fact::Verify));
            }
        }
    }

    fn recall(&mut self, leg: usize, call: u32, key: &str) {
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
            self.after(wait, What::Tell(leg, Fact::Recalled { call, found }));
        }
    }

    fn effect(&mut self, run: usize) {
        let one = self.runs[run].clone();
        if one.over || one.told && self.random.below(2) == 0 {
            return;
        }
        *self.truth.effects.entry(one.key).or_default() += 1;
        self.dies_at(one.leg, "tool had its effect");
    }

    /// A reader asks for what is new.
    fn poll(&mut self, reader: usize) {
        let turn = self.readers[reader].turn;
        self.catch_up(reader);
        self.readers[reader].polls += 1;
        let works = self.legs.iter().any(|leg| leg.turn == turn && leg.works());
        if works && self.readers[reader].polls < 40 {
            let wait = 20 + self.random.below(1_500) as u64;
            self.after(wait, What::Poll(reader));
        }
    }

    pub fn catch_up(&mut self, reader: usize) {
        let turn = self.readers[reader].turn;
        let lives = self.truth.lives[turn].len();
        if lives > self.readers[reader].life + 1 {
            // The turn has expired, and was run again: another one.
            self.readers[reader].gone = true;
        }
        if self.readers[reader].gone || lives == 0 {
            return;
        }
        let key = self.key(turn);
        let after = self.readers[reader].after;
        let groups = self.store.events(self.now, &key, after);
        let breaks = self.chance(Fault::Disconnect, turn, 3);
        let raws: Vec<String> = groups.iter().flat_map(|(_, text)| elements(text)).collect();
        let take = if breaks { self.random.below(raws.len() + 1) } else { raws.len() };
        for raw in raws.into_iter().take(take) {
            let event: Value = serde_json::from_str(&raw).expect("an event is JSON");
            let seq = event["seq"].as_u64().expect("seq");
            let one = &mut self.readers[reader];
            if seq <= one.after {
                continue;
            }
            if seq != one.after + 1 && self.plan.keeps_text() {
                let life = self.truth.lives[turn].last().expect("a life");
                let forgotten = life.forgotten > one.after;
                if forgotten && one.seen.is_empty() {
                    // It came too late for the beginning, and is told so.
                    one.from = seq - 1;
                } else if forgotten {
                    one.gone = true;
                    return;
                } else {
                    let told = format!("a reader has {} and gets {seq}", one.after);
                    return self.truth.fail("I5", told);
                }
            }
            one.after = seq;
            one.seen.push(raw);
        }
    }

    /// Rules for the end of the world.
    fn at_the_end(&mut self) {
        for reader in 0..self.readers.len() {
            let saved = std::mem::take(&mut self.plan.faults);
            self.catch_up(reader);
            self.plan.faults = saved;
            let one = &self.readers[reader];
            let Some(life) = self.truth.lives[one.turn].get(one.life) else { continue };
            // I5: what a reader saw, over all its reconnections, is what was kept.
            let log = life.log.iter().filter(|logged| logged.seq > one.from);
            let expired = self.store.stands(self.now, &self.key(one.turn)).is_none();
            let cut = one.gone || expired;
            let want: Vec<&String> = log.map(|logged| &logged.raw).collect();
            let (same, all) = if self.plan.keeps_text() {
                let same = one.seen.iter().eq(want.iter().copied().take(one.seen.len()));
                (same, cut || one.seen.len() == want.len())
            } else {
                // Only the newest events are there: in order, and none made up.
                let mut rest = want.iter();
                (one.seen.iter().all(|raw| rest.any(|one| *one == raw)), true)
            };
            let told = format!("a reader saw {:?} of {want:?}", one.seen);
            self.truth.check(same && all, "I5", || told);
        }
        for turn in 0..self.plan.turns.len() {
            self.truth.history(&self.plan, turn);
        }
        for leg in 0..self.legs.len() {
            if self.tapes
                && let Err(failure) = self.legs[leg].replays()
            {
                self.truth.fail("determinism", failure);
            }
        }
    }

    /// A boundary at which an exact plan may kill the process.
    pub fn dies_at(&mut self, leg: usize, place: &str) -> bool {
        if !self.plan.exact || self.healed && self.deaths.is_empty() {
            return false;
        }
        if !self.legs[leg].works() {
            return true;
        }
        self.boundaries.push(format!("leg {leg}: {place}"));
        let at = self.boundaries.len() as u64;
        if self.deaths.front() != Some(&at) {
            return false;
        }
        self.deaths.pop_front();
        if self.blow == Blow::Stop {
            let turn = self.legs[leg].turn;
            self.after(0, What::Begin(turn, Wish::Cancel));
            return false;
        }
        self.crash(leg);
        true
    }

    pub fn next_fetch(&mut self) -> u64 {
        self.fetched += 1;
        self.fetched
    }

    pub fn is_terminal(event: &Value) -> bool {
        event["type"].as_str().is_some_and(|kind| TERMINAL.contains(&kind))
    }
}
