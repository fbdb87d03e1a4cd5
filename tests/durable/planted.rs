//! Bugs on purpose: the suite finds each of them, so it would find their like. Those in the core
//! are planted in a copy of it (`tests/planted`).

use crate::plan::Plan;
use crate::world::World;

/// In the simulated host and store.
const OUTSIDE: &[&str] = &[
    "store: no fence",
    "store: no compare",
    "store: a take-over replaces anybody",
    "store: a repeat is refused",
    "store: a repeat is written again",
    "store: a turn that is over is not known",
    "store: torn, without records",
    "store: torn, without events",
    "store: outcomes are lost",
    "store: the last commit is not durable",
    "store: forgets too much",
    "store: events off by one",
    "store: nothing expires",
    "host: tenants share turns",
    "store: tenants share outcomes",
    "host: a commit counts as kept when it is sent",
    "host: a failed commit counts as kept",
    "host: events are shown when they are sent",
    "host: the owner is always gone",
    "host: kept events are not read",
    "host: a tool is started twice",
    "host: an answer is taken for the newest commit's",
    "host: text goes to the trace",
];

/// The first seed that finds a bug, and what it says.
fn found(bug: &'static str, seeds: u64) -> Option<(u64, String)> {
    (1..=seeds).find_map(|seed| {
        let play = || World::new(Plan::random(seed, bug)).play();
        match std::panic::catch_unwind(play) {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some((seed, failure)),
            Err(_) => Some((seed, "panicked".to_owned())),
        }
    })
}

fn all(bugs: &[&'static str], plant: fn(&'static str)) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    let mut lines = Vec::new();
    for bug in bugs {
        plant(bug);
        match found(bug, 10_000) {
            Some((seed, failure)) => {
                let short: String = failure.chars().take(90).collect();
                lines.push(format!("{bug}: seed {seed}: {short}"));
            }
            None => missed.push(*bug),
        }
        plant("");
    }
    std::panic::set_hook(hook);
    println!("{}", lines.join("\n"));
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn planted_in_host_and_store() {
    all(OUTSIDE, |_| {});
}
