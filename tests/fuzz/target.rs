//! One target, by the name of the binary.
#![no_main]

#[path = "targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let name = env!("CARGO_BIN_NAME");
    let (_, target) = targets::TARGETS.iter().find(|(one, _)| *one == name).expect("a target");
    target(data);
});
