//! Histories: tapes in, tapes out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::HISTORIES;
use super::tape::{TapeReader, TapeWriter};
use super::wire::{bad, room};
use turnlock::dialect::Dialect;
use turnlock::error::Error;
use turnlock::history::{self, History, HistoryOptions, Repair};
use turnlock::json::Json;
use turnlock::limits;

/// A history in the provider's shape, as a tape of
/// `{ messages, system?, toolConfig?, threadId?, repairs }`; or the text of an error.
#[wasm_bindgen]
#[must_use]
pub fn history_normalize(options: &[u8], tape: &[u32], text: &[u8]) -> Vec<u8> {
    taped(|| {
        let mut all = History::new(HistoryOptions::parse(options)?);
        read(tape, self::text(text)?, &mut |value, replaced| all.append_one(value, replaced))?;
        Ok(written(&all.into_normalized().into_json()))
    })
}

/// What a provider would refuse: `[{ code, index, toolCallId?, message }]`, as a tape; or the text
/// of an error.
#[wasm_bindgen]
#[must_use]
pub fn history_diagnose(options: &[u8], tape: &[u32], text: &[u8]) -> Vec<u8> {
    taped(|| {
        let mut all = History::new(HistoryOptions::parse(options)?);
        read(tape, self::text(text)?, &mut |value, replaced| all.append_one(value, replaced))?;
        Ok(written(&all.violations().into()))
    })
}

/// The turn of each element, from 0 or null, as a JSON array; or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_turns(options: &[u8], tape: &[u32], text: &[u8]) -> String {
    result_text(|| {
        let mut all = History::new(HistoryOptions::parse(options)?);
        read(tape, self::text(text)?, &mut |value, replaced| all.append_one(value, replaced))?;
        let number = |turn: usize| Json::from(u64::try_from(turn).unwrap_or_default());
        let turns = all.turns().into_iter().map(|turn| turn.map_or(Json::Null, number));
        Ok(Json::Array(turns.collect()).to_text())
    })
}

/// A history that grows, as its number.
#[wasm_bindgen]
#[must_use]
pub fn history_new(options: &[u8]) -> String {
    result_text(|| {
        let history = History::new(HistoryOptions::parse(options)?);
        Ok(HISTORIES.with(|all| all.insert(history)))
    })
}

/// Takes the next elements; nothing, or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_append(handle: u32, tape: &[u32], text: &[u8]) -> String {
    result_text(|| {
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
/// `{ keep, messages, read, keepArranged, arranged, end, system?, toolConfig? }`; or an error.
#[wasm_bindgen]
#[must_use]
pub fn history_update(handle: u32) -> Vec<u8> {
    taped(|| {
        let update = HISTORIES.with(|all| all.with(handle, History::update));
        Ok(written(&update.ok_or(Error::Handle)?.into_json()))
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
    result_text(|| history::thread_id(text(conversation_id)?, Some(text(namespace)?)))
}

/// `{ member, list, repairs }`: the member of a request's body that has its history, the text of the
/// list that is repaired after a refusal, and the repairs; nothing if there is nothing to repair; or an
/// error.
#[wasm_bindgen]
#[must_use]
pub fn history_repair(dialect: &[u8], body: &[u8], refusal: &[u8]) -> String {
    room(body.len());
    result_text(|| {
        let dialect = Dialect::parse(text(dialect)?)?;
        let mut body = Json::parse_host(body, limits::HISTORY_BYTES)?.into_owned();
        let repairs = history::repair(dialect, &mut body, text(refusal)?);
        let lists = ["messages", "input", "contents"];
        let list = lists.into_iter().find_map(|member| Some((member, body.get(member)?)));
        let Some((member, list)) = list.filter(|_| !repairs.is_empty()) else {
            return Ok(String::new());
        };
        let repairs = Json::Array(repairs.iter().map(Repair::to_json).collect());
        let list = list.to_text().into();
        let told = [("member", member.into()), ("list", list), ("repairs", repairs)];
        Ok(Json::object(told).to_text())
    })
}

/// The codes that explain a provider's refusal, as a JSON array.
#[wasm_bindgen]
#[must_use]
pub fn explain_provider_error(refusal: &[u8]) -> String {
    result_text(|| Ok(Json::from(history::explain(text(refusal)?)).to_text()))
}

fn result_text(work: impl FnOnce() -> Result<String, Error>) -> String {
    work().unwrap_or_else(|error| failure(&error))
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    if bytes.len() > limits::HISTORY_BYTES {
        return Err(turnlock::json::JsonError::TooLarge { limit: limits::HISTORY_BYTES }.into());
    }
    std::str::from_utf8(bytes).map_err(|_| bad("history", "UTF-8"))
}

fn written(value: &Json<'_>) -> TapeWriter {
    let mut out = TapeWriter::default();
    out.value(value);
    out
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
    room(size_of_val(tape) + text.len());
    let mut reader = TapeReader::new(tape, text).ok_or_else(broken)?;
    for _ in 0..reader.next().ok_or_else(broken)? {
        let replaced = reader.next().ok_or_else(broken)? == 1;
        take(reader.value(0).ok_or_else(broken)?, replaced)?;
    }
    Ok(())
}
