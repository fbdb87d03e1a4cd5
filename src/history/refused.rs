//! Requests that a provider has refused for their history: the rules that it named are kept, although
//! the dialect's table does not have them. Servers with the same API differ.

use super::code::Code;
use super::explain::explain;
use super::options::{HistoryOptions, MissingReasoning, ReasoningReplay, ThoughtSignatures};
use super::report::{Action, Repair};
use super::{Normalized, normalize};
use crate::dialect::Dialect;
use crate::json::Json;
use crate::provider::{
    Arguments, Blank, Bridge, EmptyResult, Fields, First, Ids, Last, Merge, Names, Recorded,
    Replay, Rules, System, rules,
};

/// The members of a request that hold its history.
const LISTS: [&str; 3] = ["messages", "input", "contents"];

/// The members of a request that continues state at the provider.
const STATE: [&str; 3] = ["previous_response_id", "conversation", "thread"];

/// Repairs the history in the body of a request that its provider has refused. `refusal`: the text of
/// the response. Returns the repairs; without one, `body` is as it was, and the text names no fault of
/// the history, or none that [`normalize`] repairs.
///
/// The text only selects which rules of providers the history must keep, as
/// [`HistoryOptions::refused`](HistoryOptions). No text of the user is left out, and no result is
/// added that claims success. [`Repair::index`] is the place in the body.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::history::{Code, repair};
/// use turnlock::json::Json;
///
/// let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
/// let mut body = Json::parse_str(body)?.into_owned();
/// assert!(repair(Dialect::OpenAiChat, &mut body, "invalid api key").is_empty());
/// let refusal = "Conversation roles must alternate user/assistant/user/assistant/...";
/// let repairs = repair(Dialect::OpenAiChat, &mut body, refusal);
/// assert_eq!(repairs[0].code, Code::RoleAlternation);
/// assert_eq!(body.to_text(), r#"{"messages":[{"role":"user","content":"a\n\nb"}]}"#);
/// # Ok::<(), turnlock::Error>(())
/// ```
#[must_use]
pub fn repair(dialect: Dialect, body: &mut Json<'static>, refusal: &str) -> Vec<Repair> {
    let codes = explain(refusal);
    let Json::Object(members) = body else { return Vec::new() };
    if codes.is_empty() {
        return Vec::new();
    }
    let is_partial = members.iter().any(|(key, value)| {
        STATE.contains(&key.as_ref()) && !value.is_null() && value.as_bool() != Some(false)
    });
    let is_stored = !members.iter().any(|(key, on)| key == "store" && on.as_bool() == Some(false));
    let list = members.iter_mut().find(|(key, _)| LISTS.contains(&key.as_ref()));
    let Some((_, Json::Array(list))) = list else { return Vec::new() };
    let options = HistoryOptions::new(dialect).partial(is_partial).stored(is_stored);
    let plain = normalized(list, &options);
    let options = options.refused(codes);
    let Some(Normalized { messages, mut repairs, .. }) = normalized(list, &options) else {
        return Vec::new();
    };
    let is_named = |repair: &Repair| options.refused.contains(&repair.code);
    let is_same = || plain.is_some_and(|plain| plain.messages == messages);
    if messages == *list || !repairs.iter().any(is_named) && is_same() {
        return Vec::new();
    }
    if let (Some(code), true) = (options.refused.first(), repairs.is_empty()) {
        let detail = code.description().to_owned();
        let action = Action::Converted;
        repairs.push(Repair { code: *code, action, index: 0, tool_call_id: None, detail });
    }
    *list = messages;
    repairs
}

fn normalized(list: &[Json<'static>], options: &HistoryOptions) -> Option<Normalized<'static>> {
    let details = adapted(options).0.reasoning == Replay::Details;
    let given = list.iter().cloned();
    normalize(given.map(|message| if details { carried(message) } else { message }), options).ok()
}

/// A message whose reasoning stands beside its calls as the model sent it: it goes back like that.
fn carried(message: Json<'static>) -> Json<'static> {
    let Json::Object(members) = message else { return message };
    if !members.iter().any(|(key, _)| key == "tool_calls") {
        return Json::Object(members);
    }
    let is_reasoning = |key: &str| Recorded::MEMBERS.contains(&key);
    let (own, mut rest): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(key, _)| is_reasoning(key));
    if !own.is_empty() {
        let own = Json::object([("members", Json::Object(own))]);
        rest.push(("reasoning".into(), own));
    }
    Json::Object(rest)
}

/// The rules of a history, and its options, with those that the provider has named in a refusal. Codes
/// whose repairs depend on no rule, or of which no repair is known, change nothing.
pub(super) fn adapted(options: &HistoryOptions) -> (Rules, HistoryOptions) {
    let (mut rules, mut options) = (*rules(options.dialect), options.clone());
    for code in options.refused.clone() {
        refuse(code, &mut rules, &mut options);
    }
    (rules, options)
}

fn refuse(code: Code, rules: &mut Rules, options: &mut HistoryOptions) {
    match code {
        Code::AssistantBridgeRequired => rules.bridge = Bridge::Needed,
        Code::CacheMarksTooMany => rules.cache_marks = 1,
        Code::ContentEmpty | Code::ContentWhitespace => rules.blank = Blank::Refused,
        Code::ContentNull | Code::ContentShape => rules.require_texts(),
        Code::FieldUnknown => {
            (rules.strict, rules.fields) = (true, Fields::NONE);
            if matches!(rules.reasoning, Replay::Content | Replay::Thinking | Replay::Details) {
                rules.reasoning = Replay::Nothing;
            }
        }
        Code::FirstMessageRole => rules.first = First::User,
        Code::ItemIdDuplicate | Code::ItemIdFormat | Code::ItemIdLength | Code::ItemNotStored => {
            options.stored = false;
        }
        Code::LastMessageRole | Code::PrefillUnsupported => {
            (rules.last, options.prefill) = (Last::NotAssistant, false);
        }
        Code::ReasoningForeign | Code::ReasoningModified | Code::ReasoningItemUnpaired => {
            rules.reasoning = Replay::Nothing;
        }
        Code::ReasoningRequired => {
            if options.reasoning != ReasoningReplay::Always {
                options.reasoning = ReasoningReplay::ToolCalls;
            }
            options.missing_reasoning = MissingReasoning::Empty;
        }
        Code::RoleAlternation => {
            rules.merge = Merge::Needed;
            // Templates that want it join what they are given as texts.
            rules.require_texts();
        }
        Code::RoleUnsupported => rules.developer = false,
        Code::SystemMultiple | Code::SystemPosition => {
            options.system_anywhere = false;
            if matches!(rules.system, System::Anywhere) {
                rules.system = System::First;
            }
        }
        Code::ThoughtSignatureMissing => options.thought_signatures = ThoughtSignatures::Always,
        Code::ToolArgsInvalidJson if matches!(rules.arguments, Arguments::Text { .. }) => {
            rules.arguments = Arguments::Text { read: true };
        }
        // The form that Mistral wants is one that every provider takes.
        Code::ToolCallIdFormat if rules.ids != Ids::None => rules.ids = Ids::Nine,
        Code::ToolCallIdLength => {
            if let Ids::Length(most) = &mut rules.ids {
                *most = (*most).min(40);
            }
        }
        Code::ToolNameFormat => rules.names = Names::Word(64),
        Code::ToolResultEmpty => rules.empty_result = EmptyResult::Refused,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
    const RESULT: &str = r#"{"role":"tool","tool_call_id":"call_1","content":"a.txt"}"#;

    /// A dialect, what its server says, the list that was sent, texts of the repaired one, and texts
    /// that it does not have.
    type Row =
        (&'static str, &'static str, String, &'static [&'static str], &'static [&'static str]);

    fn said(texts: &[&str]) -> String {
        texts.join(",")
    }

    fn rows() -> Vec<Row> {
        let user = r#"{"role":"user","content":"go"}"#;
        let system = r#"{"role":"system","content":"be brief"}"#;
        let answer = r#"{"role":"assistant","content":"done"}"#;
        vec![
            (
                "openai-chat",
                "Conversation roles must alternate user/assistant/user/assistant/...",
                said(&[user, user]),
                &["go\\n\\ngo"],
                &["},{"],
            ),
            (
                "groq",
                "System message must be at the beginning.",
                said(&[user, answer, system, user]),
                &["<system>be brief</system>"],
                &[r#""role":"system""#],
            ),
            (
                "xai",
                "Unexpected role 'user' after role 'tool'",
                said(&[user, CALL, RESULT, user]),
                &[r#""content":"OK.""#],
                &[],
            ),
            (
                "openai-chat",
                "2 or more assistant messages at the end of the list",
                said(&[user, answer]),
                &["Continue."],
                &[],
            ),
            (
                "openai-chat",
                "Conversation must start with a user message",
                said(&[answer, user]),
                &["(conversation start)"],
                &[],
            ),
            (
                "openai-chat",
                "invalid value for 'content': expected a string, got null",
                said(&[user, &CALL.replace(r#""content":"""#, r#""content":null"#), RESULT]),
                &[r#""content":"""#],
                &["null"],
            ),
            (
                "openai-chat",
                "messages[0].content: invalid type: sequence, expected a string",
                said(&[r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#]),
                &[r#""content":"go""#],
                &["text"],
            ),
            (
                "openai-chat",
                "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
                said(&[user, CALL, RESULT]),
                &["a.txt"],
                &["call_1"],
            ),
            (
                "openai-chat",
                "reasoning_content is missing in assistant tool call message at index 1",
                said(&[user, CALL, RESULT]),
                &[r#""reasoning_content":"""#],
                &[],
            ),
            (
                "openai-chat",
                "property 'messages.1.reasoning_content' is unsupported",
                said(&[
                    user,
                    &CALL.replace("\"content\"", "\"reasoning_content\":\"hm\",\"content\""),
                    RESULT,
                ]),
                &["a.txt"],
                &["hm", "reasoning"],
            ),
            (
                "anthropic",
                "messages.1.content.0: Invalid `signature` in `thinking` block",
                said(&[
                    user,
                    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"ZWxzZXdoZXJl"},{"type":"text","text":"done"}]}"#,
                    user,
                ]),
                &["done"],
                &["hm"],
            ),
            (
                "gemini",
                "Function call is missing a thought_signature in functionCall parts.",
                said(&[
                    r#"{"role":"user","parts":[{"text":"go"}]}"#,
                    r#"{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}"#,
                    r#"{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}"#,
                ]),
                &["skip_thought_signature_validator"],
                &[],
            ),
            (
                "openai-responses",
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                said(&[
                    r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#,
                    r#"{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"done"}]}"#,
                    user,
                ]),
                &["done", "go"],
                &["rs_1"],
            ),
        ]
    }

    fn body(dialect: &str, list: &str) -> Json<'static> {
        let member = match dialect {
            "openai-responses" => "input",
            "gemini" => "contents",
            _ => "messages",
        };
        let text = format!(r#"{{"model":"m","{member}":[{list}],"temperature":0}}"#);
        Json::parse_str(&text).unwrap().into_owned()
    }

    #[test]
    fn each_refusal_selects_the_repair_of_its_rule() {
        for (name, refusal, list, has, lacks) in rows() {
            let dialect = Dialect::parse(name).unwrap();
            let before = body(name, &list);
            let mut now = before.clone();
            let repairs = repair(dialect, &mut now, refusal);
            let text = now.to_text();
            assert!(!repairs.is_empty(), "{name}: {refusal}");
            for part in has {
                assert!(text.contains(part), "{name}: {refusal}: {text}");
            }
            for part in lacks {
                assert!(!text.contains(part), "{name}: {refusal}: {text}");
            }
            assert_eq!(now.get("temperature"), before.get("temperature"));
            // A request that keeps the rule is not repaired again.
            assert_eq!(repair(dialect, &mut now, refusal), Vec::new(), "{name}: {refusal}");
            assert_eq!(now.to_text(), text);
        }
    }

    #[test]
    fn what_names_no_fault_of_the_request_changes_nothing() {
        let list = said(&[r#"{"role":"user","content":"go"}"#, CALL, RESULT]);
        let before = body("openai-chat", &list);
        for refusal in [
            "",
            "model not found",
            "An assistant message with 'tool_calls' must be followed by tool messages",
            "roles must alternate",
        ] {
            let mut now = before.clone();
            assert_eq!(repair(Dialect::OpenAiChat, &mut now, refusal), Vec::new(), "{refusal}");
            assert_eq!(now, before);
        }
        for other in ["[]", "{}", r#"{"messages":"go"}"#, r#"{"messages":[1]}"#] {
            let mut other = Json::parse_str(other).unwrap().into_owned();
            let before = other.clone();
            assert_eq!(repair(Dialect::OpenAiChat, &mut other, "roles must alternate"), Vec::new());
            assert_eq!(other, before);
        }
    }

    /// Reasoning that stands beside calls goes back as it was.
    #[test]
    fn members_of_calls_stay() {
        let user = r#"{"role":"user","content":"go"}"#;
        let call = CALL.replace(
            r#""tool_calls""#,
            r#""reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}],"tool_calls""#,
        );
        let mut now = body("openai-chat", &said(&[user, user, &call, RESULT]));
        let repairs = repair(Dialect::OpenAiChat, &mut now, "roles must alternate");
        assert_eq!(repairs.len(), 1, "{repairs:?}");
        let text = now.to_text();
        assert!(text.contains(r#""reasoning_content":"hm""#), "{text}");
        assert!(text.contains(r#""reasoning_details":[{"#), "{text}");
    }

    /// A gateway has the text of the provider in the text of its own error.
    #[test]
    fn a_refusal_within_a_refusal_is_read() {
        let raw = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"message\":\"Unexpected role \\\"system\\\"\"}"}}}"#;
        assert_eq!(explain(raw), [Code::SystemPosition]);
    }
}
