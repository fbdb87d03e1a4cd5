//! What a leg shows, and how it ends.

use serde_json::Value;
use turnlock::turn::TurnResult;

use crate::leg::Wish;
use crate::world::{What, World};

impl World {
    /// An event reaches the user of this leg.
    pub fn show(&mut self, leg: usize, raw: &str) {
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
        // Whoever took over does not know what was shown without being kept.
        let jumps = one.shown < seq && !self.plan.keeps_text();
        // A resume that is refused, or loses the turn, ends beside its events.
        let beside = terminal && event["type"] == "error" && seq == one.shown;
        let follows = seq == one.shown + 1 || jumps || beside || !owns && terminal;
        self.truth.check(follows, "I5", || format!("leg {leg} shows {seq} behind {}", one.shown));
        let life = self.truth.life(turn, &one.owner);
        let logged =
            life.and_then(|life| match life.log.get(usize::try_from(seq).ok()?.checked_sub(1)?) {
                Some(one) if one.seq == seq => Some(one),
                _ => life.log.iter().find(|one| one.seq == seq),
            });
        let kept = logged.is_some_and(|logged| logged.raw == raw && logged.owner == one.owner);
        let quiet = matches!(event["type"].as_str(), Some("text" | "reasoning"));
        let shows_early = quiet && !self.plan.keeps_text();
        if !kept && !shows_early {
            // A leg that is not, or no longer, the owner's ends with its own word.
            let code = event["code"].as_str().unwrap_or_default();
            let own = code.starts_with("turn.")
                || code.starts_with("store.")
                || code == "tool.no_approval";
            // Or a later life: an owner whose turn expired and was run anew by another is told of
            // that one, and cannot tell them apart (as in `World::commit`).
            let lives = self.truth.lives[turn].iter();
            let stopped = lives.skip(self.truth.home(turn, &one.owner).unwrap_or(0));
            let stopped = stopped.into_iter().any(|life| life.status == "cancelled");
            let may = event["type"] == "error" && own || event["type"] == "cancelled" && stopped;
            self.truth.check(may, "I5", || format!("leg {leg} shows what is not kept: {raw}"));
        }
        // I5: a number means one event, kept or not.
        let home = self.truth.home(turn, &self.legs[leg].owner).filter(|_| kept || shows_early);
        if let Some(life) = home.and_then(|at| self.truth.lives[turn].get_mut(at)) {
            let other = life.shown.insert(seq, raw.to_owned()).filter(|other| other != raw);
            self.truth.check(other.is_none(), "I5", || format!("{seq} is {other:?} and {raw}"));
        }
        let one = &mut self.legs[leg];
        one.shown = seq;
        one.cutoff = seq.saturating_sub(u64::from(!kept && !beside));
        one.phase = event["phase"].as_str().expect("phase").to_owned();
        if terminal {
            one.terminal = Some((event, kept));
        }
    }

    pub fn done(&mut self, leg: usize, result: &TurnResult) {
        let result: Value = serde_json::from_str(&result.to_json().to_text()).expect("JSON");
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
        let cutoff = one.cutoff;
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
            // A turn that expired may have begun anew, by a first commit that came late perhaps: what
            // its old owner showed is then in no life that still stands.
            if self.plan.keeps_text() && self.truth.lives[turn].len() == 1 {
                let texts = standing(events());
                if result["fullContent"] != *texts {
                    wrong = Some(format!("{texts:?} was shown, the result has {result}"));
                }
            }
            if kept {
                // Shown when they are there; the result has them in the model's order.
                let texts = |all: &mut dyn Iterator<Item = &Value>| {
                    let mut all: Vec<String> = all.map(Value::to_string).collect();
                    all.sort();
                    all
                };
                let mut shown =
                    events().flat_map(|e| e["toolResults"].as_array().into_iter().flatten());
                let all = texts(&mut shown);
                let got = texts(&mut result["toolResults"].as_array().into_iter().flatten());
                if all != got {
                    wrong = Some(format!("results {all:?} were kept, the result has {got:?}"));
                }
                let blocked = events().rfind(|e| e["type"] == "refused");
                let blocked =
                    blocked.map_or(Value::Array(vec![]), |e| e["blockedSignatures"].clone());
                // Replays of calls of this turn are listed too; they are no refusal.
                let is_replay = |signature: &&Value| {
                    let mut results = result["toolResults"].as_array().into_iter().flatten();
                    results.any(|one| one["signature"] == **signature && one["replayed"] == true)
                };
                let listed = result["blockedSignatures"].as_array().cloned().unwrap_or_default();
                let told = blocked.as_array().cloned().unwrap_or_default();
                let rest = listed.iter().filter(|one| !told.contains(one));
                if !told.iter().all(|one| listed.contains(one))
                    || !rest.into_iter().all(|one| is_replay(&one))
                {
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

    pub fn retry_cancel(&mut self, turn: usize, wait: u64) {
        if self.follow_ups[turn] < 20 {
            self.follow_ups[turn] += 1;
            self.after(wait, What::Begin(turn, Wish::Cancel));
        }
    }
}

/// The text of events that still stands: an inference that is made again voids what it had shown.
fn standing<'a>(events: impl Iterator<Item = &'a Value>) -> String {
    let mut texts: Vec<(u64, &str)> = Vec::new();
    for event in events {
        if let Some(from) = event["voidFrom"].as_u64() {
            texts.retain(|one| one.0 < from);
        }
        if event["type"] == "text" {
            let seq = event["seq"].as_u64().unwrap_or_default();
            texts.push((seq, event["chunk"].as_str().unwrap_or_default()));
        }
    }
    texts.into_iter().map(|one| one.1).collect()
}
