//! What the decoders share that read each event as a tree.

use super::classify::{failure, malformed};
use super::delta::{Delta, FinishReason, ProviderTool, ProviderToolStatus, Usage};
use crate::json::{Json, Reader};

/// Begins the signature of reasoning that the provider has encrypted whole (Anthropic's
/// `redacted_thinking`, Bedrock's `redactedContent`). Its data follows; its text is empty. The
/// provider's own signatures are base64 and hold no colon.
pub const REDACTED: &str = "redacted:";

/// In place of a signature: a part of the reasoning ends that the provider does not sign by itself
/// (a part of a summary of the Responses API, a thinking part of Cohere's content).
pub const PART: &str = "part:";

/// Begins what stands in place of a signature where a tool that the provider ran itself has a block
/// that goes back unchanged. The block follows, as JSON text.
pub const BLOCK: &str = "block:";

/// Begins what stands in place of a signature where members of the response go back with its calls.
/// `{ call, members }` follows, as JSON text; `call` is the id of a call, or null.
pub const MEMBERS: &str = "members:";

/// Reads an event, with numbers as they are given; an error if it is no JSON object.
#[inline(never)]
pub(crate) fn event<'a>(data: &'a str, out: &mut Vec<Delta>) -> Option<Json<'a>> {
    let mut reader = Reader::verbatim(data);
    let value = reader.value().and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(event @ Json::Object(_)) => Some(event),
        // Gateways may end any stream with OpenAI's end mark.
        _ if data.trim() == "[DONE]" => None,
        _ => {
            out.push(Delta::Error(malformed("an event of the model is no JSON object", data)));
            None
        }
    }
}

/// The reason to finish of a response with or without calls: several providers report the usual
/// end of a text behind calls.
pub(crate) fn finished(said: FinishReason, has_calls: bool) -> FinishReason {
    match said {
        FinishReason::Stop | FinishReason::Other if has_calls => FinishReason::ToolCalls,
        said => said,
    }
}

/// The text of a member; empty if it has none.
#[inline(never)]
pub(crate) fn text<'a>(of: &'a Json<'_>, key: &str) -> &'a str {
    of.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// The items of a member; none if it is no array.
#[inline(never)]
pub(crate) fn list<'a, 'j>(of: &'a Json<'j>, key: &str) -> &'a [Json<'j>] {
    of.get(key).and_then(Json::as_array).unwrap_or_default()
}

/// A member; `null` if it is missing.
#[inline(never)]
pub(crate) fn part<'a, 'j>(of: &'a Json<'j>, key: &str) -> &'a Json<'j> {
    of.get(key).unwrap_or(&Json::Null)
}

/// The whole number of a member.
#[inline(never)]
pub(crate) fn count(of: &Json<'_>, key: &str) -> Option<u64> {
    of.get(key).and_then(Json::as_u64)
}

/// The JSON text of a member; empty if it is missing or `null`.
#[inline(never)]
fn json_text(of: &Json<'_>, key: &str) -> String {
    of.get(key).filter(|value| !value.is_null()).map(Json::to_text).unwrap_or_default()
}

/// Arguments: JSON text, or the value itself, as some gateways send it. Empty if there are none.
#[inline(never)]
pub(crate) fn arguments_text(of: &Json<'_>, key: &str) -> String {
    match part(of, key) {
        Json::String(text) => text.to_string(),
        _ => json_text(of, key),
    }
}

/// Takes the member `error` as a failure; `false` if there is none.
#[inline(never)]
pub(crate) fn is_failure(event: &Json<'_>, raw: &str, out: &mut Vec<Delta>) -> bool {
    let error = part(event, "error");
    if !error.is_null() {
        out.push(Delta::Error(failure(error, raw)));
    }
    !error.is_null()
}

#[inline(never)]
pub(crate) fn push_other(raw: &str, out: &mut Vec<Delta>) {
    out.push(Delta::Other { raw: raw.to_owned() });
}

#[inline(never)]
pub(crate) fn push_finish(reason: FinishReason, raw: &str, out: &mut Vec<Delta>) {
    out.push(Delta::Finish { reason, raw: raw.to_owned() });
}

#[inline(never)]
pub(crate) fn push_text(text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text.to_owned()));
    }
}

#[inline(never)]
pub(crate) fn push_reasoning(text: &str, signature: Option<&str>, out: &mut Vec<Delta>) {
    let signature = signature.filter(|signature| !signature.is_empty()).map(str::to_owned);
    if !text.is_empty() || signature.is_some() {
        out.push(Delta::Reasoning { text: text.to_owned(), signature });
    }
}

/// Shows a tool that the provider runs itself. `kept`: `raw` is a block that goes back unchanged.
#[inline(never)]
pub(crate) fn push_tool(
    (name, id): (&str, &str),
    status: ProviderToolStatus,
    (raw, kept): (String, bool),
    out: &mut Vec<Delta>,
) {
    let id = Some(id.to_owned()).filter(|id| !id.is_empty());
    out.push(Delta::ProviderTool(ProviderTool { name: name.to_owned(), id, status, raw, kept }));
}

/// The last report of tokens, for providers that repeat it with every event.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts(Usage);

impl Counts {
    pub(crate) fn report(&mut self, usage: Usage, out: &mut Vec<Delta>) {
        let before = self.0;
        self.0.update(usage);
        if self.0 != before {
            out.push(Delta::Usage(self.0));
        }
    }
}
