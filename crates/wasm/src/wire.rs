//! What all parts of the boundary share: the host's clock, and errors.

use turnlock::error::Error;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a clock fits")]
pub(super) fn millis(now: f64) -> u64 {
    now.max(0.0) as u64
}

#[expect(clippy::cast_precision_loss, reason = "a clock fits")]
pub(super) fn to_f64(millis: u64) -> f64 {
    millis as f64
}

/// Grows the memory in one step for an input of so many bytes. The allocator grows it by a page at a
/// time, and an engine whose instances are large collects garbage at each step.
#[cfg(any(feature = "turn", feature = "history"))]
pub(super) fn room(input: usize) {
    if input > SMALL {
        let mut room = Vec::<u8>::new();
        // Without the memory, what follows fails where it needs it.
        let _ = room.try_reserve_exact(input.saturating_mul(TIMES));
        std::hint::black_box(&room);
    }
}

/// Bytes of input that need no step of their own.
#[cfg(any(feature = "turn", feature = "history"))]
const SMALL: usize = 64 * 1024;

/// What every input takes while it is read, in bytes for each of its own.
#[cfg(any(feature = "turn", feature = "history"))]
const TIMES: usize = 4;

pub(super) fn bad(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected: expected.into() }
}

/// A result that may itself begin with the mark of an error is told apart by a leading `=`.
pub(super) fn tagged(text: String) -> String {
    format!("={text}")
}
