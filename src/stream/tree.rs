//! What the decoders share that read each event as a tree.

use super::classify::malformed;
use super::delta::{Delta, FinishReason, Usage};
use crate::json::{Json, Reader};

/// Begins the signature of reasoning that the provider has encrypted whole (Anthropic's
/// `redacted_thinking`, Bedrock's `redactedContent`). Its data follows; its text is empty. The
/// provider's own signatures are base64 and hold no colon.
pub const REDACTED: &str = "redacted:";

/// Reads an event, with numbers as they are given; an error if it is no JSON object.
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

pub(crate) fn push_text(text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text.to_owned()));
    }
}

pub(crate) fn push_reasoning(text: &str, signature: Option<&str>, out: &mut Vec<Delta>) {
    let signature = signature.filter(|signature| !signature.is_empty()).map(str::to_owned);
    if !text.is_empty() || signature.is_some() {
        out.push(Delta::Reasoning { text: text.to_owned(), signature });
    }
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
