//! Readers: they follow the events of a turn, and come back with the last `seq` they saw.

use serde_json::Value;

use crate::plan::Fault;
use crate::truth::elements;
use crate::world::{Reader, What, World};

impl World {
    pub fn read_from(&mut self, turn: usize, at: u64) {
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

    /// A reader asks for what is new.
    pub fn poll(&mut self, reader: usize) {
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
}
