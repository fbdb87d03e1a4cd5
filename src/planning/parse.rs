//! Parses a model's request for tools.
//!
//! ```text
//! {"tool_calls":[{"tool_name":"search","params":{"q":"tides"},"reason":"the input has no tide table"}]}
//! ```
//! `tool_calls` may be omitted. The JSON is read strictly. A text without such an object, or whose
//! `tool_calls` is not an array, is not a request. A call without `tool_name` or `params`, or with
//! values of other types there, is rejected alone. A missing `reason`, members that the schema does
//! not define, `toolCalls` for `tool_calls`, a call without a list around it, `params` that are the text of
//! an object, and what stands around the JSON are noted, and change nothing.
//!
//! `find` has where in a text the JSON may be ([`crate::reply`]).

use super::cut::{NAME_BYTES, clip};
use super::find;
use super::options::Policy;
use super::rejected::{Reason, RequestRejection};
use crate::error::Error;
use crate::json::Json;
use crate::json::table::record;
use crate::limits;
use crate::signature::Signature;
use crate::stream::Call;
use crate::tool::unwrap_object;

/// The name of the tool through which a request may come on a provider's tool-call channel.
pub const REQUEST_TOOL: &str = "request_tools";

record! {
    /// A call that a model requests.
    pub struct RequestedCall as "RequestedCall" {
        /// The name of the tool.
        tool_name "tool_name": String;
        /// The arguments, an object.
        params "params": Json<'static> as "Record<string, unknown>";
        /// The model's reason, cut to its limit. Empty if the model gave none.
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
        rejected "rejected": Vec<RequestRejection>;
        /// What the schema does not define, or requires and is missing, without effect on the calls:
        /// unknown members, and calls without a `reason`.
        notes "notes": Vec<RequestRejection>;
        /// Whether the text was a request. If not, no call is accepted.
        valid "valid": bool;
    }
}

impl ParsedRequest {
    /// Makes the result for a text that is not a request. `detail` is the code or the member that
    /// the reason is about; it may be empty.
    #[must_use]
    pub fn invalid(reason: Reason, detail: &str) -> Self {
        Self::refused(vec![RequestRejection::whole(reason, detail)])
    }

    fn refused(rejected: Vec<RequestRejection>) -> Self {
        Self { tool_calls: Vec::new(), rejected, notes: Vec::new(), valid: false }
    }
}

/// Parses a request. Each call is checked by the schema, then against the policy: it is rejected if
/// it is not on the allowlist, is a duplicate by signature, or exceeds the limit of calls. Of the
/// policy, `allow`, `max_tool_calls` and `max_reason_chars` count.
///
/// # Errors
/// `options.invalid` for a policy without `allow`. A text is never an error.
pub fn parse_tool_request(text: &str, policy: &Policy) -> Result<ParsedRequest, Error> {
    let allow = policy.allow.as_ref().ok_or_else(|| Error::option("policy.allow", "an array"))?;
    let Reading { calls, notes, .. } = match read_text(text, policy.max_reason_chars) {
        Ok(reading) => reading,
        Err(rejected) => return Ok(ParsedRequest::refused(rejected)),
    };
    let mut parsed =
        ParsedRequest { tool_calls: Vec::new(), rejected: Vec::new(), notes, valid: true };
    for (index, call) in calls.into_iter().enumerate() {
        let call = match call {
            Ok(call) => call,
            Err(rejected) => {
                parsed.rejected.push(rejected);
                continue;
            }
        };
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
                parsed.rejected.push(RequestRejection::call(index, &call.tool_name, reason, ""));
            }
            None => parsed.tool_calls.push(call),
        }
    }
    Ok(parsed)
}

/// A request, as far as the schema goes.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The calls in their order, or why one is rejected alone.
    pub(super) calls: Vec<Result<RequestedCall, RequestRejection>>,
    /// What deviates from the schema and does not matter.
    pub(super) notes: Vec<RequestRejection>,
    /// Whether reasons and names are not cut.
    whole: bool,
}

/// A request, or why there is none.
type Read<T = Reading> = Result<T, Vec<RequestRejection>>;

/// Parses a request in a text; an empty text requests nothing.
pub(super) fn read_text(text: &str, max_reason: u64) -> Read {
    let mut reading = Reading { whole: max_reason == u64::MAX, ..Reading::default() };
    if text.len() > limits::REQUEST_BYTES {
        return Err(vec![RequestRejection::whole(Reason::TooLarge, "")]);
    }
    match find::request(text) {
        Ok(None) => Ok(reading),
        Ok(Some(found)) => {
            for dropped in found.dropped {
                reading.note(RequestRejection::whole(Reason::Deviation, dropped.name()));
            }
            if found.unwrapped {
                reading.note(RequestRejection::whole(Reason::Deviation, "wrapper_dropped"));
            }
            match reading.read(found.json, max_reason) {
                Ok(()) => Ok(reading),
                Err(rejected) => Err(vec![rejected]),
            }
        }
        Err(rejected) => Err(vec![rejected]),
    }
}

/// Whether a text is a request for tools, not a plan that has a list of the same name.
pub(super) fn is_request(text: &str) -> bool {
    let found = find::request(text).ok().flatten();
    found.is_some_and(|found| !found.unwrapped && found.json.get("tool_calls").is_some())
        && read_text(text, 0).is_ok_and(|read| read.is_only_a_request())
}

/// Parses a request on the provider's tool-call channel: the arguments of [`REQUEST_TOOL`], or
/// calls of the tools themselves. A call that was not received whole, or whose arguments are not
/// JSON, makes the request invalid.
pub(super) fn read_calls(calls: &[Call], max_reason: u64) -> Read {
    let mut reading = Reading { whole: max_reason == u64::MAX, ..Reading::default() };
    let mut wrong = Vec::new();
    for call in calls {
        let text = call.arguments.trim();
        let text = if text.is_empty() { "{}" } else { text };
        let index = reading.calls.len();
        if !call.ended || call.arguments.len() > limits::REQUEST_BYTES {
            let reason = if call.ended { Reason::TooLarge } else { Reason::Truncated };
            wrong.push(RequestRejection::call(index, "", reason, ""));
        } else if call.name == REQUEST_TOOL {
            let json = Json::parse_str(text)
                .map_err(|error| RequestRejection::whole(Reason::Syntax, error.code()));
            let read = json.and_then(|json| reading.read(json.into_owned(), max_reason));
            wrong.extend(read.err());
        } else {
            let named = reading.clip(&call.name);
            let bad = |detail| RequestRejection::call(index, named, Reason::InvalidField, detail);
            match Json::parse_str(text).map(Json::into_owned) {
                Ok(mut params) => {
                    if unwrap_object(&mut params) {
                        reading.note(RequestRejection::fitted(index, named));
                    }
                    let is_object = params.as_object().is_some();
                    let name = call.name.clone();
                    let requested = || RequestedCall::new(name, params, String::new());
                    reading.calls.push(is_object.then(requested).ok_or_else(|| bad("params")));
                }
                Err(error) => wrong.push(bad(error.code())),
            }
        }
    }
    if wrong.is_empty() { Ok(reading) } else { Err(wrong) }
}

impl Reading {
    /// Whether the text is a request and nothing else: a plan may have a list of the same name.
    fn is_only_a_request(&self) -> bool {
        self.calls.iter().all(Result::is_ok)
            && self
                .notes
                .iter()
                .all(|note| matches!(note.reason, Reason::MissingField | Reason::Deviation))
    }

    /// Adds the calls of a request, member by member. An error rejects the request.
    fn read(&mut self, json: Json<'static>, max_reason: u64) -> Result<(), RequestRejection> {
        let listed = json.get("tool_calls").is_some();
        if !listed && json.get("toolCalls").is_none() && find::is_call(&json) {
            self.note(RequestRejection::whole(Reason::Deviation, "bare_call"));
            let json = self.renamed(json);
            let call = self.call(json, max_reason);
            self.calls.push(call);
            return Ok(());
        }
        let Json::Object(members) = json else {
            return Err(RequestRejection::whole(Reason::NotAnObject, ""));
        };
        for (key, value) in members {
            let key = if key == "toolCalls" && !listed {
                self.note(RequestRejection::whole(Reason::Deviation, "toolCalls"));
                "tool_calls".into()
            } else {
                key
            };
            match (key.as_ref(), value) {
                ("tool_calls", Json::Array(calls)) => {
                    for call in calls {
                        let call = self.call(call, max_reason);
                        self.calls.push(call);
                    }
                }
                ("tool_calls", _) => {
                    return Err(RequestRejection::whole(Reason::InvalidField, "tool_calls"));
                }
                _ => self.note(RequestRejection::whole(Reason::UnknownField, self.clip(&key))),
            }
        }
        Ok(())
    }

    /// A bare call with the names of a request in place of those of the providers' interfaces.
    fn renamed(&mut self, mut call: Json<'static>) -> Json<'static> {
        for (other, name) in
            [("toolName", "tool_name"), ("name", "tool_name"), ("arguments", "params")]
        {
            let is_missing = call.get(name).is_none();
            let Json::Object(members) = &mut call else { break };
            let found = members.iter_mut().find(|(key, _)| is_missing && key == other);
            if let Some((key, _)) = found {
                *key = name.into();
                self.note(RequestRejection::whole(Reason::Deviation, other));
            }
        }
        call
    }

    fn call(
        &mut self,
        call: Json<'static>,
        max_reason: u64,
    ) -> Result<RequestedCall, RequestRejection> {
        let index = self.calls.len();
        let named = call.get("tool_name").and_then(Json::as_str).unwrap_or_default();
        let named = self.clip(named).to_owned();
        let bad = |reason, detail: &str| RequestRejection::call(index, &named, reason, detail);
        let Json::Object(members) = call else { return Err(bad(Reason::NotAnObject, "")) };
        let (mut name, mut params, mut why) = (None, None, None);
        for (key, value) in members {
            match (key.as_ref(), value) {
                // A registry accepts no empty or longer name.
                ("tool_name", Json::String(text)) if (1..=64).contains(&text.len()) => {
                    name = Some(text.into_owned());
                }
                ("params", mut value) => {
                    if unwrap_object(&mut value) {
                        self.note(RequestRejection::fitted(index, &named));
                    }
                    if value.as_object().is_none() {
                        return Err(bad(Reason::InvalidField, "params"));
                    }
                    params = Some(value);
                }
                ("reason", Json::String(text)) => why = Some(shorten(&text, max_reason)),
                ("tool_name", _) => return Err(bad(Reason::InvalidField, "tool_name")),
                ("reason", _) => {
                    self.note(bad(Reason::InvalidField, "reason"));
                    why = Some(String::new());
                }
                _ => self.note(bad(Reason::UnknownField, self.clip(&key))),
            }
        }
        let missing = |key| bad(Reason::MissingField, key);
        let name = name.ok_or_else(|| missing("tool_name"))?;
        let params = params.ok_or_else(|| missing("params"))?;
        let why = why.unwrap_or_else(|| {
            self.note(missing("reason"));
            String::new()
        });
        Ok(RequestedCall::new(name, params, why))
    }

    /// Cuts a name to a length that is enough to recognize it.
    fn clip<'t>(&self, text: &'t str) -> &'t str {
        clip(text, if self.whole { text.len() } else { NAME_BYTES })
    }

    fn note(&mut self, note: RequestRejection) {
        if self.notes.len() < limits::REQUESTED_CALLS {
            self.notes.push(note);
        }
    }
}

/// Cuts a text to at most `max` UTF-16 units, as JavaScript counts, including the `…`.
pub(super) fn shorten(text: &str, max: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_at_utf16_units() {
        for (text, max, wanted) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("a😀b", 4, "a😀b"),
            ("a😀bc", 4, "a😀…"),
            ("a😀b", 3, "a…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(shorten(text, max), wanted, "{text} {max}");
        }
    }

    fn call(name: &str, arguments: &str, ended: bool) -> Call {
        let (id, name, arguments) = (String::new(), name.to_owned(), arguments.to_owned());
        Call { id, name, arguments, ready: false, ended }
    }

    #[test]
    fn calls_of_the_provider() {
        let reasons = |calls: &[Call]| match read_calls(calls, 9) {
            Ok(reading) => reading.calls.iter().map(Result::is_ok).collect::<Vec<_>>(),
            Err(rejected) => panic!("{rejected:?}"),
        };
        assert_eq!(reasons(&[call("a", "", true), call("b", "[]", true)]), [true, false]);
        let asked = r#"{"tool_calls":[{"tool_name":"a","params":{},"reason":"r"}]}"#;
        assert_eq!(reasons(&[call(REQUEST_TOOL, asked, true)]), [true]);
        let refused = |call: Call| read_calls(&[call], 9).unwrap_err()[0].reason;
        assert_eq!(refused(call("a", "{}", false)), Reason::Truncated);
        let fits = format!("{{}}{}", " ".repeat(limits::REQUEST_BYTES - 2));
        assert_eq!(reasons(&[call("a", &fits, true)]), [true]);
        assert_eq!(refused(call("a", &format!("{fits} "), true)), Reason::TooLarge);
        assert_eq!(read_text(&format!("{fits} "), 9).unwrap_err()[0].reason, Reason::TooLarge);
        assert!(read_text(&fits, 9).is_ok());
    }

    #[test]
    fn names_are_cut_unless_all_is_wanted() {
        let name = "n".repeat(NAME_BYTES + 1);
        let said = format!("{{\"{name}\":1}}");
        let noted = |max| match read_text(&said, max) {
            Ok(reading) => reading.notes[0].detail.clone().map(|detail| detail.len()),
            Err(rejected) => panic!("{rejected:?}"),
        };
        assert_eq!(noted(200), Some(NAME_BYTES));
        assert_eq!(noted(u64::MAX), Some(NAME_BYTES + 1));
        let asked = [call(REQUEST_TOOL, &said, true)];
        let noted = |max| match read_calls(&asked, max) {
            Ok(reading) => reading.notes[0].detail.clone().map(|detail| detail.len()),
            Err(rejected) => panic!("{rejected:?}"),
        };
        assert_eq!((noted(200), noted(u64::MAX)), (Some(NAME_BYTES), Some(NAME_BYTES + 1)));
    }
}
