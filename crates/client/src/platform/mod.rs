//! What the driver needs of the host: a clock, timers, tasks, HTTP. Two platforms have it, `web` on
//! wasm32 and `tokio` natively, and everything else in this crate is the same on both.
//!
//! Randomness comes from `getrandom` and stores from the host (`IndexedDbStore` is the web's own).

mod send;
#[cfg(not(target_arch = "wasm32"))]
mod tokio;
#[cfg(target_arch = "wasm32")]
pub(crate) mod web;

use std::fmt;
use std::future::Future;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use self::tokio::Tokio as Active;
#[cfg(target_arch = "wasm32")]
pub(crate) use self::web::Web as Active;

pub use send::{BoxFuture, MaybeSend, MaybeSync};
pub(crate) use send::{BoxStream, Dyn};

/// What this platform calls requests off by, responses, and what holds a running driver.
pub(crate) type Client = <Active as Platform>::Client;
pub(crate) type Response = <Active as Platform>::Response;
pub(crate) type Signal = <Active as Platform>::Signal;
pub(crate) type Task = <Active as Platform>::Task;
pub(crate) type Timer = <Active as Platform>::Timer;

/// What a platform does for the driver. It decides nothing, and keeps no state of a turn.
pub(crate) trait Platform {
    /// Sends requests. Clones share connections, where the platform has them in hand.
    type Client: Clone + Default + MaybeSend + MaybeSync;
    /// A response whose body is still to come. Dropping it closes its connection.
    type Response: Respond;
    /// Tells code outside of Rust that a call is no longer wanted.
    type Signal: Abort;
    /// A driver under way.
    type Task: fmt::Debug + MaybeSend + MaybeSync;
    /// Resolves once, at its time or a little later. Dropping it frees the timer.
    type Timer: Future<Output = ()> + Unpin + MaybeSend;

    /// Milliseconds since a moment of the platform's choice, with fractions; never less than
    /// before. Timers run on this clock.
    fn now() -> f64;

    /// Milliseconds since 1970; may jump.
    fn unix_ms() -> f64;

    /// A timer of so many milliseconds; one of 0 or less is due at once.
    fn timer(ms: f64) -> Self::Timer;

    /// Lets the tasks that are ready have their turn.
    fn pass() -> impl Future<Output = ()> + MaybeSend;

    /// Runs a future to its end. It begins by itself, and not before this returns.
    fn spawn(future: impl Future<Output = ()> + MaybeSend + 'static) -> Self::Task;

    /// Polls the future of `task` now, where the platform may have ended whatever would wake it.
    /// What it was told before is heard in any case, now or soon.
    fn poll_now(task: &Self::Task);

    /// What `work`, code of the host's, returns; words where it panicked.
    fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String>;

    /// Gives up what a panic left in an unknown state.
    fn abandon<T>(broken: T);

    /// Posts a text and resolves with the head of the response. Dropping it closes the connection.
    ///
    /// # Errors
    /// Words that hold neither the address nor a header: both may be secret.
    fn post(
        client: &Self::Client,
        url: &str,
        headers: &[(String, String)],
        body: String,
    ) -> impl Future<Output = Result<Self::Response, String>> + MaybeSend;

    /// An HTTP date (RFC 9110 §5.6.7) in milliseconds since 1970; NaN for what is none.
    fn date(text: &str) -> f64;

    /// A text in Unicode's normal form C.
    fn composed(text: &str) -> String;
}

/// A response, its head read.
pub(crate) trait Respond: MaybeSend {
    fn status(&self) -> u16;

    /// The value of a header; `None` also for one that is no text.
    fn header(&self, name: &str) -> Option<String>;

    /// The beginning of the body, `most` bytes or more if it has so many; nothing where it fails.
    fn text(&mut self, most: usize) -> impl Future<Output = String> + MaybeSend {
        async move {
            let mut bytes = Vec::new();
            while bytes.len() < most {
                match self.next().await {
                    Ok(Some(piece)) => bytes.extend(piece),
                    Ok(None) => break,
                    Err(()) => return String::new(),
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The body broke off. Nothing more can be read.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<u8>>, ()>> + MaybeSend;
}

/// Tells code outside of Rust that a call is no longer wanted. Clones are one signal.
pub(crate) trait Abort: Clone + Default + MaybeSend + MaybeSync {
    /// Tells it; `why` in words, where there is a reason. Only the first time counts.
    fn abort(&self, why: Option<&str>);
}
