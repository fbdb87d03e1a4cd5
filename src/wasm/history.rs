//! Histories: JSON in, JSON out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::HISTORIES;
use super::wire::bad;
use crate::canon::{Json, write_string};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::limits;
use crate::message::{
    self, History, Normalized, Options, ReasoningReplay, Repair, Strategy, ThoughtSignatures,
    Update, Violation,
};

/// A history in the provider's shape: `{ messages, system?, toolConfig?, threadId?, repairs }`.
#[wasm_bindgen]
#[must_use]
pub fn history_normalize(options: &[u8], history: &[u8]) -> String {
    told(|| {
        let mut all = History::new(self::options(options)?);
        all.append_text(text(history)?)?;
        let Normalized { messages, system, tool_config, thread_id, repairs } = all.normalized();
        let mut out = String::with_capacity(history.len());
        out.push_str("{\"messages\":");
        list(&messages, &mut out);
        optional("system", system.as_ref(), &mut out);
        optional("toolConfig", tool_config.as_ref(), &mut out);
        optional("threadId", thread_id.map(Json::from).as_ref(), &mut out);
        out.push_str(",\"repairs\":");
        reported(&repairs, &mut out);
        out.push('}');
        Ok(out)
    })
}

/// What a provider would refuse: `[{ code, index, toolCallId?, message }]`.
#[wasm_bindgen]
#[must_use]
pub fn history_diagnose(options: &[u8], history: &[u8]) -> String {
    told(|| {
        let mut all = History::new(self::options(options)?);
        all.append_text(text(history)?)?;
        let found: Vec<_> = all.violations().iter().map(Violation::to_json).collect();
        Ok(Json::Array(found).to_text())
    })
}

/// A history that grows, as its number.
#[wasm_bindgen]
#[must_use]
pub fn history_new(options: &[u8]) -> String {
    told(|| {
        let history = History::new(self::options(options)?);
        Ok(HISTORIES.with(|all| all.insert(history)))
    })
}

/// Takes the next elements, a JSON array; nothing, or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_append(handle: u32, elements: &[u8]) -> String {
    told(|| {
        let elements = text(elements)?;
        let done = HISTORIES.with(|all| all.with(handle, |history| history.append_copy(elements)));
        done.ok_or(Error::Handle)??;
        Ok(String::new())
    })
}

/// What has changed since it was last asked:
/// `{ keep, messages, system?, toolConfig?, read, keepArranged, arranged, end }`.
#[wasm_bindgen]
#[must_use]
pub fn history_update(handle: u32) -> String {
    told(|| {
        let update = HISTORIES.with(|all| all.with(handle, History::update));
        let update: Update<'_> = update.ok_or(Error::Handle)?;
        let mut out = format!("{{\"keep\":{},\"messages\":", update.keep);
        list(&update.messages, &mut out);
        optional("system", update.system.as_ref(), &mut out);
        optional("toolConfig", update.tool_config.as_ref(), &mut out);
        out.push_str(",\"read\":");
        reported(&update.read, &mut out);
        out.push_str(&format!(",\"keepArranged\":{},\"arranged\":", update.keep_arranged));
        reported(&update.arranged, &mut out);
        out.push_str(",\"end\":");
        reported(&update.end, &mut out);
        out.push('}');
        Ok(out)
    })
}

/// Forgets a history.
#[wasm_bindgen]
pub fn history_free(handle: u32) {
    HISTORIES.with(|all| all.remove(handle));
}

/// The id of a conversation's thread.
#[wasm_bindgen]
#[must_use]
pub fn thread_id(conversation_id: &[u8], namespace: &[u8]) -> String {
    told(|| message::thread_id(text(conversation_id)?, Some(text(namespace)?)))
}

/// The codes that explain a provider's refusal, as a JSON array.
#[wasm_bindgen]
#[must_use]
pub fn explain_refusal(refusal: &[u8]) -> String {
    told(|| {
        let codes = message::explain(text(refusal)?);
        Ok(Json::Array(codes.into_iter().map(Json::from).collect()).to_text())
    })
}

fn told(work: impl FnOnce() -> Result<String, Error>) -> String {
    work().unwrap_or_else(|error| failure(&error))
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    if bytes.len() > limits::HISTORY_BYTES {
        return Err(crate::canon::JsonError::TooLarge { limit: limits::HISTORY_BYTES }.into());
    }
    std::str::from_utf8(bytes).map_err(|_| bad("history", "UTF-8"))
}

fn list(messages: &[Json<'_>], out: &mut String) {
    out.push('[');
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        message.write(out);
    }
    out.push(']');
}

fn reported(repairs: &[Repair], out: &mut String) {
    Json::Array(repairs.iter().map(Repair::to_json).collect()).write(out);
}

fn optional(key: &str, value: Option<&Json<'_>>, out: &mut String) {
    if let Some(value) = value {
        out.push(',');
        write_string(key, out);
        out.push(':');
        value.write(out);
    }
}

/// `{ dialect, strategy?, conversationId?, seen?, tools?, prefill?, systemAnywhere?, reasoning?,
/// thoughtSignatures? }`.
fn options(given: &[u8]) -> Result<Options, Error> {
    let given = Json::parse_lossy(given, limits::JSON_BYTES)?;
    let mut options = Options::new(Dialect::parse(
        given.get("dialect").and_then(Json::as_str).ok_or_else(|| bad("dialect", "a string"))?,
    )?);
    let member = |key: &str| given.get(key).filter(|value| !value.is_null());
    if let Some(strategy) = member("strategy") {
        options.strategy = match strategy.as_str() {
            Some("reconstruct") => Strategy::Reconstruct,
            Some("thread") => Strategy::Thread,
            Some("text_only") => Strategy::TextOnly,
            _ => return Err(bad("strategy", "`reconstruct`, `thread` or `text_only`")),
        };
    }
    if let Some(id) = member("conversationId") {
        let id = id.as_str().ok_or_else(|| bad("conversationId", "a string"))?;
        options.conversation_id = Some(id.to_owned());
    }
    if options.strategy == Strategy::Thread {
        // Without it the thread would change with every run, and nothing would be kept.
        message::thread_id(options.conversation_id.as_deref().unwrap_or_default(), None)?;
    }
    if let Some(seen) = member("seen") {
        let seen = seen.as_u64().and_then(|seen| usize::try_from(seen).ok());
        options.seen = Some(seen.ok_or_else(|| bad("seen", "a whole number"))?);
    }
    if let Some(tools) = member("tools") {
        let names = tools.as_array().ok_or_else(|| bad("tools", "a list of names"))?;
        let name = |one: &Json<'_>| one.as_str().map(str::to_owned);
        let names: Option<Vec<_>> = names.iter().map(name).collect();
        options.tools = Some(names.ok_or_else(|| bad("tools", "a list of names"))?);
    }
    for (key, flag) in
        [("prefill", &mut options.prefill), ("systemAnywhere", &mut options.system_anywhere)]
    {
        if let Some(given) = member(key) {
            *flag = given.as_bool().ok_or_else(|| bad(key, "true or false"))?;
        }
    }
    if let Some(replay) = member("reasoning") {
        options.reasoning = match replay.as_str() {
            Some("never") => ReasoningReplay::Never,
            Some("tool_calls") => ReasoningReplay::ToolCalls,
            Some("always") => ReasoningReplay::Always,
            _ => return Err(bad("reasoning", "`never`, `tool_calls` or `always`")),
        };
    }
    if let Some(signatures) = member("thoughtSignatures") {
        options.thought_signatures = match signatures.as_str() {
            Some("auto") => ThoughtSignatures::Auto,
            Some("always") => ThoughtSignatures::Always,
            Some("never") => ThoughtSignatures::Never,
            _ => return Err(bad("thoughtSignatures", "`auto`, `always` or `never`")),
        };
    }
    Ok(options)
}
