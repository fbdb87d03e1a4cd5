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
use web_sys::{
    AbortController, ReadableStreamDefaultReader, ReadableStreamReadResult, RequestRedirect,
};

use crate::model::Model;
use crate::platform::Respond;

/// The host's `fetch`; by default the global one.
#[derive(Clone, Default)]
pub(crate) struct Fetch(Option<Rc<Function>>);

/// An answer whose body is still to come. Dropping it closes the connection.
pub(crate) struct Answer {
    response: Response,
    body: Option<Body>,
    _abort: AbortOnDrop,
}

/// Aborts when it is dropped: a request that has ended takes no notice.
struct AbortOnDrop(AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Model {
    /// On the web. The host's own `fetch`, which gets a `Request` and returns a promise of a
    /// `Response`: for a service binding, or where there is no global one. It must honour the
    /// request's `signal`: that is how a response is given up.
    #[must_use]
    pub fn fetch(self, fetch: Function) -> Self {
        self.through(Fetch(Some(Rc::new(fetch))))
    }
}

impl Fetch {
    /// What a failed `fetch` says can hold the address, and with it a key: nobody hears it.
    pub(super) async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Result<Answer, ()> {
        let abort = AbortOnDrop(AbortController::new().map_err(drop)?);
        let request_headers = web_sys::Headers::new().map_err(drop)?;
        for (name, value) in headers {
            request_headers.set(name, value).map_err(drop)?;
        }
        let request = RequestBuilder::new(url)
            .method(Method::POST)
            .headers(Headers::from_raw(request_headers))
            .abort_signal(Some(&abort.0.signal()))
            .redirect(RequestRedirect::Manual)
            .body(body)
            .map_err(drop)?;
        let response = self.send(request).await?;
        Ok(Answer { response, body: None, _abort: abort })
    }

    async fn send(&self, request: Request) -> Result<Response, ()> {
        let request = web_sys::Request::from(request);
        let global = js_sys::global();
        let fetch = match &self.0 {
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

impl Respond for Answer {
    fn status(&self) -> u16 {
        self.response.status()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name)
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, ()> {
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
