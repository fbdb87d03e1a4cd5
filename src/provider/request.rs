//! Whole requests, for hosts: path, headers and body.

use std::borrow::Cow;

use super::content::Members;
use super::prompt::{AddedSystem, Prompt, Requests};
use super::{Dialect, requests};
use crate::error::Error;
use crate::json::table::{Append, Range, Row, described};
use crate::json::{Json, write_string};

/// A request, without what the host alone knows: the address of the provider and its key.
///
/// Created by [`Dialect::request`], and by turns and passes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The path behind the base address, such as `/chat/completions`. The base address goes up to
    /// the version, such as `https://api.openai.com/v1`.
    pub path: Cow<'static, str>,
    /// The headers that the provider needs, with names in lower case. The header that holds the key
    /// is not among them.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body of the `POST`.
    pub body: Json<'a>,
}

impl Request<'_> {
    const ROWS: &'static [Row] = &[
        Row::new("path", false, Range::Any),
        Row::new("headers", false, Range::Any),
        Row::new("body", false, Range::Any),
    ];
}

described! {
    /// A request, without what the host alone knows: the address of the provider and its key.
    Request<'a> as "WholeRequest" {
        /// The path behind the base address.
        String, None;
        /// The headers that the provider needs, except the key.
        Vec<(String, String)>, None;
        /// The body of the `POST`.
        Json<'a> as "ModelRequest", None;
    }
}

impl Append for Request<'static> {
    fn append(&self, out: &mut String) {
        out.push_str("{\"path\":");
        write_string(&self.path, out);
        out.push_str(",\"headers\":{");
        for (index, (name, value)) in self.headers.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_string(name, out);
            out.push(':');
            write_string(value, out);
        }
        out.push_str("},\"body\":");
        self.body.write(out);
        out.push('}');
    }
}

/// What a request is made of.
///
/// [`RequestParts::new`] gives a streamed request without tools; the fields are then changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestParts<'a> {
    /// The provider's name of the model.
    pub model: String,
    /// The messages in the provider's form, as [`normalize`](crate::history::normalize) returns
    /// them.
    pub messages: Vec<Json<'a>>,
    /// The system prompt in the provider's form, if it is outside the messages, as
    /// [`normalize`](crate::history::normalize) returns it.
    pub system: Option<Json<'a>>,
    /// Texts that are added to `system`. Only for a provider that takes system texts outside the
    /// messages; for any other, they are system messages of the history. Default: none.
    pub added_system: Vec<String>,
    /// The tools that the model may call. Default: none.
    pub tools: Vec<ToolDeclaration<'a>>,
    /// Whether the model may call them. It is sent only if there are tools. Default: it may.
    pub choice: Choice,
    /// Whether the response is a stream. Default: yes.
    pub stream: bool,
    /// Members of the body that the host adds, such as `temperature`, in order. They replace those
    /// for the model and the stream, and are replaced by those for messages and tools. Default:
    /// none.
    pub extra: Vec<(String, Json<'a>)>,
}

/// The tool choice of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Choice {
    /// The model may call tools.
    #[default]
    Auto,
    /// The model may not call tools. They stay declared, so that the history can name them and the
    /// provider's prompt cache stays valid.
    None,
}

/// A tool, as a request declares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolDeclaration<'a> {
    /// The name.
    pub name: &'a str,
    /// The description for the model.
    pub description: &'a str,
    /// JSON Schema of the arguments.
    pub input_schema: &'a Json<'static>,
}

impl<'a> RequestParts<'a> {
    /// Makes the parts of a streamed request without tools.
    #[must_use]
    pub fn new(
        model: impl Into<String>,
        messages: Vec<Json<'a>>,
        system: Option<Json<'a>>,
    ) -> Self {
        Self {
            model: model.into(),
            messages,
            system,
            added_system: Vec::new(),
            tools: Vec::new(),
            choice: Choice::default(),
            stream: true,
            extra: Vec::new(),
        }
    }
}

impl Dialect {
    /// Writes a request. `anthropic` gets a limit of 4096 tokens, unless `extra` has `max_tokens`.
    ///
    /// ```
    /// use turnlock::Dialect;
    /// use turnlock::json::Json;
    /// use turnlock::history::{HistoryOptions, normalize};
    /// use turnlock::provider::RequestParts;
    ///
    /// let dialect = Dialect::OpenAiChat;
    /// let asked = Json::parse_str(r#"{"role":"user","content":"hi"}"#)?;
    /// let made = normalize([asked], &HistoryOptions::new(dialect))?;
    /// let mut parts = RequestParts::new("gpt-5-mini", made.messages, made.system);
    /// parts.extra.push(("temperature".to_owned(), Json::integer(0)));
    ///
    /// let request = dialect.request(parts)?;
    /// assert_eq!(request.path, "/chat/completions");
    /// assert_eq!(request.headers[0], ("content-type", "application/json"));
    /// assert_eq!(request.body.get("model"), Some(&"gpt-5-mini".into()));
    /// # Ok::<(), turnlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dialect.no_stream` for `langchain`, which is a shape of histories and no API.
    /// `options.invalid` for `system` and `added_system`, if the provider takes system texts in the
    /// messages.
    pub fn request<'a>(self, parts: RequestParts<'a>) -> Result<Request<'a>, Error> {
        let requests = requests(self);
        if requests.post.is_none() {
            return Err(Error::Dialect { name: self.name().to_owned(), known: true });
        }
        let RequestParts { model, messages, system, added_system, tools, choice, stream, extra } =
            parts;
        let outside = system.is_some() || !added_system.is_empty();
        if outside && requests.added_system == AddedSystem::InHistory {
            let option = "system".to_owned();
            return Err(Error::option(option, "system messages in the history"));
        }
        let added: Vec<&str> = added_system.iter().map(String::as_str).collect();
        let prompt = Prompt { messages, system, added_system: &added, tools: &tools, choice };
        let extra = extra.into_iter().map(|(key, value)| (key.into(), value)).collect();
        let how = (stream, prompt.may_call());
        Ok(post(requests, Some(model), extra, how, (requests.members)(prompt)))
    }
}

/// Members that say how tools are called.
const CHOICES: [&str; 4] = ["tool_choice", "parallel_tool_calls", "strict_tools", "toolConfig"];

/// A request of the members that the core decides, behind those for the model and the stream, if
/// the model is named, and behind `extra`. `toolConfig` has both what the core decides and what the
/// host has beside it. `calls`: the model may call tools.
pub(super) fn post<'a>(
    requests: &Requests,
    model: Option<String>,
    extra: Members<'a>,
    (stream, calls): (bool, bool),
    decided: Members<'a>,
) -> Request<'a> {
    let (mut body, mut to, mut accept) = (Members::new(), "".into(), "application/json");
    let mut own: &[_] = &[];
    if let Some(post) = requests.post {
        to = (post.path)(model.as_deref().unwrap_or_default(), stream);
        own = post.headers;
        if stream {
            accept = post.accept;
        }
        if let Some(model) = model {
            body = (post.start)(model, stream);
        }
    }
    let mut headers = vec![("content-type", "application/json"), ("accept", accept)];
    headers.extend_from_slice(own);
    for members in [extra, decided] {
        for (key, mut value) in members {
            if key == "toolConfig"
                && let Some(Json::Object(known)) =
                    body.iter().find(|one| one.0 == key).map(|one| &one.1)
                && let Json::Object(own) = &mut value
            {
                // A choice of the host's is one among tools that may be called.
                let more = |one: &&(Cow<'_, str>, _)| {
                    (calls || one.0 != "toolChoice") && !own.iter().any(|(key, _)| *key == one.0)
                };
                let more: Vec<_> = known.iter().filter(more).cloned().collect();
                own.extend(more);
            }
            // Tools that the provider runs itself are in the host's members.
            if key == "tools"
                && let Json::Array(own) = &mut value
                && let Some(Json::Array(given)) =
                    body.iter().find(|one| one.0 == key).map(|one| &one.1)
            {
                own.splice(0..0, given.iter().cloned());
            }
            put(&mut body, key, value);
        }
    }
    // The host's members are those of every request, and providers refuse a choice among no tools.
    if !body.iter().any(|(key, value)| key == "tools" || value.get("tools").is_some()) {
        body.retain(|(key, _)| !CHOICES.contains(&&**key));
    }
    Request { path: to, headers, body: Json::Object(body) }
}

/// Writes a text as one part of a path: all but letters, digits, `-`, `_`, `.`, `~` and what `kept`
/// names is percent-encoded. `..` leads nowhere: it becomes a name that no provider has, because
/// addresses treat `%2E%2E` as `..`.
pub(super) fn escape(text: &str, kept: &[u8], out: &mut String) {
    let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let dots = text.split('/').any(|part| part == "." || part == "..");
    for byte in text.bytes() {
        if dots && byte == b'.' {
            out.push_str("%252E");
        } else if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(hex(byte >> 4).to_ascii_uppercase());
            out.push(hex(byte & 15).to_ascii_uppercase());
        }
    }
}

/// Adds a member, or replaces its value.
#[inline(never)]
pub(super) fn put<'a>(body: &mut Members<'a>, key: Cow<'a, str>, value: Json<'a>) {
    match body.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => body.push((key, value)),
    }
}
