//! Deltas joined into a response.

use super::delta::{Delta, ErrorClass, FinishReason, StreamError, Usage};
use crate::limits;

/// What a model has said so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// All text.
    pub text: String,
    /// All reasoning.
    pub reasoning: String,
    /// The calls, by index.
    pub calls: Vec<Call>,
    /// Why it stopped, and the provider's word for it.
    pub finish: Option<(FinishReason, String)>,
    /// Tokens.
    pub usage: Option<Usage>,
}

/// One call of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The provider's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text, as far as it came.
    pub arguments: String,
    /// Whether its end was seen.
    pub ended: bool,
}

impl Response {
    /// Takes one delta.
    ///
    /// # Errors
    /// When the response grows over `limits::RESPONSE_BYTES`.
    pub fn take(&mut self, delta: &Delta) -> Result<(), StreamError> {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning { text, .. } => self.reasoning.push_str(text),
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
        let arguments = |call: &Call| call.arguments.len();
        let held = self.text.len() + self.reasoning.len() + self.calls.last().map_or(0, arguments);
        if held <= limits::RESPONSE_BYTES { Ok(()) } else { Err(too_large()) }
    }

    /// Takes every call as ended: for a model that cannot break off.
    pub fn end_calls(&mut self) {
        self.calls.iter_mut().for_each(|call| call.ended = true);
    }

    fn open(&mut self, index: u32) -> Option<&mut Call> {
        self.calls.get_mut(usize::try_from(index).ok()?).filter(|call| !call.ended)
    }
}

fn too_large() -> StreamError {
    StreamError {
        class: ErrorClass::Malformed,
        message: format!("the response is larger than {} bytes", limits::RESPONSE_BYTES),
        raw: "null".to_owned(),
    }
}
