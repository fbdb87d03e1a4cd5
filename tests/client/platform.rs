//! What differs between the platforms that these tests run on: Chromium, and tokio natively.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use here::*;

/// A value that callbacks of a test and the test itself see. Not held across an `await`.
#[derive(Debug, Default)]
pub struct Seen<T>(Arc<Mutex<T>>);

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Seen<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        // Tests panic while they hold it, on purpose.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, value: T) {
        *self.lock() = value;
    }

    /// Others that see it.
    pub fn others(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl<T: Copy> Seen<T> {
    pub fn get(&self) -> T {
        *self.lock()
    }
}

#[cfg(target_arch = "wasm32")]
mod here {
    use gloo_net::http::{Request, RequestBuilder, Response};
    use gloo_timers::future::TimeoutFuture;
    pub use wasm_bindgen_futures::spawn_local as spawn;
    pub use wasm_bindgen_test::{console_log as say, wasm_bindgen_test as test};

    /// Requests at once: Chromium opens six connections to one host.
    pub const LANES: usize = 5;

    /// Where `tests/client/site.mjs` listens. A test in a browser has no environment.
    pub fn url() -> &'static str {
        option_env!("TURNLOCK_PROVIDER").unwrap_or("http://127.0.0.1:41877")
    }

    /// Milliseconds since 1970.
    pub fn now() -> f64 {
        js_sys::Date::now()
    }

    pub async fn sleep(ms: u32) {
        TimeoutFuture::new(ms).await;
    }

    pub async fn get(url: &str) -> String {
        Request::get(url).send().await.unwrap().text().await.unwrap()
    }

    /// Tells `fetch` that its answer is no longer wanted.
    pub type Signal = Option<web_sys::AbortSignal>;
    pub const NO_SIGNAL: Signal = None;

    macro_rules! signal {
        ($context:expr) => {
            $context.signal()
        };
    }
    pub(crate) use signal;

    /// The status and text of an answer.
    pub async fn post(url: &str, body: String, signal: Signal) -> Result<(u16, String), String> {
        let words = |error: gloo_net::Error| error.to_string();
        let request: RequestBuilder = Request::post(url).header("content-type", "application/json");
        let request = request.abort_signal(signal.as_ref()).body(body).map_err(words)?;
        let response: Response = request.send().await.map_err(words)?;
        Ok((response.status(), response.text().await.map_err(words)?))
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod here {
    use std::env;
    use std::sync::LazyLock;
    use std::time::Duration;

    pub use tokio::test;

    pub const LANES: usize = 16;

    /// Where `tests/client/site.mjs` listens.
    pub fn url() -> &'static str {
        static URL: LazyLock<String> = LazyLock::new(|| {
            env::var("TURNLOCK_PROVIDER").unwrap_or_else(|_| "http://127.0.0.1:41877".to_owned())
        });
        &URL
    }

    pub fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(future));
    }

    /// Milliseconds since 1970.
    #[expect(clippy::disallowed_methods, reason = "the tables need a clock")]
    pub fn now() -> f64 {
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0
    }

    pub async fn sleep(ms: u32) {
        tokio::time::sleep(Duration::from_millis(ms.into())).await;
    }

    pub async fn get(url: &str) -> String {
        client().get(url).send().await.unwrap().text().await.unwrap()
    }

    /// Nothing: the request is dropped with the future.
    #[derive(Clone, Copy)]
    pub struct Signal;
    pub const NO_SIGNAL: Signal = Signal;

    macro_rules! signal {
        ($context:expr) => {
            $crate::platform::NO_SIGNAL
        };
    }
    pub(crate) use signal;

    pub async fn post(url: &str, body: String, _: Signal) -> Result<(u16, String), String> {
        let words = |error: reqwest::Error| error.to_string();
        let request = client().post(url).header("content-type", "application/json").body(body);
        let response = request.send().await.map_err(words)?;
        Ok((response.status().as_u16(), response.text().await.map_err(words)?))
    }

    /// One for each test, whose runtime is its thread's.
    fn client() -> reqwest::Client {
        thread_local! {
            static CLIENT: reqwest::Client = {
                let _ = rustls::crypto::ring::default_provider().install_default();
                reqwest::Client::new()
            };
        }
        CLIENT.with(Clone::clone)
    }

    macro_rules! say {
        ($($words:tt)*) => { println!($($words)*) };
    }
    pub(crate) use say;
}
