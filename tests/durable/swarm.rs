//! Seeds: each enables some of the faults, and every rule holds at every step.

use std::collections::BTreeMap;

use crate::plan::{FAULTS, Plan};
use crate::world::{Hits, World};

/// Plays a seed again with a trace, for whoever reads the failure.
pub fn explain(plan: Plan, failure: &str) -> String {
    let (seed, faults) = (plan.seed, plan.faults.clone());
    let mut world = World::new(plan);
    world.trace = Some(String::new());
    let again = world.play();
    let trace = world.trace.unwrap_or_default();
    let lines: Vec<&str> = trace.lines().collect();
    let tail = lines[lines.len().saturating_sub(60)..].join("\n");
    format!(
        "seed {seed} {faults:?}\n{tail}\n{failure}\n(again: {again:?}; SEED={seed} plays only this one)"
    )
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

#[test]
fn seeds() {
    let count = number("SEEDS").unwrap_or(10_000);
    let seeds = number("SEED").map_or(1..=count, |seed| seed..=seed);
    let mut hits = Hits::new();
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    let mut failures: Vec<(Plan, String)> = Vec::new();
    let (mut starts, mut effects, mut legs) = (0, 0, 0);
    for seed in seeds {
        let plan = Plan::random(seed, "");
        let mut world = World::new(plan.clone());
        world.tapes = seed % 16 == 0;
        if let Err(failure) = world.play() {
            failures.push((plan, failure));
            continue;
        }
        for (key, count) in world.hits {
            *hits.entry(key).or_default() += count;
        }
        for life in world.truth.lives.iter().flatten() {
            *ends.entry(life.status.clone()).or_default() += 1;
        }
        starts += world.truth.starts;
        effects += world.truth.effects.values().sum::<u64>();
        legs += world.legs.len();
    }
    if let Some((plan, failure)) = failures.first() {
        for (plan, failure) in &failures {
            println!("seed {}: {}", plan.seed, failure.chars().take(200).collect::<String>());
        }
        panic!("{} of {count} seeds failed\n{}", failures.len(), explain(plan.clone(), failure));
    }
    println!("{count} seeds: {legs} legs, {starts} starts, {effects} effects, {ends:?}");
    let mut seldom = Vec::new();
    for (fault, stages) in FAULTS {
        for stage in *stages {
            let count = hits.get(&(*fault, *stage)).copied().unwrap_or(0);
            println!("{fault:?} in {stage:?}: {count}");
            if count < 40 {
                seldom.push(format!("{fault:?} in {stage:?}: {count}"));
            }
        }
    }
    let few = count < 10_000 || number("SEED").is_some();
    assert!(few || seldom.is_empty(), "not tried often enough: {seldom:?}");
}

/// The same seed is the same world, to the byte; and a machine that is told the same does the
/// same.
#[test]
fn determinism() {
    let play = |seed| {
        let mut world = World::new(Plan::random(seed, ""));
        (world.trace, world.tapes) = (Some(String::new()), true);
        world.play().unwrap();
        world.trace.unwrap()
    };
    for seed in 1..=200 {
        let trace = play(seed);
        assert!(trace.lines().count() > 5, "seed {seed}");
        assert!(trace == play(seed), "seed {seed} differs");
    }
}
