//! Models: where requests go, and how their answers are read.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures::stream::Stream;
use serde::Serialize;

use crate::error::Error;
use crate::guard::guarded;
use crate::http::Post;
use crate::json::to_json;
use crate::platform::{BoxStream, Client, Dyn, MaybeSend, MaybeSync};
use turnlock::dialect::Dialect;
use turnlock::json::Json;
use turnlock::provider::Request;
use turnlock::stream::Delta;

/// A model behind HTTP, or one of the host's own.
///
/// ```no_run
/// use turnlock_client::Model;
///
/// let model = Model::openai_chat("https://api.openai.com/v1", "gpt-5-mini")
///     .api_key("sk-…")
///     .body("temperature", 0);
/// ```
#[derive(Clone)]
pub struct Model {
    pub(crate) dialect: Dialect,
    pub(crate) max_retries: u32,
    source: Source,
    pub(crate) threads: bool,
    wrong: Option<Error>,
}

#[derive(Clone)]
enum Source {
    Http(Http),
    Custom(Custom),
}

type Custom = Arc<Dyn![Fn(Json<'static>) -> BoxStream<'static, Result<Delta, String>>]>;

#[derive(Clone)]
struct Http {
    base_url: String,
    /// The host's own.
    headers: Vec<(String, String)>,
    client: Client,
    /// The provider's name of the model.
    model: String,
    /// Members of every request's body.
    body: Vec<(Cow<'static, str>, Json<'static>)>,
    /// Signs a request.
    sign: Option<Sign>,
}

type Sign = Arc<Dyn![Fn(&Signable<'_>) -> Result<Vec<(String, String)>, String>]>;

/// A request that [`Model::sign`] signs: it is sent as it stands here.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Signable<'a> {
    /// The whole address.
    pub url: &'a str,
    /// Name and value of each header.
    pub headers: &'a [(String, String)],
    /// The body of the `POST`, JSON text.
    pub body: &'a str,
}

/// What a model answers with.
pub(crate) enum Opened {
    Http(Post),
    Deltas(BoxStream<'static, Result<Delta, String>>),
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No header: one of them is a key.
        f.debug_struct("Model").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}

impl Model {
    /// A model behind `POST {base_url}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
    /// OpenRouter, vLLM, Ollama's `/v1` and others. `base_url` goes up to the version.
    pub fn openai_chat(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self::http(Dialect::OpenAiChat, base_url.into(), model.into())
    }

    /// Anthropic Messages, `https://api.anthropic.com/v1` unless [`Model::base_url`] says otherwise;
    /// 4096 tokens a response unless `body("max_tokens", …)` does.
    pub fn anthropic(model: impl Into<String>) -> Self {
        let base_url = "https://api.anthropic.com/v1".to_owned();
        Self::http(Dialect::Anthropic, base_url, model.into())
    }

    /// OpenAI Responses, `https://api.openai.com/v1` unless [`Model::base_url`] says otherwise.
    /// Nothing is kept by the provider: reasoning comes encrypted and is sent back within a turn.
    pub fn openai_responses(model: impl Into<String>) -> Self {
        Self::http(Dialect::OpenAiResponses, "https://api.openai.com/v1".to_owned(), model.into())
    }

    /// Gemini, `https://generativelanguage.googleapis.com/v1beta` unless [`Model::base_url`] says
    /// otherwise.
    pub fn gemini(model: impl Into<String>) -> Self {
        let base_url = "https://generativelanguage.googleapis.com/v1beta".to_owned();
        Self::http(Dialect::Gemini, base_url, model.into())
    }

    /// Bedrock Converse in an AWS region, such as `us-east-1`. The host signs each request
    /// ([`Model::sign`]), or gives a key of Bedrock's own ([`Model::api_key`]).
    pub fn bedrock(region: impl AsRef<str>, model: impl Into<String>) -> Self {
        let base_url = format!("https://bedrock-runtime.{}.amazonaws.com", region.as_ref());
        Self::http(Dialect::Bedrock, base_url, model.into())
    }

    /// Cohere, `https://api.cohere.com/v2` unless [`Model::base_url`] says otherwise.
    pub fn cohere(model: impl Into<String>) -> Self {
        Self::http(Dialect::Cohere, "https://api.cohere.com/v2".to_owned(), model.into())
    }

    /// Ollama's own API, `http://localhost:11434` unless [`Model::base_url`] says otherwise. A local
    /// server needs no key.
    pub fn ollama(model: impl Into<String>) -> Self {
        Self::http(Dialect::Ollama, "http://localhost:11434".to_owned(), model.into())
    }

    /// A model without HTTP: in the browser, or behind another SDK. It gets `messages`, `tools` and
    /// `tool_choice` in OpenAI Chat's shape and yields deltas; an `Err` is a broken connection, in
    /// words. A `finish` delta may be left out: the end of the stream ends the response, and every
    /// call with it. Dropping the stream is how it is told to stop. It is asked once: nothing is
    /// retried.
    pub fn custom<F, S>(generate: F) -> Self
    where
        F: Fn(Json<'static>) -> S + MaybeSend + MaybeSync + 'static,
        S: Stream<Item = Result<Delta, String>> + MaybeSend + 'static,
    {
        let source: Custom = Arc::new(move |request| Box::pin(generate(request)));
        let source = Source::Custom(source);
        Self { dialect: Dialect::OpenAiChat, max_retries: 0, source, threads: false, wrong: None }
    }

    fn http(dialect: Dialect, base_url: String, model: String) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        let http = Http { base_url, headers, client: Client::default(), model, body, sign: None };
        Self { dialect, max_retries: 2, source: Source::Http(http), threads: false, wrong: None }
    }

    fn change(mut self, change: impl FnOnce(&mut Http)) -> Self {
        if let Source::Http(http) = &mut self.source {
            change(http);
        }
        self
    }

    /// Up to the version, such as `https://api.anthropic.com/v1`.
    #[must_use]
    pub fn base_url(self, base_url: impl Into<String>) -> Self {
        self.change(|http| http.base_url = base_url.into())
    }

    /// Sent as the provider wants it. In a page, prefer a proxy that adds it.
    #[must_use]
    pub fn api_key(self, key: impl AsRef<str>) -> Self {
        let key = key.as_ref();
        match self.dialect {
            Dialect::Anthropic => self.header("x-api-key", key),
            Dialect::Gemini => self.header("x-goog-api-key", key),
            _ => self.header("authorization", format!("Bearer {key}")),
        }
    }

    /// Signs each request: returns headers to add, such as those of AWS Signature Version 4, or says
    /// why it cannot. Credentials are looked up before, not here.
    #[must_use]
    pub fn sign<F>(self, sign: F) -> Self
    where
        F: Fn(&Signable<'_>) -> Result<Vec<(String, String)>, String>
            + MaybeSend
            + MaybeSync
            + 'static,
    {
        let sign: Sign = Arc::new(sign);
        self.change(|http| http.sign = Some(sign))
    }

    /// Anthropic: sends the header with which the API answers pages. The key is then visible to the
    /// page's user.
    #[must_use]
    pub fn dangerously_allow_browser(self) -> Self {
        self.header("anthropic-dangerous-direct-browser-access", "true")
    }

    /// Added to every request; replaces a header of the same name.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.change(|http| http.headers.push((name.into(), value.into())))
    }

    /// Added to every request body, such as `temperature`; replaces a member of the same name, but
    /// for those that the core decides.
    #[must_use]
    pub fn body(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match to_json(&value) {
            Ok(value) => self.change(|http| {
                http.body.retain(|(one, _)| *one != name);
                http.body.push((name.into(), value));
            }),
            Err(error) => {
                self.wrong = Some(error);
                self
            }
        }
    }

    /// What the server makes of the wire: `deepseek`, `mistral`, `groq`, `xai` and `chat-template`
    /// beside `openai-chat`. Default that of the constructor.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Repetitions of a request that failed before anything of its response was seen. Default 2, at
    /// most 10.
    #[must_use]
    pub fn max_retries(mut self, times: u32) -> Self {
        self.max_retries = times;
        self
    }

    /// A model that keeps the conversation: turns may have the strategy `thread`, whose requests
    /// have a `threadId` and only the messages that the thread lacks.
    #[must_use]
    pub fn threads(mut self) -> Self {
        self.threads = true;
        self
    }

    /// Sends requests otherwise.
    pub(crate) fn through(self, client: Client) -> Self {
        self.change(|http| http.client = client)
    }

    /// With a seed, where the wire has a field for it.
    pub(crate) fn seeded(&self, seed: i64) -> Self {
        let Some(field) = self.seed_field() else { return self.clone() };
        self.with_member(field, Json::Number(seed.to_string().into()))
    }

    /// The member of a request that holds a seed, where the wire has one.
    pub(crate) fn seed_field(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::OpenAiChat | Dialect::Groq | Dialect::Xai | Dialect::Cohere => Some("seed"),
            Dialect::Mistral => Some("random_seed"),
            _ => None,
        }
    }

    /// Under another of its provider's names.
    pub(crate) fn named(&self, name: &str) -> Self {
        match &self.source {
            Source::Custom(_) => self.with_member("model", name.to_owned().into()),
            Source::Http(_) => self.clone().change(|http| name.clone_into(&mut http.model)),
        }
    }

    fn with_member(&self, name: &'static str, value: Json<'static>) -> Self {
        let Source::Custom(generate) = &self.source else { return self.clone().body(name, value) };
        let generate = generate.clone();
        let source: Custom = Arc::new(move |mut request| {
            if let Json::Object(members) = &mut request {
                members.push((name.into(), value.clone()));
            }
            generate(request)
        });
        Self { source: Source::Custom(source), ..self.clone() }
    }

    /// What is wrong with what the host said.
    pub(crate) fn checked(&self) -> Result<(), Error> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        match &self.source {
            Source::Http(http) if !is_address(&http.base_url) => {
                let what = "an absolute address, such as https://api.openai.com/v1, or one that \
                            begins with /";
                Err(Error::option("base_url", what))
            }
            _ => Ok(()),
        }
    }

    /// The name and the members that the core writes into every body. A model without HTTP gets
    /// only what the core decides.
    pub(crate) fn parameters(&self) -> (Option<String>, Json<'static>) {
        match &self.source {
            Source::Custom(_) => (None, Json::Null),
            Source::Http(http) => (Some(http.model.clone()), Json::Object(http.body.clone())),
        }
    }

    /// Sends a request.
    pub(crate) fn open(&self, request: Request<'static>) -> Result<Opened, String> {
        let http = match &self.source {
            Source::Custom(generate) => {
                return guarded(|| generate(request.body)).map(Opened::Deltas);
            }
            Source::Http(http) => http,
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let mut headers: Vec<_> = request.headers.into_iter().map(owned).collect();
        headers.extend(http.headers.iter().cloned());
        let url = format!("{}{}", http.base_url.trim_end_matches('/'), request.path);
        let body = request.body.to_text();
        if let Some(sign) = &http.sign {
            let asked = Signable { url: &url, headers: &headers, body: &body };
            // What the host says may hold a secret, so it is not shown.
            let unsigned = |_| "the request could not be signed: `sign` failed".to_owned();
            let added = guarded(|| sign(&asked)).and_then(|added| added).map_err(unsigned)?;
            headers.extend(added);
        }
        Ok(Opened::Http(Post { client: http.client.clone(), url, headers, body }))
    }
}

/// Whether it is absolute, or begins with a slash: a page would take `api.openai.com/v1` for a path of
/// its own server, and send the key there.
fn is_address(base_url: &str) -> bool {
    let begins = |start: &str| {
        base_url.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start))
            && base_url.len() > start.len()
    };
    base_url.starts_with('/') || begins("http://") || begins("https://")
}
