//! Requests to a model, and the bytes of its response.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use gloo_net::http::{Headers, Method, Request, RequestBuilder, Response};
use js_sys::{Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader, ReadableStreamReadResult};

/// Bytes of a failure's body that the core may look at.
const FAILURE_BODY: usize = 8192;

/// Where requests go.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// The host's `fetch`; by default the global one.
    pub(super) fetch: Option<Rc<Function>>,
}

/// An answer whose body is still to come. Dropping it closes the connection.
pub(super) struct Answer {
    response: Response,
    body: Option<Body>,
    _abort: AbortOnDrop,
}

/// Aborts when it is dropped: a request that has ended takes no notice.
pub(super) struct AbortOnDrop(pub(super) AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Endpoint {
    /// Posts a JSON text. Neither the address nor a header ever reaches an error: the words of a
    /// failed `fetch` can hold the address, and with it a key.
    pub(super) async fn post(&self, body: String) -> Result<Answer, ()> {
        let abort = AbortOnDrop(AbortController::new().map_err(drop)?);
        let headers = web_sys::Headers::new().map_err(drop)?;
        for (name, value) in &self.headers {
            headers.set(name, value).map_err(drop)?;
        }
        let request = RequestBuilder::new(&self.url)
            .method(Method::POST)
            .headers(Headers::from_raw(headers))
            .abort_signal(Some(&abort.0.signal()))
            .body(body)
            .map_err(drop)?;
        let response = self.send(request).await?;
        Ok(Answer { response, body: None, _abort: abort })
    }

    async fn send(&self, request: Request) -> Result<Response, ()> {
        let request = web_sys::Request::from(request);
        let global = js_sys::global();
        let fetch = match &self.fetch {
            Some(fetch) => (**fetch).clone(),
            None => {
                Reflect::get(&global, &"fetch".into()).and_then(JsValue::dyn_into).map_err(drop)?
            }
        };
        // Called as a method of nothing: a detached `fetch` throws in browsers otherwise.
        let promised = fetch.call1(&JsValue::UNDEFINED, &request).map_err(drop)?;
        let answered = JsFuture::from(Promise::resolve(&promised)).await.map_err(drop)?;
        // A service binding, or a `fetch` that was replaced, may answer with one of another realm.
        Ok(Response::from(answered.unchecked_into::<web_sys::Response>()))
    }
}

impl Answer {
    pub(super) fn ok(&self) -> bool {
        self.response.ok()
    }

    pub(super) fn status(&self) -> u16 {
        self.response.status()
    }

    /// Milliseconds to wait: seconds, milliseconds or a date (RFC 9110 §10.2.3, and what OpenAI
    /// adds to it).
    pub(super) fn retry_after_ms(&self) -> Option<u64> {
        let headers = self.response.headers();
        let precise =
            headers.get("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
        if let Some(precise) = precise.filter(|ms| *ms >= 0.0) {
            return millis(precise);
        }
        let said = headers.get("retry-after").filter(|said| !said.is_empty())?;
        let seconds = said.trim().parse::<f64>().map(|seconds| seconds * 1000.0);
        millis(seconds.unwrap_or_else(|_| js_sys::Date::parse(&said) - js_sys::Date::now()))
    }

    /// The beginning of the body of a failure.
    pub(super) async fn beginning(&self) -> String {
        let mut text = self.response.text().await.unwrap_or_default();
        text.truncate(text.floor_char_boundary(FAILURE_BODY));
        text
    }

    /// The next piece of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, ()> {
        if self.body.is_none() {
            let Some(stream) = self.response.body() else { return Ok(None) };
            self.body = Some(Body::new(stream.get_reader().unchecked_into()));
        }
        match &self.body {
            Some(body) => body.next().await,
            None => Ok(None),
        }
    }
}

/// Reads a body. A future for each of its promises would make two closures for every piece; this
/// keeps one pair.
struct Body {
    reader: ReadableStreamDefaultReader,
    reading: Rc<Reading>,
    callbacks: Rc<(Callback, Callback)>,
}

type Callback = Closure<dyn FnMut(JsValue)>;

/// What a promise came to, and who waits for it.
#[derive(Default)]
struct Reading {
    settled: Cell<Option<Result<ReadableStreamReadResult, ()>>>,
    waker: Cell<Option<Waker>>,
    /// While the promise is open: it calls back even where nobody waits any longer.
    open: Cell<Option<Rc<(Callback, Callback)>>>,
}

impl Reading {
    fn settle(&self, settled: Result<ReadableStreamReadResult, ()>) {
        self.settled.set(Some(settled));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        drop(self.open.take());
    }
}

impl Body {
    fn new(reader: ReadableStreamDefaultReader) -> Self {
        let reading = Rc::new(Reading::default());
        let (read, failed) = (reading.clone(), reading.clone());
        let callbacks = Rc::new((
            Callback::new(move |value: JsValue| read.settle(Ok(value.unchecked_into()))),
            Callback::new(move |_| failed.settle(Err(()))),
        ));
        Self { reader, reading, callbacks }
    }

    async fn next(&self) -> Result<Option<Vec<u8>>, ()> {
        self.reading.open.set(Some(self.callbacks.clone()));
        drop(self.reader.read().then2(&self.callbacks.0, &self.callbacks.1));
        let settled = poll_fn(|cx| {
            if let Some(settled) = self.reading.settled.take() {
                return Poll::Ready(settled);
            }
            self.reading.waker.set(Some(cx.waker().clone()));
            Poll::Pending
        });
        // At the end there is no value.
        let value = settled.await?.get_value();
        Ok((!value.is_undefined()).then(|| value.unchecked_into::<Uint8Array>().to_vec()))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within limits")]
fn millis(wait: f64) -> Option<u64> {
    (!wait.is_nan()).then(|| wait.ceil().clamp(0.0, 9_007_199_254_740_991.0) as u64)
}
