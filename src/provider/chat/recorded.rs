//! What of a response goes back with its calls, as its server named it.

use crate::json::{Add, Json};
use crate::provider::content::Members;
use crate::stream::Reasoning;

/// The members that go back with the calls of a response: `{ members?, calls? }`, those of the message
/// and those of calls by their ids. `None` if there are none. `ids`: of each call the provider's id,
/// and the one that is sent.
///
/// Moonshot and DeepSeek refuse calls without the `reasoning_content` that came with them, Gemini 3
/// those without its signatures: `reasoning_details` through OpenRouter, `extra_content` through
/// Google's own endpoint. Servers differ in the name of the member, so the one that came goes back.
/// continuedev/continue#11600 (2026-03-18), massgen/MassGen#624 (2025-12-12), ServiceNow/eva#206
/// (2026-08-10).
pub(in crate::provider) fn recorded(
    reasoning: &[Reasoning],
    ids: &[(&str, &str)],
) -> Option<Json<'static>> {
    let text: String = reasoning.iter().map(|block| block.text.as_str()).collect();
    let (mut own, mut calls) = (Members::new(), Members::new());
    for block in reasoning {
        let Some((call, Json::Object(found))) = block.members() else { continue };
        if let Some(id) = call {
            // The id that is sent may have a number behind it.
            let place = usize::try_from(block.calls).unwrap_or(usize::MAX).saturating_sub(1);
            let known = ids.iter().find(|(given, _)| *given == id).or_else(|| ids.get(place));
            if let Some((_, sent)) = known {
                add(&mut calls, (*sent).to_owned(), Json::Object(found));
            }
            continue;
        }
        for (key, value) in found {
            match own.iter_mut().find(|(known, _)| *known == key) {
                Some((_, Json::Array(all))) => merge(all, value),
                Some((_, known)) => *known = value,
                None => {
                    let mut all = Vec::new();
                    let is_list = value.as_array().is_some();
                    let value = if is_list {
                        merge(&mut all, value);
                        Json::Array(all)
                    } else {
                        value
                    };
                    own.push((key, value));
                }
            }
        }
    }
    let named = own.iter_mut().find(|(key, _)| key == "reasoning" || key == "reasoning_content");
    match named {
        Some((_, known)) if !text.is_empty() => *known = text.into(),
        None if !text.is_empty() => own.insert(0, ("reasoning_content".into(), text.into())),
        _ => {}
    }
    // Only `reasoning_content` is wanted although it is empty.
    own.retain(|(key, value)| key != "reasoning" || value.as_str() != Some(""));
    let mut all = Members::new();
    if !own.is_empty() {
        all.add("members", Json::Object(own));
    }
    if !calls.is_empty() {
        all.add("calls", Json::Object(calls));
    }
    (!all.is_empty()).then_some(Json::Object(all))
}

/// Adds members to those of a call.
fn add(calls: &mut Members<'static>, id: String, more: Json<'static>) {
    let known = calls.iter_mut().find(|(known, _)| *known == id);
    match (known, more) {
        (Some((_, Json::Object(known))), Json::Object(more)) => known.extend(more),
        (_, more) => calls.push((id.into(), more)),
    }
}

/// Adds the pieces of a list. Pieces of one block have its index and its type; without an index they
/// follow each other: agno-agi/agno#5802 (2026-07-07), OpenRouterTeam/ai-sdk-provider#240 (2025-11-19).
fn merge(all: &mut Vec<Json<'static>>, more: Json<'static>) {
    let Json::Array(more) = more else { return };
    for piece in more {
        let goes_on = |block: &Json<'static>| {
            let same = |key: &str| block.get(key) == piece.get(key);
            let kind = piece.kind().unwrap_or_default();
            same("type") && same("index") && matches!(kind, "reasoning.text" | "reasoning.summary")
        };
        let indexed = piece.get("index").is_some_and(|index| !index.is_null());
        let known = if indexed {
            all.iter_mut().rfind(|block| goes_on(block))
        } else {
            all.last_mut().filter(|block| goes_on(block))
        };
        let (Some(Json::Object(block)), Json::Object(members)) = (known, &piece) else {
            all.push(piece);
            continue;
        };
        for (key, value) in members {
            let before = block.iter_mut().find(|(name, _)| name == key);
            match (before, value) {
                (Some((_, Json::String(text))), Json::String(more))
                    if key == "text" || key == "summary" =>
                {
                    text.to_mut().push_str(more);
                }
                (Some((_, known)), value) if !value.is_null() => *known = value.clone(),
                (None, value) => block.push((key.clone(), value.clone())),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{MEMBERS, Reasoning};

    fn block(text: &str, members: &str, calls: u32) -> Reasoning {
        let signature = (!members.is_empty()).then(|| format!("{MEMBERS}{members}"));
        Reasoning { text: text.to_owned(), signature, calls, text_before: 0 }
    }

    fn made(blocks: &[Reasoning]) -> String {
        let ids = [("a", "a"), ("b", "b-2")];
        recorded(blocks, &ids).map(|made| made.to_text()).unwrap_or_default()
    }

    #[test]
    fn reasoning_goes_back_in_the_member_in_which_it_came() {
        assert_eq!(made(&[]), "");
        assert_eq!(made(&[block("hm", "", 0)]), r#"{"members":{"reasoning_content":"hm"}}"#);
        let named = block("", r#"{"call":null,"members":{"reasoning":""}}"#, 0);
        assert_eq!(made(&[named.clone(), block("hm", "", 0)]), r#"{"members":{"reasoning":"hm"}}"#);
        assert_eq!(made(&[named]), "");
        let empty = block("", r#"{"call":null,"members":{"reasoning_content":""}}"#, 0);
        assert_eq!(made(&[empty]), r#"{"members":{"reasoning_content":""}}"#);
    }

    #[test]
    fn pieces_of_a_block_are_one_block() {
        let piece = |inner: &str| {
            let members = format!(r#"{{"call":null,"members":{{"reasoning_details":[{inner}]}}}}"#);
            block("", &members, 0)
        };
        let said = made(&[
            piece(r#"{"type":"reasoning.text","text":"Let","index":0}"#),
            piece(r#"{"type":"reasoning.text","text":" me","index":0,"signature":null}"#),
            piece(r#"{"type":"reasoning.text","signature":"S","index":0}"#),
            piece(r#"{"type":"reasoning.encrypted","data":"D","index":0}"#),
        ]);
        let want = r#"[{"type":"reasoning.text","text":"Let me","index":0,"signature":"S"},{"type":"reasoning.encrypted","data":"D","index":0}]"#;
        assert_eq!(said, format!(r#"{{"members":{{"reasoning_details":{want}}}}}"#));
    }

    #[test]
    fn members_of_a_call_stay_with_it() {
        let signed =
            r#"{"call":"b","members":{"extra_content":{"google":{"thought_signature":"S"}}}}"#;
        let want = r#"{"calls":{"b-2":{"extra_content":{"google":{"thought_signature":"S"}}}}}"#;
        assert_eq!(made(&[block("", signed, 2)]), want);
        let renamed = signed.replace(r#""b""#, r#""c""#);
        assert_eq!(made(&[block("", &renamed, 2)]), want, "by its place");
    }
}
