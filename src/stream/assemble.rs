//! Joins deltas into a response.

use super::delta::{Delta, ErrorClass, FinishReason, StreamError, Usage};
use crate::limits;

/// The response of a model, as far as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// All text.
    pub text: String,
    /// The blocks of reasoning; a signature ends a block.
    pub reasoning: Vec<Reasoning>,
    /// The calls, by index.
    pub calls: Vec<Call>,
    /// Why the model stopped, and the provider's name for the reason.
    pub finish: Option<(FinishReason, String)>,
    /// Token usage.
    pub usage: Option<Usage>,
    /// Bytes counted against the limit.
    held: usize,
}

/// One block of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The text.
    pub text: String,
    /// The provider's signature, without which the block cannot be sent back.
    pub signature: Option<String>,
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
    /// Whether the end of the call was received.
    pub ended: bool,
}

impl Response {
    /// Adds one delta.
    ///
    /// # Errors
    /// If the response exceeds `limits::RESPONSE_BYTES`.
    pub fn take(&mut self, delta: &Delta) -> Result<(), StreamError> {
        self.held += delta.size();
        if self.held > limits::RESPONSE_BYTES {
            return Err(too_large());
        }
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning { text, signature } => {
                if self.reasoning.last().is_none_or(|block| block.signature.is_some()) {
                    self.reasoning.push(Reasoning::default());
                }
                if let Some(block) = self.reasoning.last_mut() {
                    block.text.push_str(text);
                    block.signature.clone_from(signature);
                }
            }
            Delta::ToolCallStart { id, name, .. } => self.calls.push(Call {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
                ended: false,
            }),
            Delta::ToolCallArguments { index, text } => {
                if let Some(call) = self.open(*index) {
                    call.arguments.push_str(text);
                }
            }
            Delta::ToolCallEnd { index } => {
                if let Some(call) = self.open(*index) {
                    call.ended = true;
                }
            }
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(*usage),
            Delta::Finish { reason, raw } => self.finish = Some((*reason, raw.clone())),
            Delta::Error(_) | Delta::Other { .. } => {}
        }
        Ok(())
    }

    /// Marks every call as ended, for a model whose response cannot be truncated.
    pub fn end_calls(&mut self) {
        self.calls.iter_mut().for_each(|call| call.ended = true);
    }

    fn open(&mut self, index: u32) -> Option<&mut Call> {
        self.calls.get_mut(usize::try_from(index).ok()?).filter(|call| !call.ended)
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
            Self::ToolCallEnd { .. }
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
