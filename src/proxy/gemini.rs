//! Streams of Gemini's `generateContent`. Each event has whole calls, and is a response of its own.

use super::call::{Call, Keyed};
use super::step::{Event, Said, Step, Stream, Verdicts};
use super::tree::{Place, Places, are_texts, is_blank, is_full, member, remove, set};
use crate::json::{Json, object};
use crate::provider::GEMINI_UNSIGNED as UNSIGNED;
use crate::stream::{list, part, text};

#[derive(Debug, Default)]
pub(super) struct GeminiStream {
    /// The key of the next call.
    next_key: usize,
    /// The candidates that have calls and have not ended.
    under: Places<()>,
    /// A call with a signature was left out, and none has passed since.
    lacks_signature: bool,
}

/// The member of a part that has a call.
pub(super) const CALL: &str = "functionCall";

/// The names of a part's signature.
const SIGNATURES: [&str; 2] = ["thoughtSignature", "thought_signature"];

/// The calls in a member of a part: by its name in JSON, by that of Google's Python library, and by
/// both in small letters.
pub(super) fn calls_of(name: &str, value: &Json<'_>) -> Vec<Call> {
    let is_call = matches!(name, CALL | "function_call" | "functioncall");
    if is_call && is_full(value) { vec![call_of(value)] } else { Vec::new() }
}

/// Whether a part has a call.
fn is_call(part_of: &Json<'_>) -> bool {
    is_full(part(part_of, CALL))
}

fn call_of(value: &Json<'_>) -> Call {
    let (id, name, args) = (part(value, "id"), part(value, "name"), part(value, "args"));
    // The arguments that come in pieces (`streamFunctionCallArguments`) are not put together.
    let is_whole = ["partialArgs", "partial_args", "willContinue", "will_continue"]
        .into_iter()
        .all(|name| is_blank(part(value, name)));
    Call {
        id: id.as_str().unwrap_or_default().to_owned(),
        name: name.as_str().unwrap_or_default().to_owned(),
        arguments: if args.is_null() { "{}".to_owned() } else { args.to_text() },
        is_unclear: !is_whole
            || !are_texts(&[id, name])
            || !matches!(args, Json::Null | Json::Object(_)),
        ..Call::default()
    }
}

/// The parts of a candidate.
fn parts<'a, 'j>(candidate: &'a Json<'j>) -> &'a [Json<'j>] {
    list(part(candidate, "content"), "parts")
}

/// The calls of a response, in their order.
pub(super) fn calls(json: &Json<'_>) -> Vec<Call> {
    let candidates = list(json, "candidates").iter();
    candidates
        .flat_map(parts)
        .filter(|part| is_call(part))
        .map(|one| call_of(part(one, CALL)))
        .collect()
}

/// Whether a candidate shows a text to the user.
fn says(candidate: &Json<'_>) -> bool {
    let is_thought = |part_of: &Json<'_>| part(part_of, "thought").as_bool() == Some(true);
    parts(candidate).iter().any(|part| !is_thought(part) && !text(part, "text").is_empty())
}

/// Leaves out the calls of a candidate that do not stay. What is left of a list of parts that had
/// only calls is an empty text, as Gemini sends it at the end of a stream.
///
/// Gemini 3 signs the first of parallel calls alone, and refuses a history whose first call has no
/// signature (googleapis/js-genai#1275): where that call is left out, the next one has the placeholder.
fn keep(
    candidate: &mut Json<'static>,
    lacks_signature: &mut bool,
    stays: &mut dyn FnMut() -> bool,
) {
    let Some(content) = member(candidate, "content") else { return };
    let Some(Json::Array(parts)) = member(content, "parts") else { return };
    let before = parts.len();
    parts.retain_mut(|part| {
        if !is_call(part) {
            return true;
        }
        let is_signed = SIGNATURES.iter().any(|name| !is_blank(self::part(part, name)));
        if !stays() {
            *lacks_signature |= is_signed;
            return false;
        }
        if std::mem::take(lacks_signature) && !is_signed {
            set(part, "thoughtSignature", UNSIGNED.into());
        }
        true
    });
    if parts.is_empty() && before > 0 {
        parts.push(text_part(String::new()));
    }
}

fn text_part(said: String) -> Json<'static> {
    object! { "text": Json::from(said) }
}

/// A response with a text.
fn response(said: &str) -> Json<'static> {
    let parts = Json::Array(vec![text_part(said.to_owned())]);
    let content = object! { "parts": parts, "role": "model" };
    let candidate = object! { "content": content, "index": Json::integer(0) };
    object! { "candidates": Json::Array(vec![candidate]) }
}

/// Leaves out the calls of a whole response that do not stay. A candidate that has neither calls nor
/// text then says the notice.
pub(super) fn without(json: &mut Json<'static>, stays: &mut dyn FnMut() -> bool, notice: &str) {
    let Some(Json::Array(candidates)) = member(json, "candidates") else { return };
    for candidate in candidates {
        keep(candidate, &mut false, stays);
        if parts(candidate).iter().any(is_call) || says(candidate) {
            continue;
        }
        end_of(candidate);
        let said = text_part(notice.to_owned());
        let content = member(candidate, "content").filter(|content| content.as_object().is_some());
        let Some(content) = content else {
            let content = object! { "parts": Json::Array(vec![said]), "role": "model" };
            set(candidate, "content", content);
            continue;
        };
        match member(content, "parts") {
            Some(Json::Array(parts)) => {
                parts.retain(|part| !is_empty(part));
                parts.push(said);
            }
            _ => set(content, "parts", Json::Array(vec![said])),
        }
    }
}

/// A response without calls has not failed for one. With the mode `NONE`, some models end with such a
/// reason (tensorzero/tensorzero#2329, 2025-06-02).
fn end_of(candidate: &mut Json<'static>) {
    let reason = text(candidate, "finishReason");
    if reason.ends_with("_TOOL_CALL") || reason == "MALFORMED_FUNCTION_CALL" {
        set(candidate, "finishReason", "STOP".into());
    }
}

/// Whether a part has nothing, or an empty text alone.
fn is_empty(part: &Json<'_>) -> bool {
    part.members().all(|(name, value)| name == "text" && is_blank(value))
}

/// Whether any candidate of a response still has a part, or says why it ends.
fn is_left(json: &Json<'_>) -> bool {
    list(json, "candidates").iter().any(|candidate| {
        !text(candidate, "finishReason").is_empty() || !parts(candidate).iter().all(is_empty)
    })
}

impl GeminiStream {
    fn left(&mut self, event: &Event, verdicts: &Verdicts) -> Json<'static> {
        let mut json = event.json.clone();
        let mut keys = event.keys.iter().copied();
        let lacks_signature = &mut self.lacks_signature;
        if let Some(Json::Array(candidates)) = member(&mut json, "candidates") {
            for candidate in candidates {
                let mut stays = || keys.next().flatten().is_none_or(|key| !verdicts.refuses(key));
                keep(candidate, lacks_signature, &mut stays);
            }
        }
        json
    }
}

impl Stream for GeminiStream {
    fn read(&mut self, event: &mut Event) -> Step {
        let mut step = Step::default();
        for candidate in list(&event.json, "candidates") {
            let at = Place::of(candidate.get("index").or(Some(&Json::Null)));
            step.text |= says(candidate);
            for one in parts(candidate).iter().filter(|part| is_call(part)) {
                let key = self.next_key;
                self.next_key += 1;
                event.keys.push(Some(key));
                step.complete.push(Keyed { key, call: call_of(part(one, CALL)) });
                self.under.set(at, ());
            }
            if !text(candidate, "finishReason").is_empty() {
                self.under.remove(at);
                step.finish = true;
            }
        }
        // Candidates end one by one.
        step.finish &= self.under.is_empty();
        let usage = part(&event.json, "usageMetadata");
        if usage.as_object().is_some() {
            step.usage = Some(Said { usage: usage.clone(), adds: false });
        }
        step
    }

    fn rest(&mut self) -> Vec<Keyed> {
        Vec::new()
    }

    fn drop_arguments(&mut self) {}

    fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        let json = self.left(event, verdicts);
        let had_calls = event.keys.iter().flatten().any(|key| verdicts.refuses(*key));
        if had_calls && !is_left(&json) { Vec::new() } else { vec![json] }
    }

    fn passed(&mut self, _event: &Event) {}

    fn before_end(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        let mut json = self.left(event, verdicts);
        if let Some(Json::Array(candidates)) = member(&mut json, "candidates") {
            for candidate in candidates {
                remove(candidate, "finishReason");
            }
        }
        remove(&mut json, "usageMetadata");
        if is_left(&json) { vec![json] } else { Vec::new() }
    }

    fn again(&mut self) {
        self.under.clear();
        self.lacks_signature = false;
    }

    fn answer_events(&mut self, said: &str) -> Vec<Json<'static>> {
        vec![response(said)]
    }

    fn finish(&mut self, mut json: Json<'static>) -> Json<'static> {
        if let Some(Json::Array(candidates)) = member(&mut json, "candidates") {
            candidates.iter_mut().for_each(end_of);
        }
        json
    }

    fn ended(&mut self) -> Vec<Json<'static>> {
        let mut json = response("");
        if let Some(Json::Array(candidates)) = member(&mut json, "candidates") {
            for candidate in candidates {
                set(candidate, "finishReason", "STOP".into());
            }
        }
        vec![json]
    }
}
