//! Bugs on purpose: the suite finds each of them, so it would find their like.

use crate::plan::Plan;
use crate::world::World;

/// In the simulated host and store.
const OUTSIDE: &[&str] = &[
    "store: no fence",
    "store: no compare",
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

/// In the core, behind the feature `planted`.
const INSIDE: &[&str] = &[
    "a call without outcome runs again",
    "a denied call runs",
    "a late result changes the outcome",
    "a number is given twice",
    "a request before the turn is ours",
    "a resumed phase has its budget anew",
    "a resumed turn forgets what ran",
    "a start without a claim",
    "a stop leaves tools running",
    "a stopped turn is a conflict",
    "a store that fails counts as kept",
    "a tool starts before its claim is kept",
    "a trace has arguments",
    "a turn is never over",
    "an approval fits any call",
    "an event is shown before it is kept",
    "an outcome of any age",
    "an owner shows no life",
    "each start has its own key",
    "kept outcomes are forgotten",
    "kept text is not part of the whole",
    "no lease",
    "what was not shown counts as shown",
    "what was shown is not counted",
    "who slept does not ask",
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

#[cfg(feature = "planted")]
#[test]
fn planted_in_the_core() {
    all(INSIDE, turnlock::plant);
}

/// Each bug of the core has its place there, and each place its test.
#[test]
fn planted_bugs_are_listed() {
    let mut text = String::new();
    let folder = crate::common::repo().join("src/turn");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text += &std::fs::read_to_string(path).unwrap_or_default();
    }
    let mut places: Vec<&str> =
        text.split("planted(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, INSIDE);
}
