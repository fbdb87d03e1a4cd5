//! The simulated world: clock, randomness, schedule, processes, readers.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use std::sync::Arc;

use serde_json::{Value, json};
use turnlock::store::{Commit, turn_key};
use turnlock::turn::{Input, RestoreOptions, Turn, TurnOptions};

use crate::common::Random;
use crate::leg::{Leg, Wish};
use crate::plan::{DIALECTS, Fault, Plan, Stage};
use crate::store::Store;
use crate::truth::{TERMINAL, Truth};

/// What happens next.
#[derive(Debug, Clone)]
pub enum What {
    Begin(usize, Wish),
    Tell(usize, Input),
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
    pub queue: BTreeMap<(u64, u64), What>,
    pub count: u64,
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
    pub mishaps: u32,
    /// What happens at a boundary of an exact plan.
    pub blow: Blow,
    /// Boundaries at which it happens; boundaries passed.
    pub deaths: VecDeque<u64>,
    pub boundaries: Vec<String>,
    pub late_writes: Vec<(usize, u32, Arc<Commit>)>,
    pub fetched: u64,
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

    /// Until nothing is left to happen.
    pub fn go_on(&mut self) -> Result<(), String> {
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
    pub fn heal(&mut self) -> Result<(), String> {
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

    pub fn happen(&mut self, what: What) {
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
                    self.tell(leg, Input::Timer);
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

    pub fn name(&mut self) -> String {
        format!("{:016x}{:016x}", self.random.next(), self.random.next())
    }

    pub fn begin(&mut self, turn: usize, wish: Wish) {
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

    pub fn make(&mut self, leg: usize, resume: Option<Value>) {
        let one = &self.legs[leg];
        let restores = resume.is_some();
        let options = self.plan.options(one.turn, one.dialect, (&one.owner, &one.secret), resume);
        let made = if restores {
            RestoreOptions::parse(options.as_bytes()).and_then(Turn::restore)
        } else {
            TurnOptions::parse(options.as_bytes()).and_then(Turn::new)
        };
        match made {
            Ok(machine) => {
                self.legs[leg].machine = Some(machine);
                self.legs[leg].began = self.now;
                if self.tapes {
                    self.legs[leg].options = options;
                }
                self.tell(leg, Input::Start);
            }
            Err(error) => self.truth.fail("options", error),
        }
    }

    pub fn effect(&mut self, run: usize) {
        let one = self.runs[run].clone();
        if one.over || one.told && self.random.below(2) == 0 {
            return;
        }
        *self.truth.effects.entry(one.key).or_default() += 1;
        self.dies_at(one.leg, "tool had its effect");
    }

    /// Rules for the end of the world.
    pub fn at_the_end(&mut self) {
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
            if !(same && all) {
                let told = format!("a reader saw {:?} of {want:?}", one.seen);
                self.truth.fail("I5", told);
            }
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

    pub fn next_fetch(&mut self) -> u64 {
        self.fetched += 1;
        self.fetched
    }

    pub fn is_terminal(event: &Value) -> bool {
        event["type"].as_str().is_some_and(|kind| TERMINAL.contains(&kind))
    }
}
