//! Parses a model's request for tools. The parser is strict: any deviation from the schema makes
//! the request invalid.
//!
//! ```text
//! {"tool_calls":[{"tool_name":"search","params":{"q":"tides"},"reason":"the input has no tide table"}]}
//! ```
//! `tool_calls` may be omitted; inside a call all three members are required, and no other member
//! is allowed. The text is the JSON itself, or contains it in exactly one fenced block.

use super::options::Policy;
use super::rejected::{Reason, Rejected};
use crate::error::Error;
use crate::json::Json;
use crate::json::table::record;
use crate::limits;
use crate::signature::Signature;
use crate::stream::Call;

/// The name of the tool through which a request may come on a provider's tool-call channel.
pub const REQUEST_TOOL: &str = "request_tools";

record! {
    /// A call that a model requests.
    pub struct RequestedCall as "RequestedCall" {
        /// The name of the tool.
        tool_name "tool_name": String;
        /// The arguments, an object.
        params "params": Json<'static> as "Record<string, unknown>";
        /// The model's reason, cut to its limit. Empty if the tool itself is called on a provider's
        /// tool-call channel.
        reason "reason": String;
        /// The signature of the call.
        signature "signature": Signature;
    }
}

impl RequestedCall {
    fn new(tool_name: String, params: Json<'static>, reason: String) -> Self {
        let signature = Signature::new(&tool_name, None, &params, None);
        Self { tool_name, params, reason, signature }
    }
}

record! {
    /// The result of parsing a request.
    pub struct ParsedRequest as "ParsedToolRequest" {
        /// The calls that may run, in order.
        tool_calls "toolCalls": Vec<RequestedCall>;
        /// The rejected calls and the reasons, in the order of the request.
        rejected "rejected": Vec<Rejected>;
        /// Whether the text was a request according to the schema. If not, no call is accepted.
        valid "valid": bool;
    }
}

impl ParsedRequest {
    /// Makes the result for a text that is not a request. `detail` is the code or the member that
    /// the reason is about; it may be empty.
    #[must_use]
    pub fn invalid(reason: Reason, detail: &str) -> Self {
        Self::refused(vec![Rejected::whole(reason, detail)])
    }

    fn refused(rejected: Vec<Rejected>) -> Self {
        Self { tool_calls: Vec::new(), rejected, valid: false }
    }
}

/// Parses a request. First, the whole request must match the schema. Then each call is checked
/// against the policy, and is rejected if it is not on the allowlist, is a duplicate by signature,
/// or exceeds the limit of calls. Of the policy, `allow`, `max_tool_calls` and `max_reason_chars`
/// count.
///
/// # Errors
/// `options.invalid` for a policy without `allow`. A text is never an error.
pub fn parse_tool_request(text: &str, policy: &Policy) -> Result<ParsedRequest, Error> {
    let allow = policy.allow.as_ref().ok_or_else(|| Error::option("policy.allow", "an array"))?;
    let calls = match read_text(text, policy.max_reason_chars) {
        Ok(calls) => calls,
        Err(rejected) => return Ok(ParsedRequest::refused(rejected)),
    };
    let mut parsed = ParsedRequest { tool_calls: Vec::new(), rejected: Vec::new(), valid: true };
    for (index, call) in calls.into_iter().enumerate() {
        let taken = u64::try_from(parsed.tool_calls.len()).unwrap_or(u64::MAX);
        let refusal = if !allow.contains(&call.tool_name) {
            Some(Reason::NotAllowed)
        } else if parsed.tool_calls.iter().any(|other| other.signature == call.signature) {
            Some(Reason::Duplicate)
        } else if taken >= policy.max_tool_calls {
            Some(Reason::Budget)
        } else {
            None
        };
        match refusal {
            Some(reason) => {
                parsed.rejected.push(Rejected::call(index, &call.tool_name, reason, ""));
            }
            None => parsed.tool_calls.push(call),
        }
    }
    Ok(parsed)
}

/// The calls of a request, or all of its defects.
pub(super) type Reading = Result<Vec<RequestedCall>, Vec<Rejected>>;

/// Parses a request in a text; an empty text requests nothing.
pub(super) fn read_text(text: &str, max_reason: u64) -> Reading {
    if text.len() > limits::REQUEST_BYTES {
        return Err(vec![Rejected::whole(Reason::TooLarge, "")]);
    }
    match find_json(text) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(json)) => read_json(json, max_reason),
        Err(reason) => Err(vec![Rejected::whole(reason, "")]),
    }
}

/// Parses a request on the provider's tool-call channel: the arguments of [`REQUEST_TOOL`], or
/// calls of the tools themselves. A call whose end was not received makes the request invalid.
pub(super) fn read_calls(calls: &[Call], max_reason: u64) -> Reading {
    let mut all = Vec::new();
    let mut wrong = Vec::new();
    for call in calls {
        let text = call.arguments.trim();
        if !call.ended || call.arguments.len() > limits::REQUEST_BYTES {
            let reason = if call.ended { Reason::TooLarge } else { Reason::Truncated };
            wrong.push(Rejected::call(all.len(), "", reason, ""));
        } else if call.name == REQUEST_TOOL {
            match read_json(if text.is_empty() { "{}" } else { text }, max_reason) {
                Ok(more) => all.extend(more),
                Err(more) => wrong.extend(more),
            }
        } else {
            match Json::parse_str(if text.is_empty() { "{}" } else { text }) {
                Ok(params @ Json::Object(_)) => {
                    let (name, params) = (call.name.clone(), params.into_owned());
                    all.push(RequestedCall::new(name, params, String::new()));
                }
                other => {
                    let detail = other.err().map_or("params", |error| error.code());
                    let index = all.len();
                    wrong.push(Rejected::call(index, &call.name, Reason::InvalidField, detail));
                }
            }
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

/// Returns the JSON of a text: all of it, or the content of its only fenced block. `None` for an
/// empty text.
pub(super) fn find_json(text: &str) -> Result<Option<&str>, Reason> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with(['{', '[']) {
        return Ok(Some(text));
    }
    let mut found = None;
    let mut open: Option<(&str, usize, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let info = bare.trim_start_matches('`');
        let ticks = bare.get(..bare.len() - info.len()).unwrap_or_default();
        match open {
            None if ticks.len() >= 3 => {
                let info = info.trim();
                open = Some((ticks, at, info.is_empty() || info.eq_ignore_ascii_case("json")));
            }
            Some((fence, body, json)) if info.is_empty() && ticks.len() >= fence.len() => {
                if json && found.replace(text.get(body..start).unwrap_or_default()).is_some() {
                    return Err(Reason::Ambiguous);
                }
                open = None;
            }
            None | Some(_) => {}
        }
    }
    match (found, open) {
        (_, Some((_, _, true))) => Err(Reason::Truncated),
        (None, _) => Err(Reason::NoJson),
        (Some(json), _) => Ok(Some(json.trim())),
    }
}

/// Parses a request by the schema, member by member.
fn read_json(text: &str, max_reason: u64) -> Reading {
    let whole = |reason, detail: &str| Err(vec![Rejected::whole(reason, detail)]);
    let json = match Json::parse_str(text) {
        Ok(json) => json.into_owned(),
        Err(error) => return whole(Reason::Syntax, error.code()),
    };
    let Json::Object(members) = json else { return whole(Reason::NotAnObject, "") };
    let mut calls = Vec::new();
    for (key, value) in members {
        match (key.as_ref(), value) {
            ("tool_calls", Json::Array(items)) => calls = items,
            ("tool_calls", _) => return whole(Reason::InvalidField, "tool_calls"),
            _ => return whole(Reason::UnknownField, clip(&key)),
        }
    }
    let mut read = Vec::with_capacity(calls.len());
    let mut wrong = Vec::new();
    for (index, call) in calls.into_iter().enumerate() {
        match read_call(index, call, max_reason) {
            Ok(call) => read.push(call),
            Err(one) => wrong.push(one),
        }
    }
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

fn read_call(
    index: usize,
    call: Json<'static>,
    max_reason: u64,
) -> Result<RequestedCall, Rejected> {
    let named = clip(call.get("tool_name").and_then(Json::as_str).unwrap_or_default()).to_owned();
    let bad = |reason, detail: &str| Rejected::call(index, &named, reason, detail);
    let Json::Object(members) = call else { return Err(bad(Reason::NotAnObject, "")) };
    let (mut name, mut params, mut why) = (None, None, None);
    for (key, value) in members {
        match (key.as_ref(), value) {
            // A registry accepts no empty or longer name.
            ("tool_name", Json::String(text)) if (1..=64).contains(&text.len()) => {
                name = Some(text.into_owned());
            }
            ("params", object @ Json::Object(_)) => params = Some(object),
            ("reason", Json::String(text)) => why = Some(shorten(&text, max_reason)),
            (known @ ("tool_name" | "params" | "reason"), _) => {
                return Err(bad(Reason::InvalidField, known));
            }
            _ => return Err(bad(Reason::UnknownField, clip(&key))),
        }
    }
    let missing = |key| bad(Reason::MissingField, key);
    let name = name.ok_or_else(|| missing("tool_name"))?;
    let params = params.ok_or_else(|| missing("params"))?;
    Ok(RequestedCall::new(name, params, why.ok_or_else(|| missing("reason"))?))
}

/// Cuts a text to at most `max` UTF-16 units, as JavaScript counts, including the `…`.
fn shorten(text: &str, max: u64) -> String {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if text.encode_utf16().count() <= max {
        return text.to_owned();
    }
    let mut left = max.saturating_sub(1);
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    let mut short: String = text.chars().take_while(fits).collect();
    if max > 0 {
        short.push('…');
    }
    short
}

/// Cuts a name to a length that is enough to recognize it.
fn clip(text: &str) -> &str {
    text.get(..text.floor_char_boundary(64)).unwrap_or_default()
}
