//! The platform's clock and timers, and random names.

use crate::platform::{Active, Platform, Timer};

/// Milliseconds on a clock that never goes back, with fractions.
pub(crate) fn now() -> f64 {
    Active::now()
}

/// As [`now`], for a machine.
pub(crate) fn whole_now() -> u64 {
    whole_ms(now())
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> f64 {
    Active::unix_ms()
}

/// Resolves after `ms` milliseconds, or a little later.
pub(crate) fn sleep(ms: f64) -> Timer {
    Active::timer(ms)
}

/// Whole milliseconds, from 0 on.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) fn whole_ms(ms: f64) -> u64 {
    ms as u64
}

/// `bytes` random bytes of the host, in lower-case hex.
pub(crate) fn random_hex(bytes: usize) -> String {
    let mut drawn = vec![0; bytes];
    // A host without randomness must not run turns with ids and keys that can be guessed.
    #[expect(clippy::expect_used, reason = "every platform of this crate has a generator")]
    getrandom::fill(&mut drawn).expect("the host has no random generator");
    turnlock::signature::hex(&drawn)
}

/// A random id: a UUID of version 4 (RFC 9562 §5.4).
pub(crate) fn random_id() -> String {
    let hex = random_hex(16);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    // 9 would do for every variant nibble; the two random bits of it are not missed.
    format!("{}-{}-4{}-9{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// A random part of a time, for those that would try again at the same moment.
pub(crate) fn jitter(ms: f64) -> f64 {
    let drawn = getrandom::u32().unwrap_or(u32::MAX);
    ms * f64::from(drawn) / f64::from(u32::MAX)
}
