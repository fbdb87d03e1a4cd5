//! Joins deltas into a response.

use super::delta::{Delta, ErrorClass, FinishReason, StreamError, Usage};
use super::tree::{BLOCK, MEMBERS};
use crate::json::{Json, object};
use crate::limits;

/// The response of a model, as far as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// All text.
    pub text: String,
    /// The blocks of reasoning; a signature ends a block.
    pub reasoning: Vec<Reasoning>,
    /// The calls, in the order in which they began.
    pub calls: Vec<Call>,
    /// The index that each call was begun with: a host's own model may count as it likes.
    indices: Vec<u32>,
    /// Why the model stopped, and the provider's name for the reason.
    pub finish: Option<(FinishReason, String)>,
    /// Token usage.
    pub usage: Option<Usage>,
    /// The provider's id of the response, if the provider can keep it and it is complete.
    pub id: Option<String>,
    /// Bytes counted against the limit.
    held: usize,
}

/// One block of reasoning, or of a tool that the provider ran itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The text.
    pub text: String,
    /// The provider's signature, without which the block cannot be sent back; behind
    /// [`super::BLOCK`], the block of a tool that the provider ran itself, as JSON text; behind
    /// [`super::MEMBERS`], members that go back with the calls.
    pub signature: Option<String>,
    /// The number of calls of the response that came before it.
    pub calls: u32,
    /// Bytes of the response's text that came before it.
    pub text_before: usize,
}

impl Reasoning {
    /// The block of a tool that the provider ran itself.
    #[inline(never)]
    pub(crate) fn block(&self) -> Option<Json<'static>> {
        let raw = self.signature.as_deref()?.strip_prefix(BLOCK)?;
        Json::parse_str(raw).ok().map(Json::into_owned)
    }

    /// Members that go back with the calls of the response, and the id of the call that they belong
    /// to; without an id they are those of the message.
    pub(crate) fn members(&self) -> Option<(Option<String>, Json<'static>)> {
        let raw = self.signature.as_deref()?.strip_prefix(MEMBERS)?;
        let read = Json::parse_str(raw).ok()?.into_owned();
        let call = read.get("call").and_then(Json::as_str).map(str::to_owned);
        Some((call, read.get("members")?.clone()))
    }
}

/// One call of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The provider's id.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text, as far as they were received.
    pub arguments: String,
    /// Whether the arguments are complete as far as is known ([`Delta::ToolCallReady`]).
    pub ready: bool,
    /// Whether the end of the call was received.
    pub ended: bool,
}

impl Response {
    /// The pieces of the response in order: text, and blocks of reasoning or of the provider's tools.
    pub(crate) fn pieces(&self) -> Vec<Result<&str, &Reasoning>> {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for block in &self.reasoning {
            let text = self.text.get(from..block.text_before).unwrap_or_default();
            if !text.is_empty() {
                pieces.push(Ok(text));
                from = block.text_before;
            }
            pieces.push(Err(block));
        }
        let rest = self.text.get(from..).unwrap_or_default();
        pieces.extend((!rest.is_empty()).then_some(Ok(rest)));
        pieces
    }

    /// Adds the response that continues this one.
    pub(crate) fn join(&mut self, more: Self) {
        let before = self.text.len();
        self.text.push_str(&more.text);
        self.reasoning.extend(
            more.reasoning
                .into_iter()
                .map(|block| Reasoning { text_before: before + block.text_before, ..block }),
        );
    }

    /// Adds one delta.
    ///
    /// # Errors
    /// If the response exceeds `limits::RESPONSE_BYTES`.
    pub fn take(&mut self, delta: &Delta) -> Result<(), StreamError> {
        self.held += delta.size();
        if self.held > limits::RESPONSE_BYTES {
            return Err(too_large());
        }
        let blocks = self.reasoning.len();
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning { text, signature } => {
                if self.reasoning.last().is_none_or(|block| block.signature.is_some()) {
                    let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                    self.reasoning.push(Reasoning { calls, ..Reasoning::default() });
                }
                if let Some(block) = self.reasoning.last_mut() {
                    block.text.push_str(text);
                    block.signature.clone_from(signature);
                }
            }
            Delta::ToolCallStart { index, id, name } => {
                self.indices.push(*index);
                self.calls.push(Call {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: String::new(),
                    ready: false,
                    ended: false,
                });
            }
            Delta::ToolCallArguments { index, text } => {
                if let Some(call) = self.open(*index) {
                    call.arguments.push_str(text);
                    call.ready = false;
                }
            }
            Delta::ToolCallReady { index } => {
                if let Some(call) = self.open(*index) {
                    call.ready = true;
                }
            }
            Delta::ToolCallEnd { index } => {
                if let Some(call) = self.open(*index) {
                    call.ended = true;
                }
            }
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(*usage),
            Delta::Finish { reason, raw } => self.finish = Some((*reason, raw.clone())),
            Delta::ProviderTool(tool) => {
                if tool.kept {
                    let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                    let signature = Some([BLOCK, &tool.raw].concat());
                    self.reasoning.push(Reasoning { signature, calls, ..Reasoning::default() });
                }
            }
            Delta::Members { index, members } => {
                let place =
                    index.and_then(|index| self.indices.iter().rposition(|begun| *begun == index));
                let call = place.and_then(|place| self.calls.get(place));
                let id = call.map_or(Json::Null, |call| call.id.clone().into());
                // Those of a call that is not there belong to nothing.
                if index.is_none() || !id.is_null() {
                    let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                    let head = object! { "call": id }.to_text();
                    let head = head.trim_end_matches('}');
                    let signature = Some([MEMBERS, head, ",\"members\":", members, "}"].concat());
                    self.reasoning.push(Reasoning { signature, calls, ..Reasoning::default() });
                }
            }
            Delta::Error(_) | Delta::Other { .. } => {}
        }
        let text_before = self.text.len();
        self.reasoning.iter_mut().skip(blocks).for_each(|block| block.text_before = text_before);
        Ok(())
    }

    /// Marks every call as ended, for a model whose response cannot be truncated.
    pub fn end_calls(&mut self) {
        self.calls.iter_mut().for_each(|call| call.ended = true);
    }

    /// Removes the calls after the first one for which `test` holds, if there is one.
    pub(crate) fn truncate_calls(&mut self, test: impl Fn(&Call) -> bool) {
        if let Some(place) = self.calls.iter().position(test) {
            self.calls.truncate(place + 1);
            self.indices.truncate(place + 1);
        }
    }

    fn open(&mut self, index: u32) -> Option<&mut Call> {
        let place = self.indices.iter().rposition(|begun| *begun == index)?;
        self.calls.get_mut(place).filter(|call| !call.ended)
    }
}

impl Delta {
    /// Bytes that a delta adds to a response; a call counts 100 bytes more than its id and its name.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) | Self::ToolCallArguments { text, .. } => text.len(),
            Self::Reasoning { text, signature } => {
                text.len() + signature.as_ref().map_or(0, String::len)
            }
            Self::ToolCallStart { id, name, .. } => 100 + id.len() + name.len(),
            Self::ProviderTool(tool) => tool.raw.len(),
            Self::Members { members, .. } => members.len(),
            Self::ToolCallReady { .. }
            | Self::ToolCallEnd { .. }
            | Self::Usage(_)
            | Self::Finish { .. }
            | Self::Error(_)
            | Self::Other { .. } => 0,
        }
    }
}

fn too_large() -> StreamError {
    StreamError {
        class: ErrorClass::Malformed,
        message: format!("the response is larger than {} bytes", limits::RESPONSE_BYTES),
        raw: "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(deltas: &[Delta]) -> Response {
        let mut response = Response::default();
        for delta in deltas {
            response.take(delta).expect("small");
        }
        response
    }

    #[test]
    fn an_index_is_any_number_and_means_the_last_call_that_began_with_it() {
        let start = |index| Delta::ToolCallStart { index, id: String::new(), name: "t".into() };
        let text = |index, text: &str| Delta::ToolCallArguments { index, text: text.into() };
        let end = |index| Delta::ToolCallEnd { index };
        let read = response(&[
            start(4),
            start(9),
            text(9, "nine"),
            text(4, "four"),
            end(4),
            text(4, "!"),
            start(4),
            text(4, "again"),
            text(0, "nobody's"),
        ]);
        let seen: Vec<_> = read.calls.iter().map(|call| (&*call.arguments, call.ended)).collect();
        assert_eq!(seen, [("four", true), ("nine", false), ("again", false)]);
    }
}
