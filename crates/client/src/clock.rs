//! The host's clock, timers and randomness.

use std::time::Duration;

use gloo_timers::future::TimeoutFuture;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// In pages and in every kind of worker.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// Milliseconds since the host began, with fractions.
pub(super) fn now() -> f64 {
    performance_now()
}

/// As [`now`], for a machine.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a clock fits")]
pub(super) fn whole_now() -> u64 {
    now() as u64
}

/// Milliseconds since 1970.
pub(super) fn unix_ms() -> f64 {
    js_sys::Date::now()
}

/// Longer timers would fire at once.
const LONGEST_TIMER: f64 = 2_147_483_647.0;

/// Resolves after `ms` milliseconds, or a little later.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within limits")]
pub(super) fn sleep(ms: f64) -> TimeoutFuture {
    TimeoutFuture::new(ms.clamp(0.0, LONGEST_TIMER).ceil() as u32)
}

/// Lets what is due on the event loop's queue of microtasks have its turn.
pub(super) async fn microtask() {
    let _ = JsFuture::from(js_sys::Promise::resolve(&JsValue::UNDEFINED)).await;
}

/// Sleeps for a duration.
pub(super) fn sleep_for(duration: Duration) -> TimeoutFuture {
    sleep(duration.as_secs_f64() * 1000.0)
}

/// `bytes` random bytes of the host, in lower-case hex.
pub(super) fn random_hex(bytes: usize) -> String {
    let mut drawn = vec![0; bytes];
    // A host without randomness must not run turns with ids and keys that can be guessed.
    #[expect(clippy::expect_used, reason = "every runtime with fetch has `crypto`")]
    getrandom::fill(&mut drawn).expect("the host has no `crypto.getRandomValues`");
    turnlock::signature::hex(&drawn)
}

/// A random id: a UUID of version 4 (RFC 9562 §5.4).
pub(super) fn random_id() -> String {
    let hex = random_hex(16);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    // 9 would do for every variant nibble; the two random bits of it are not missed.
    format!("{}-{}-4{}-9{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
