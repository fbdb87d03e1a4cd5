//! Native programs on tokio: its timers and tasks, requests through `reqwest`.

mod fetch;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, Sleep};

use super::{Abort, Platform};

/// A tokio runtime with timers and I/O.
pub(crate) enum Tokio {}

/// tokio's clock, which its timers run on, and which tests may pause.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds, about 100 years: tokio takes no timer without end.
const LONGEST_TIMER: f64 = 3e12;

/// tokio owns the task: nothing is kept of it here.
#[derive(Debug)]
pub(crate) struct Task;

/// There is nothing outside of Rust to be told: dropping a future ends all that it has begun.
#[derive(Clone, Default)]
pub(crate) struct Signal;

impl Abort for Signal {
    fn abort(&self, _why: Option<&str>) {}
}

impl Platform for Tokio {
    type Client = fetch::Http;
    type Response = fetch::Answer;
    type Signal = Signal;
    type Task = Task;
    type Timer = Pin<Box<Sleep>>;

    fn now() -> f64 {
        let origin = *ORIGIN;
        Instant::now().saturating_duration_since(origin).as_secs_f64() * 1000.0
    }

    #[expect(clippy::disallowed_methods, reason = "this is the host's clock")]
    fn unix_ms() -> f64 {
        since_1970(SystemTime::now())
    }

    fn timer(ms: f64) -> Self::Timer {
        let ms = ms.clamp(0.0, LONGEST_TIMER);
        Box::pin(tokio::time::sleep(Duration::from_secs_f64(ms / 1000.0)))
    }

    async fn pass() {
        tokio::task::yield_now().await;
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Task {
        drop(tokio::spawn(future));
        Task
    }

    /// What it was told has woken it already.
    fn poll_now(_: &Task) {}

    /// The words of the panic are the panic hook's.
    fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| "it panicked".to_owned())
    }

    /// Drops it: unwinding has run the destructors of what the panic interrupted.
    fn abandon<T>(broken: T) {
        drop(Self::guarded(|| drop(broken)));
    }

    async fn post(
        http: &fetch::Http,
        url: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Result<fetch::Answer, String> {
        http.post(url, headers, body).await
    }

    fn date(text: &str) -> f64 {
        httpdate::parse_http_date(text).map_or(f64::NAN, since_1970)
    }

    fn composed(text: &str) -> String {
        turnlock::stats::nfc(text).into_owned()
    }
}

fn since_1970(time: SystemTime) -> f64 {
    // Before 1970 it is as early as it gets.
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let forms = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"];
        for text in forms.into_iter().chain(["Sun Nov  6 08:49:37 1994"]) {
            assert!((Tokio::date(text) - 784_111_777_000.0).abs() < 0.5, "{text}");
        }
        assert!(Tokio::date("soon").is_nan());
    }
}
