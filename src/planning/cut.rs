//! Cuts what trace events and results have of a model's texts.

use super::parse::shorten;
use super::rejected::RequestRejection;
use super::result::PassResult;
use super::trace::{PassEvent, PassEventKind};
use crate::json::Json;

/// The maximum number of bytes of arguments in an event, as JSON text.
///
/// Limit | arguments in an event of a pass | bytes of JSON | cut
const PARAMS_BYTES: usize = 2048;
/// The maximum number of bytes of a name, which is enough to recognize it.
///
/// Limit | a name in an event of a pass | bytes | cut
pub(super) const NAME_BYTES: usize = 64;
/// The maximum number of bytes of a summary, which is more than one with cut names has.
///
/// Limit | a summary in an event of a pass | bytes | cut
const SUMMARY_BYTES: usize = 512;

impl PassEvent {
    /// Cuts the texts of an event of a pass whose options say `whole`, after the host has redacted
    /// them: reasons to `reason` UTF-16 units, arguments and names as without `whole`.
    pub fn cut(&mut self, reason: u64) {
        match &mut self.kind {
            PassEventKind::ToolRequest { tool_calls, rejected, notes, .. } => {
                for call in tool_calls {
                    end(&mut call.tool_name, NAME_BYTES);
                    call.reason = shorten(&call.reason, reason);
                    call.params = params(&call.params);
                }
                names(rejected);
                names(notes);
            }
            PassEventKind::ToolResult { result_summary, .. } => end(result_summary, SUMMARY_BYTES),
            PassEventKind::LlmCall { .. } => {}
        }
    }
}

impl PassResult {
    /// Cuts the texts of a result, as [`PassEvent::cut`].
    pub fn cut(&mut self, reason: u64) {
        for call in &mut self.calls {
            call.reason = shorten(&call.reason, reason);
        }
        names(&mut self.rejected);
        names(&mut self.notes);
    }
}

fn names(all: &mut [RequestRejection]) {
    for one in all {
        for text in [&mut one.tool_name, &mut one.detail].into_iter().flatten() {
            end(text, NAME_BYTES);
        }
    }
}

/// Long arguments become a text.
pub(super) fn params(params: &Json<'static>) -> Json<'static> {
    let text = params.to_text();
    if text.len() <= PARAMS_BYTES {
        return params.clone();
    }
    format!("{}… [cut: {} bytes]", clip(&text, PARAMS_BYTES), text.len()).into()
}

fn end(text: &mut String, bytes: usize) {
    text.truncate(clip(text, bytes).len());
}

/// The beginning of a text, of at most so many bytes.
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_a_text_where_they_are_long() {
        // `{"a":"…"}` is eight bytes around the text.
        let args = |size: usize| Json::object([("a", "x".repeat(size - 8).into())]);
        assert_eq!(params(&args(PARAMS_BYTES)), args(PARAMS_BYTES));
        let cut = params(&args(PARAMS_BYTES + 1)).as_str().map(str::to_owned).unwrap();
        assert!(cut.ends_with("x\"… [cut: 2049 bytes]"), "{cut}");
        assert_eq!(cut.find('…'), Some(PARAMS_BYTES));
    }

    #[test]
    fn names_are_cut_at_characters() {
        let long = format!("{}é", "n".repeat(NAME_BYTES - 1));
        let mut all = [super::super::rejected::RequestRejection {
            index: None,
            tool_name: Some(long.clone()),
            reason: super::super::rejected::Reason::Syntax,
            detail: Some("short".to_owned()),
            message: None,
        }];
        names(&mut all);
        assert_eq!(all[0].tool_name.as_deref(), long.get(..NAME_BYTES - 1));
        assert_eq!(all[0].detail.as_deref(), Some("short"));
    }
}
