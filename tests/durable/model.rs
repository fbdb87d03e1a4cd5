//! The model: what it is asked, and the bytes it answers with.

use std::collections::VecDeque;

use serde_json::Value;
use turnlock::json::Json;
use turnlock::turn::Input;

use crate::common;
use crate::common::facts::{broken, head};
use crate::plan::{Fault, entry};
use crate::world::{What, World};

impl World {
    pub fn fetch(&mut self, leg: usize, inference: u32, attempt: u32, body: &Json<'static>) {
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
        let violations = turnlock::history::diagnose(messages.iter().cloned(), dialect);
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
            lane.push_back(head(inference, attempt, status, retry));
        } else if entry["then"] != "stall_head" {
            lane.push_back(head(inference, attempt, 200, None));
            let bytes = common::render(&entry, self.legs[leg].dialect);
            let pieces = if self.plan.exact { 3 } else { [1, 2, 3, 7][self.random.below(4)] };
            for bytes in bytes.chunks(bytes.len().div_ceil(pieces).max(1)) {
                lane.push_back(Input::ResponseBytes { inference, attempt, bytes: bytes.to_vec() });
            }
            match entry["then"].as_str() {
                Some("stall") => {}
                Some("cut") => lane.push_back(broken(inference, attempt)),
                _ => lane.push_back(Input::ResponseEnded { inference, attempt }),
            }
        }
        let number = self.next_fetch();
        self.legs[leg].inference.insert(inference, number);
        self.legs[leg].lanes.insert(number, lane);
        let wait = self.latency();
        self.after(wait, What::Lane(leg, number));
    }

    pub fn answer_to(&mut self, inference: u32) -> (Value, Option<Fault>) {
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
            Input::ResponseHead { .. } => "response head",
            Input::ResponseBytes { .. } => "response bytes",
            _ => "response end",
        };
        let ends = match &fact {
            Input::ResponseHead { inference, status, .. } if *status != 200 => Some(*inference),
            Input::ResponseEnded { inference, .. } | Input::ResponseFailed { inference, .. } => {
                Some(*inference)
            }
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
            if let Input::ResponseBytes { inference, attempt, .. } = &fact
                && !self.plan.exact
                && self.random.below(16) == 0
            {
                let held = Input::HeldBack { inference: *inference, attempt: *attempt };
                self.tell(leg, held);
            }
            self.tell(leg, fact);
        }
    }
}
