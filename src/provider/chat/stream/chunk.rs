//! Reads one chunk. Unknown members are skipped: providers add them without notice.

use std::borrow::Cow;

use super::read::{keep, list, object, reason, text};
use super::unread::{BESIDE, has_content, is_of_call};
use crate::json::{Json, JsonError, Kind, Reader, object};
use crate::stream::{StreamError, Usage, failure};

/// The relevant members of one chunk.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) said: Vec<Piece<'a>>,
    /// The texts of `reasoning_details`, which count where no other reasoning is.
    details: Vec<Piece<'a>>,
    pub(super) calls: Vec<Fragment<'a>>,
    /// What may be a piece of a call has another form.
    pub(super) unreadable: bool,
    /// What may be the arguments of a call stands in a member that is not read.
    pub(super) unread: bool,
    pub(super) finish: Option<Cow<'a, str>>,
    /// The reason of the provider behind a gateway (OpenRouter, LiteLLM).
    pub(super) native: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<StreamError>,
    /// Sources and annotations, as the provider's JSON.
    pub(super) others: Vec<String>,
    /// Tools that the provider ran itself (Groq).
    pub(super) tools: Vec<Json<'a>>,
    /// Those that some providers repeat with every chunk.
    pub(super) sources: Vec<String>,
    /// The member that has the reasoning, if there is one.
    pub(super) thinks: Option<Thinks>,
    /// Members of the message that go back with its calls.
    pub(super) members: Vec<(&'static str, Json<'a>)>,
    /// A member is of this wire format.
    pub(super) known: bool,
    /// The choice that has the calls.
    pub(super) caller: Option<u64>,
    /// The reason to finish of another choice than the first.
    pub(super) other_finish: Option<(u64, Cow<'a, str>)>,
}

/// The member that has the reasoning. If both are there, they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thinks {
    /// `reasoning`: OpenRouter, Groq, newer versions of vLLM.
    Reasoning,
    /// `reasoning_content`: DeepSeek, Moonshot, GLM, older versions of vLLM.
    Content,
}

#[derive(Debug)]
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
    /// What the provider wants back unchanged.
    Signature(Cow<'a, str>),
}

#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Cow<'a, str>>,
    /// Members that go back with the call.
    pub(super) members: Vec<(&'static str, Json<'a>)>,
    /// What may be its arguments stands in a member that is not read.
    pub(super) unread: bool,
}

impl<'a> Chunk<'a> {
    pub(super) fn member(
        &mut self,
        key: &str,
        reader: &mut Reader<'a>,
        data: &str,
    ) -> Result<(), JsonError> {
        match key {
            "choices" => {
                self.known = true;
                self.unread |= reader.peek()? == Kind::Object;
                list(reader, &mut |reader| {
                    self.unread |= reader.peek()? == Kind::Array;
                    self.choice(reader)
                })
            }
            // Perplexity and xAI.
            "citations" | "search_results" => keep(key, reader, &mut self.sources),
            "usage" => {
                self.usage = usage(&reader.value()?).or(self.usage);
                Ok(())
            }
            "x_groq" => {
                let groq = reader.value()?;
                self.usage = groq.get("usage").and_then(usage).or(self.usage);
                Ok(())
            }
            "error" => {
                let error = reader.value()?;
                if !error.is_null() {
                    self.error = Some(failure(&error, data));
                }
                Ok(())
            }
            // vLLM: `{"object":"error","message":…,"code":…}`
            "object" if reader.peek()? == Kind::String => {
                let kind = reader.string()?;
                self.known |= kind.starts_with("chat.completion");
                if kind == "error" {
                    self.error = Json::parse_str(data).ok().map(|whole| failure(&whole, data));
                }
                Ok(())
            }
            "base_resp" => {
                self.error = minimax_failure(&reader.value()?).or_else(|| self.error.take());
                Ok(())
            }
            // Of a gateway that wraps its chunks, or of another wire format.
            "data" | "delta" => self.unread_value(reader),
            key => self.unread(key, reader),
        }
    }

    /// Skips a member, and notes whether it may hold the arguments of a call.
    fn unread(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        if is_of_call(key) { self.unread_value(reader) } else { reader.skip() }
    }

    fn unread_value(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        self.unread |= has_content(reader)?;
        Ok(())
    }

    fn choice(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        let mut one = Chunk::default();
        let mut place = 0;
        let mut streamed = false;
        object(reader, &mut |key, reader| match key {
            "index" if reader.peek()? == Kind::Number => {
                place = reader.number()?.parse().unwrap_or(u64::MAX);
                Ok(())
            }
            // Perplexity repeats in each chunk the text so far. A call may have its arguments only here.
            "message" if streamed => object(reader, &mut |key, reader| one.unread(key, reader)),
            "delta" | "message" => {
                one.unread |= reader.peek()? == Kind::Array;
                if key == "delta" && reader.peek()? == Kind::Object {
                    // The calls of an earlier member with this name are not read.
                    one.unreadable |= streamed && !one.calls.is_empty();
                    streamed = true;
                    one.unread |= !one.calls.is_empty();
                    let before = std::mem::take(&mut one);
                    let Chunk { finish, native, error, unread, unreadable, .. } = before;
                    one = Chunk { finish, native, error, unread, unreadable, ..Chunk::default() };
                }
                object(reader, &mut |key, reader| one.delta(key, reader))
            }
            "finish_reason" => {
                one.finish = reason(reader)?.or_else(|| one.finish.take());
                Ok(())
            }
            // LiteLLM has it among the members of the provider.
            "provider_specific_fields" => object(reader, &mut |key, reader| match key {
                "native_finish_reason" => one.native_reason(reader),
                key => one.unread(key, reader),
            }),
            "native_finish_reason" => one.native_reason(reader),
            // Moonshot: earendil-works/pi#2017 (2026-03-10).
            "usage" => {
                one.usage = usage(&reader.value()?);
                Ok(())
            }
            // OpenRouter: <https://openrouter.ai/docs/api/reference/overview>
            "error" => {
                let error = reader.value()?;
                let raw = error.to_text();
                one.error = Some(error).filter(|error| !error.is_null()).map(|e| failure(&e, &raw));
                Ok(())
            }
            key => one.unread(key, reader),
        })?;
        // A second choice is an alternative answer, which was not requested. GitHub Copilot puts the
        // calls of one answer there: HKUDS/nanobot#1481 (2026-03-03).
        if place > 0 {
            if self.caller.is_none() && !one.calls.is_empty() {
                (self.caller, self.calls) = (Some(place), one.calls);
                self.unreadable |= one.unreadable;
                self.unread |= one.unread;
            }
            if let Some(raw) = one.finish {
                self.other_finish = Some((place, raw));
            }
        } else {
            let reasons =
                |piece: &Piece<'_>| matches!(piece, Piece::Reasoning(text) if !text.is_empty());
            let reasoned = one.said.iter().any(reasons);
            // Reasoning comes before the text, whatever the order of the members.
            let (texts, thoughts): (Vec<_>, Vec<_>) =
                one.said.into_iter().partition(|piece| matches!(piece, Piece::Text(_)));
            self.said.extend(thoughts);
            one.details.retain(|piece| !reasoned || matches!(piece, Piece::Signature(_)));
            self.said.append(&mut one.details);
            self.said.extend(texts);
            self.others.append(&mut one.others);
            self.tools.append(&mut one.tools);
            if !one.calls.is_empty() {
                if self.caller.replace(0).is_some_and(|other| other > 0) {
                    self.calls.clear();
                }
                self.calls.append(&mut one.calls);
            }
            self.unreadable |= one.unreadable;
            self.unread |= one.unread;
            self.thinks = self.thinks.max(one.thinks);
            self.members.append(&mut one.members);
            self.usage = self.usage.or(one.usage);
            self.finish = one.finish.or_else(|| self.finish.take());
            self.native = one.native.or_else(|| self.native.take());
            self.error = self.error.take().or(one.error);
        }
        Ok(())
    }

    fn native_reason(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        self.native = reason(reader)?.or_else(|| self.native.take());
        Ok(())
    }

    fn delta(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        match key {
            "content" | "refusal" if reader.peek()? == Kind::String => {
                self.said.push(Piece::Text(reader.string()?));
                Ok(())
            }
            "content" => list(reader, &mut |reader| self.part(reader)),
            // vLLM and DeepSeek send `reasoning_content`, Groq and OpenRouter send `reasoning`. If
            // both are present, they are equal.
            "reasoning_content" | "reasoning" => {
                let known = self.said.iter().any(|piece| matches!(piece, Piece::Reasoning(_)));
                let Some(text) = text(reader)? else { return Ok(()) };
                let member = if key == "reasoning" { Thinks::Reasoning } else { Thinks::Content };
                self.thinks = self.thinks.max(Some(member));
                if !known {
                    self.said.push(Piece::Reasoning(text));
                }
                Ok(())
            }
            // OpenRouter: <https://openrouter.ai/docs/use-cases/reasoning-tokens>
            "reasoning_details" => {
                let details = reader.value()?;
                let text = |item: &Json<'a>, keys: [&str; 2]| {
                    let known = keys.iter().find_map(|key| item.get(key)?.as_str());
                    known.filter(|text| !text.is_empty()).map(|text| Cow::Owned(text.to_owned()))
                };
                for item in details.items() {
                    self.details.extend(text(item, ["text", "summary"]).map(Piece::Reasoning));
                    // `data` is reasoning that is encrypted whole.
                    self.details.extend(text(item, ["signature", "data"]).map(Piece::Signature));
                }
                if details.items().len() > 0 {
                    self.members.push(("reasoning_details", details));
                }
                Ok(())
            }
            "annotations" => keep(key, reader, &mut self.others),
            // <https://console.groq.com/docs/compound>
            "executed_tools" => list(reader, &mut |reader| {
                self.tools.push(reader.value()?);
                Ok(())
            }),
            "tool_calls" => {
                self.unreadable |= !matches!(reader.peek()?, Kind::Array | Kind::Null);
                list(reader, &mut |reader| {
                    self.unreadable |= !matches!(reader.peek()?, Kind::Object | Kind::Null);
                    let mut fragment = Fragment::default();
                    object(reader, &mut |key, reader| {
                        let is_known = fragment.member(key, reader)?;
                        self.unreadable |= !is_known;
                        Ok(())
                    })?;
                    self.calls.push(fragment);
                    Ok(())
                })
            }
            // The form of calls before tools.
            "function_call" => {
                self.unreadable |= reader.peek()? != Kind::Null;
                reader.skip()
            }
            "finish_reason" => {
                self.finish = self.finish.take().or(reason(reader)?);
                Ok(())
            }
            key => self.unread(key, reader),
        }
    }

    /// Mistral: content as a list of `text` and `thinking` parts.
    fn part(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        let (mut pieces, mut unread) = (Vec::new(), false);
        object(reader, &mut |key, reader| match key {
            "text" => {
                pieces.extend(text(reader)?.map(Piece::Text));
                Ok(())
            }
            "thinking" if reader.peek()? == Kind::String => {
                pieces.push(Piece::Reasoning(reader.string()?));
                Ok(())
            }
            "thinking" => list(reader, &mut |reader| {
                object(reader, &mut |key, reader| match key {
                    "text" => {
                        pieces.extend(text(reader)?.map(Piece::Reasoning));
                        Ok(())
                    }
                    _ => reader.skip(),
                })
            }),
            key => {
                unread |= is_of_call(key) && has_content(reader)?;
                if is_of_call(key) { Ok(()) } else { reader.skip() }
            }
        })?;
        self.unread |= unread;
        self.said.append(&mut pieces);
        Ok(())
    }
}

impl<'a> Fragment<'a> {
    /// Reads a member; `false` if it may hold arguments in a form that is not read.
    fn member(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<bool, JsonError> {
        let kind = reader.peek()?;
        let is_known = match key {
            "function" => matches!(kind, Kind::Object | Kind::Null),
            "arguments" | "parameters" => kind == Kind::Null,
            _ => true,
        };
        self.read(key, reader).map(|()| is_known)
    }

    fn read(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        match key {
            "index" if reader.peek()? == Kind::Number => {
                self.index = reader.number()?.parse().ok();
                Ok(())
            }
            "index" if reader.peek()? == Kind::String => {
                self.index = reader.string()?.parse().ok();
                Ok(())
            }
            // Continuations repeat the id, or send "" or "null".
            "id" => {
                self.id = text(reader)?.filter(|id| !id.is_empty() && id != "null");
                Ok(())
            }
            "function" => object(reader, &mut |key, reader| match key {
                "name" => {
                    self.name = text(reader)?.filter(|name| !name.is_empty());
                    Ok(())
                }
                "arguments" => {
                    let before = self.arguments.take().is_some_and(|text| !text.trim().is_empty());
                    // Of two members with one name, it is not known which is meant.
                    self.unread |= before;
                    self.arguments = match reader.peek()? {
                        Kind::String => Some(reader.string()?),
                        Kind::Null => {
                            reader.null()?;
                            None
                        }
                        // Ollama and some proxies send the object itself.
                        _ => Some(Cow::Borrowed(reader.raw()?)),
                    };
                    Ok(())
                }
                key => self.unread(key, reader),
            }),
            // Google's OpenAI endpoint, and LiteLLM: the signature of the thought before the call.
            // https://ai.google.dev/gemini-api/docs/thought-signatures (2026-11-30)
            "extra_content" if reader.peek()? == Kind::Object => {
                self.members.push(("extra_content", reader.value()?));
                Ok(())
            }
            "provider_specific_fields" if reader.peek()? == Kind::Object => {
                self.members.push(("provider_specific_fields", reader.value()?));
                Ok(())
            }
            key => self.unread(key, reader),
        }
    }

    /// Skips a member. One that no provider is known to send may hold arguments.
    fn unread(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        let has_content = has_content(reader)?;
        self.unread |= has_content && !BESIDE.contains(&key);
        Ok(())
    }
}

/// The failure that MiniMax reports beside the choices, with the HTTP status 200 (lobehub/lobehub#10255).
/// Codes: <https://platform.minimax.io/docs/api-reference/errorcode> (read 2026-11-30); 2013 stands for
/// invalid parameters.
fn minimax_failure(reported: &Json<'_>) -> Option<StreamError> {
    let code = reported.get("status_code").and_then(Json::as_u64).filter(|code| *code != 0)?;
    let status: u64 = match code {
        1001 => 408,
        1002 => 429,
        1004 => 401,
        1008 => 402,
        2013 => 400,
        _ => 0,
    };
    let message = reported.get("status_msg").cloned().unwrap_or_default();
    let error = object! { "message": message, "status": Json::Number(status.to_string().into()) };
    Some(failure(&error, &reported.to_text()))
}

fn usage(json: &Json<'_>) -> Option<Usage> {
    json.as_object()?;
    let number = |key: &str| json.get(key).and_then(Json::as_u64);
    let detail = |of: &str, key: &str| json.get(of).and_then(|d| d.get(key)).and_then(Json::as_u64);
    // Anthropic's own usage has no such number.
    let is_own = number("prompt_tokens").is_some();
    let usage = Usage {
        input_tokens: number("prompt_tokens"),
        output_tokens: number("completion_tokens"),
        cached_input_tokens: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| number("prompt_cache_hit_tokens")),
        // OpenAI and OpenRouter have it within `prompt_tokens` (anomalyco/opencode#18440, 2026-03-20;
        // aaif-goose/goose#11472, 2026-08-21), LiteLLM as Anthropic names it.
        cache_write_input_tokens: detail("prompt_tokens_details", "cache_write_tokens")
            .or_else(|| detail("prompt_tokens_details", "cache_creation_tokens"))
            .or_else(|| number("cache_creation_input_tokens").filter(|_| is_own)),
        reasoning_tokens: detail("completion_tokens_details", "reasoning_tokens"),
    };
    (usage != Usage::default()).then_some(usage)
}
