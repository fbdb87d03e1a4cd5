//! What is taken out of the trace events of a pass.

use std::borrow::Cow;
use std::sync::Arc;

use crate::guard::guarded;
use crate::platform::Dyn;
use turnlock::guard::Refusal;
use turnlock::json::Json;
use turnlock::planning::{PassEvent, PassEventKind};

/// Takes out of a text what must not be kept.
pub(super) type Redact = Arc<Dyn![Fn(&str) -> String]>;

/// Redacts every text of a model or of a tool: `params`, `reason`, `detail`, `result_summary`, and
/// names of tools that the host does not have. If `redact` panics, the text is dropped.
pub(super) fn redact(event: &mut PassEvent, redact: &Redact) {
    match &mut event.kind {
        PassEventKind::ToolRequest { tool_calls, rejected, notes, .. } => {
            for call in tool_calls {
                if call.refusal == Some(Refusal::UnknownTool.into()) {
                    text(&mut call.tool_name, redact);
                }
                value(&mut call.params, redact);
                text(&mut call.reason, redact);
            }
            let all = rejected.iter_mut().chain(notes);
            for one in all {
                for own in [&mut one.tool_name, &mut one.detail].into_iter().flatten() {
                    text(own, redact);
                }
            }
        }
        PassEventKind::ToolResult { result_summary, .. } => text(result_summary, redact),
        // `llm_call` has no such text.
        _ => {}
    }
}

fn text(text: &mut String, redact: &Redact) {
    *text = redacted(text, redact);
}

fn redacted(text: &str, redact: &Redact) -> String {
    guarded(|| redact(text)).unwrap_or_else(|_| "[redaction failed]".to_owned())
}

/// Names of members are texts as well.
fn value(json: &mut Json<'static>, redact: &Redact) {
    let new = |text: &str| Cow::from(redacted(text, redact));
    match json {
        Json::String(text) => *text = new(text),
        Json::Array(items) => items.iter_mut().for_each(|item| value(item, redact)),
        Json::Object(members) => {
            for (key, own) in members {
                *key = new(key);
                value(own, redact);
            }
        }
        _ => {}
    }
}
