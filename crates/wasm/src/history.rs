//! Histories: tapes in, tapes out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::HISTORIES;
use super::tape::{TapeReader, TapeWriter};
use super::wire::bad;
use turnlock::dialect::Dialect;
use turnlock::error::Error;
use turnlock::json::Json;
use turnlock::limits;
use turnlock::message::{
    self, History, Normalized, Options, ReasoningReplay, Repair, Strategy, ThoughtSignatures,
    Update, Violation,
};

/// A history in the provider's shape, as a tape of
/// `{ messages, system?, toolConfig?, threadId?, repairs }`; or the text of an error.
#[wasm_bindgen]
#[must_use]
pub fn history_normalize(options: &[u8], tape: &[u32], text: &[u8]) -> Vec<u8> {
    taped(|| {
        let mut all = History::new(self::options(options)?);
        read(tape, self::text(text)?, &mut |value, replaced| all.append_one(value, replaced))?;
        let Normalized { messages, system, tool_config, thread_id, repairs } =
            all.into_normalized();
        let mut out = TapeWriter::default();
        let mut members = vec![("messages", Json::Array(messages))];
        members.extend(system.map(|system| ("system", system)));
        members.extend(tool_config.map(|config| ("toolConfig", config)));
        members.extend(thread_id.map(|id| ("threadId", id.into())));
        members.push(("repairs", reported(repairs)));
        out.value(&named(members));
        Ok(out)
    })
}

/// What a provider would refuse: `[{ code, index, toolCallId?, message }]`, as a tape; or the text
/// of an error.
#[wasm_bindgen]
#[must_use]
pub fn history_diagnose(options: &[u8], tape: &[u32], text: &[u8]) -> Vec<u8> {
    taped(|| {
        let mut all = History::new(self::options(options)?);
        read(tape, self::text(text)?, &mut |value, replaced| all.append_one(value, replaced))?;
        let mut out = TapeWriter::default();
        out.value(&Json::Array(all.violations().into_iter().map(Violation::into_json).collect()));
        Ok(out)
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

/// Takes the next elements; nothing, or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_append(handle: u32, tape: &[u32], text: &[u8]) -> String {
    told(|| {
        let text = self::text(text)?;
        let done = HISTORIES.with(|all| {
            all.with(handle, |history| {
                read(tape, text, &mut |value, replaced| {
                    history.append_one(value.into_owned(), replaced)
                })
            })
        });
        done.ok_or(Error::Handle)??;
        Ok(String::new())
    })
}

/// What has changed since it was last asked, as a tape of
/// `{ keep, messages, system?, toolConfig?, read, keepArranged, arranged, end }`; or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_update(handle: u32) -> Vec<u8> {
    taped(|| {
        let update = HISTORIES.with(|all| all.with(handle, History::update));
        let update: Update<'_> = update.ok_or(Error::Handle)?;
        let number = |number: usize| Json::integer(u64::try_from(number).unwrap_or(u64::MAX));
        let mut members = vec![
            ("keep", number(update.keep)),
            ("messages", Json::Array(update.messages)),
            ("read", reported(update.read)),
            ("keepArranged", number(update.keep_arranged)),
            ("arranged", reported(update.arranged)),
            ("end", reported(update.end)),
        ];
        members.extend(update.system.map(|system| ("system", system)));
        members.extend(update.tool_config.map(|config| ("toolConfig", config)));
        let mut out = TapeWriter::default();
        out.value(&named(members));
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
        return Err(turnlock::json::JsonError::TooLarge { limit: limits::HISTORY_BYTES }.into());
    }
    std::str::from_utf8(bytes).map_err(|_| bad("history", "UTF-8"))
}

fn reported(repairs: Vec<Repair>) -> Json<'static> {
    Json::Array(repairs.into_iter().map(Repair::into_json).collect())
}

fn named<'a>(members: Vec<(&'static str, Json<'a>)>) -> Json<'a> {
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A tape, or an error as the text that it is elsewhere, behind a count of `u32::MAX`.
fn taped(work: impl FnOnce() -> Result<TapeWriter, Error>) -> Vec<u8> {
    match work() {
        Ok(tape) => tape.finish(),
        Err(error) => [&u32::MAX.to_le_bytes(), failure(&error).as_bytes()].concat(),
    }
}

/// Reads elements: each is whether half characters of it were replaced, and its value.
fn read<'t>(
    tape: &'t [u32],
    text: &'t str,
    take: &mut dyn FnMut(Json<'t>, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let broken = || bad("history", "a tape");
    let mut reader = TapeReader::new(tape, text).ok_or_else(broken)?;
    for _ in 0..reader.next().ok_or_else(broken)? {
        let replaced = reader.next().ok_or_else(broken)? == 1;
        take(reader.value(0).ok_or_else(broken)?, replaced)?;
    }
    Ok(())
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
