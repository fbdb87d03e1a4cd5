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
use turnlock::history::ModelHistory;
use turnlock::json::Json;
use turnlock::provider::Request;
use turnlock::stream::{Delta, TextToolCalls, ThinkTags};

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
    pub(crate) history: ModelHistory,
    source: Source,
    pub(crate) threads: bool,
    pub(crate) think_tags: ThinkTags,
    pub(crate) text_tool_calls: TextToolCalls,
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
    /// A model of a provider, at the provider's own address unless [`Model::base_url`] says
    /// otherwise. A provider without one ([`Dialect::info`]) needs it.
    pub fn new(dialect: Dialect, model: impl Into<String>) -> Self {
        let info = dialect.info();
        let made = Self::http(dialect, info.base_url.unwrap_or_default().to_owned(), model.into());
        Self { threads: info.threads, ..made }
    }

    /// A model behind `POST {base_url}/chat/completions`: OpenAI, DeepSeek, Mistral, Groq,
    /// OpenRouter, vLLM, Ollama's `/v1` and others. `base_url` goes up to the version.
    pub fn openai_chat(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self::http(Dialect::OpenAiChat, base_url.into(), model.into())
    }

    /// Anthropic Messages, `https://api.anthropic.com/v1` unless [`Model::base_url`] says otherwise;
    /// 4096 tokens a response unless `body("max_tokens", …)` does.
    pub fn anthropic(model: impl Into<String>) -> Self {
        Self::new(Dialect::Anthropic, model)
    }

    /// OpenAI Responses, `https://api.openai.com/v1` unless [`Model::base_url`] says otherwise.
    /// Nothing is kept by the provider: reasoning comes encrypted and is sent back within a turn.
    /// With the strategy `thread` the provider keeps the conversation, and requests name its last
    /// response.
    pub fn openai_responses(model: impl Into<String>) -> Self {
        Self::new(Dialect::OpenAiResponses, model)
    }

    /// Gemini, `https://generativelanguage.googleapis.com/v1beta` unless [`Model::base_url`] says
    /// otherwise.
    pub fn gemini(model: impl Into<String>) -> Self {
        Self::new(Dialect::Gemini, model)
    }

    /// Bedrock Converse in an AWS region, such as `us-east-1`. The host signs each request
    /// ([`Model::sign`]), or gives a key of Bedrock's own ([`Model::api_key`]).
    pub fn bedrock(region: impl AsRef<str>, model: impl Into<String>) -> Self {
        let base_url = Dialect::Bedrock.info().base_url.unwrap_or_default();
        Self::new(Dialect::Bedrock, model).base_url(base_url.replace("{region}", region.as_ref()))
    }

    /// Cohere, `https://api.cohere.com/v2` unless [`Model::base_url`] says otherwise.
    pub fn cohere(model: impl Into<String>) -> Self {
        Self::new(Dialect::Cohere, model)
    }

    /// Ollama's own API, `http://localhost:11434` unless [`Model::base_url`] says otherwise. A local
    /// server needs no key.
    pub fn ollama(model: impl Into<String>) -> Self {
        Self::new(Dialect::Ollama, model)
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
        Self::of(Dialect::OpenAiChat, 0, source)
    }

    fn http(dialect: Dialect, base_url: String, model: String) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        let http = Http { base_url, headers, client: Client::default(), model, body, sign: None };
        Self::of(dialect, 2, Source::Http(http))
    }

    fn of(dialect: Dialect, max_retries: u32, source: Source) -> Self {
        let (think_tags, text_tool_calls) = (ThinkTags::Auto, TextToolCalls::Report);
        let (threads, wrong) = (false, None);
        let history = ModelHistory::default();
        Self { dialect, max_retries, history, source, threads, think_tags, text_tool_calls, wrong }
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
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = "a key: visible ASCII characters, without spaces and line breaks";
            return Self { wrong: Some(Error::option("api_key", what)), ..self };
        }
        let (name, value) = self.dialect.info().key(key);
        self.header(name, value)
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

    /// Sends the header with which the API answers pages, where the provider has one (Anthropic).
    /// The key is then visible to the page's user.
    #[must_use]
    pub fn dangerously_allow_browser(self) -> Self {
        match self.dialect.info().page_header {
            Some(name) => self.header(name, "true"),
            None => self,
        }
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

    /// Whether a `<think>` block at the beginning of a response is reasoning (Chat Completions and
    /// Ollama, in turns). Default `Auto`.
    #[must_use]
    pub fn think_tags(mut self, think_tags: ThinkTags) -> Self {
        self.think_tags = think_tags;
        self
    }

    /// What becomes of tool calls in the text of a response (Chat Completions and Ollama, in turns).
    /// Default `Report`.
    #[must_use]
    pub fn text_tool_calls(mut self, text_tool_calls: TextToolCalls) -> Self {
        self.text_tool_calls = text_tool_calls;
        self
    }

    /// What the model wants back of the responses in its history: when reasoning goes back, what
    /// stands for missing reasoning, and for the signatures of Gemini 3.
    #[must_use]
    pub fn history(mut self, history: ModelHistory) -> Self {
        self.history = history;
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
        let seed = Json::Number(seed.to_string().into());
        match *self.seed_field() {
            [] => self.clone(),
            [name] => self.with_member(name, seed),
            [outer, inner, ..] => {
                let mut beside = match self.parameters().1.get(outer) {
                    Some(Json::Object(members)) => members.clone(),
                    _ => Vec::new(),
                };
                beside.retain(|(name, _)| name != inner);
                beside.push((inner.into(), seed));
                self.with_member(outer, Json::Object(beside))
            }
        }
    }

    /// The member of a request that holds a seed, by the names on the way to it; empty if the wire
    /// has none.
    pub(crate) fn seed_field(&self) -> &'static [&'static str] {
        self.dialect.info().seed
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
        let url = address(&http.base_url, &request.path);
        let body = request.body.to_text();
        if let Some(sign) = &http.sign {
            let signable = Signable { url: &url, headers: &headers, body: &body };
            // What the host says may hold a secret, so it is not shown.
            let unsigned = |_| "the request could not be signed: `sign` failed".to_owned();
            let added = guarded(|| sign(&signable)).and_then(|added| added).map_err(unsigned)?;
            headers.extend(added);
        }
        Ok(Opened::Http(Post { client: http.client.clone(), url, headers, body }))
    }
}

/// The address of a path behind a base address, whose query (`?api-version=…`) stays behind it.
fn address(base_url: &str, path: &str) -> String {
    let base_url = base_url.split('#').next().unwrap_or_default();
    let (base, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let base = base.trim_end_matches('/');
    match query {
        "" => format!("{base}{path}"),
        query => format!("{base}{path}{}{query}", if path.contains('?') { '&' } else { '?' }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock::provider::RequestParts;

    fn post(model: &Model) -> Result<Post, String> {
        let request = model.dialect.request(RequestParts::new("m", Vec::new(), None)).unwrap();
        match model.open(request)? {
            Opened::Http(post) => Ok(post),
            Opened::Deltas(_) => panic!("a model behind HTTP"),
        }
    }

    #[test]
    fn the_query_of_a_base_address_stays_behind_the_path() {
        let path = "/chat/completions";
        for (base, whole) in [
            ("https://x.test/v1", "https://x.test/v1/chat/completions"),
            ("https://x.test/v1//", "https://x.test/v1/chat/completions"),
            ("https://x.test/v1?api-version=1", "https://x.test/v1/chat/completions?api-version=1"),
            ("https://x.test/v1/?a=1&b=/", "https://x.test/v1/chat/completions?a=1&b=/"),
            ("https://x.test/v1/#part", "https://x.test/v1/chat/completions"),
        ] {
            assert_eq!(address(base, path), whole);
        }
        assert_eq!(address("/v1?a=1", "/m:stream?alt=sse"), "/v1/m:stream?alt=sse&a=1");
    }

    #[test]
    fn a_key_with_other_characters_is_misuse() {
        for key in ["sk-very-secret\n", "sk very-secret", "sk-véry-secret"] {
            let error = Model::anthropic("m").api_key(key).checked().unwrap_err();
            assert_eq!(error.code, "options.invalid");
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
        assert!(Model::anthropic("m").api_key("sk-very-secret").checked().is_ok());
    }

    #[test]
    fn secrets_are_those_of_the_headers() {
        let model = Model::cohere("m").api_key("sk-live-0123").header("X-Proxy-Token", "t0ken-1");
        let post = post(&model.header("x-key", "short").header("x-own", "is shown")).unwrap();
        let secrets = post.secrets();
        let secrets: Vec<&str> = secrets.iter().map(|secret| &**secret).collect();
        assert_eq!(secrets, ["sk-live-0123", "t0ken-1", "short"]);
    }

    #[test]
    fn the_host_signs_what_is_sent() {
        let sign = |asked: &Signable<'_>| {
            let length = asked.body.len();
            let typed = asked.headers.iter().any(|(name, _)| name == "content-type");
            let signature = format!("{} {length} {typed}", asked.url);
            Ok(vec![("authorization".to_owned(), signature)])
        };
        let sent = post(&Model::bedrock("eu-west-1", "m").sign(sign)).unwrap();
        let url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream";
        assert_eq!(sent.url, url);
        let (name, value) = sent.headers.last().unwrap();
        assert_eq!(name, "authorization");
        assert_eq!(*value, format!("{url} {} true", sent.body.len()));

        let fails = |_: &Signable<'_>| Err("the secret is hunter2".to_owned());
        let failed = post(&Model::bedrock("eu-west-1", "m").sign(fails)).err().unwrap();
        assert_eq!(failed, "the request could not be signed: `sign` failed");
    }

    #[test]
    fn seeds_are_where_the_wire_has_them() {
        let body = |model: &Model| model.seeded(7).parameters().1.to_text();
        let gemini = Model::gemini("m").body("generationConfig", serde_json::json!({ "topK": 1 }));
        assert_eq!(body(&gemini), r#"{"generationConfig":{"topK":1,"seed":7}}"#);
        assert_eq!(body(&Model::ollama("m")), r#"{"options":{"seed":7}}"#);
        assert_eq!(body(&Model::cohere("m")), r#"{"seed":7}"#);
        assert_eq!(body(&Model::anthropic("m")), "{}");
    }
}
