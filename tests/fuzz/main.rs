//! The targets of the fuzzer, with the inputs that are kept and some thousand changed ones.
//! `tests/fuzz/README.md` says how they are fuzzed.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../common/mod.rs"]
mod common;
mod targets;

use std::fs;

use common::Random;
use targets::TARGETS;

/// Changed inputs of a target.
const CHANGED: usize = 10_000;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = common::repo().join("tests/fuzz/seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|_| panic!("no seeds of {name}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One to four changes: bytes replaced, taken out, doubled, or another seed's put in.
fn changed(seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut made = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(made.len() + 1);
        let to = (at + 1 + random.below(16)).min(made.len());
        match random.below(5) {
            0 if at < made.len() => made[at] = random.below(256) as u8,
            1 => drop(made.drain(at..to)),
            2 => {
                let piece = made[at..to].to_vec();
                made.splice(at..at, piece);
            }
            3 if !other.is_empty() => {
                let from = random.below(other.len());
                let until = (from + 1 + random.below(64)).min(other.len());
                made.splice(at..at, other[from..until].iter().copied());
            }
            _ => made
                .splice(at..at, b"\"{}[],:\\0"[..random.below(9)].iter().copied())
                .for_each(drop),
        }
    }
    made
}

#[test]
fn every_target_takes_every_input() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "no seeds of {name}");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let check = |input: &[u8], what: &str| {
            let caught = std::panic::catch_unwind(|| target(input));
            let path = format!("{name}-failed");
            if caught.is_err() {
                let to = std::env::temp_dir().join(&path);
                fs::write(&to, input).unwrap();
                panic!("{name}, {what}: the input is in {}", to.display());
            }
        };
        for (at, seed) in seeds.iter().enumerate() {
            check(seed, &format!("seed {at}"));
        }
        for round in 0..CHANGED {
            let seed = &seeds[random.below(seeds.len())];
            let other = &seeds[random.below(seeds.len())];
            check(&changed(seed, other, &mut random), &format!("changed, round {round}"));
        }
    }
}
