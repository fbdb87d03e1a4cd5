//! What goes wrong in the world, and who comes back to it.

use turnlock::turn::Input;

use crate::leg::Wish;
use crate::plan::{FAULTS, Fault, Stage};
use crate::world::{Blow, What, World};

impl World {
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
    pub fn mishap(&mut self) {
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
                self.after(0, What::Tell(leg, Input::Cancel { reason: "own".to_owned() }));
            }
            (Fault::Pause, Some(leg)) => {
                self.hit(fault, turn);
                self.after(0, What::Tell(leg, Input::Pause));
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
            (Fault::Expiry, leg) => {
                self.hit(fault, turn);
                let ttl = self.plan.keep["ttlMs"].as_u64().unwrap_or(0);
                if let Some(leg) = leg {
                    // It sleeps while its turn expires, and wakes beside whoever began it anew.
                    let long = ttl + self.random.below(lease as usize) as u64;
                    self.freeze(leg, long);
                }
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

    pub fn freeze(&mut self, leg: usize, ms: u64) {
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
}
