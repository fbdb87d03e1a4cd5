//! Blocks of tools that the provider runs itself, and marks for its cache.

use super::super::code::Code;
use super::super::entries::{is_marked, unmarked};
use super::super::report::{Action, Finding};
use super::Work;
use crate::json::Json;
use crate::provider::Out;

impl<'a> Work<'_, 'a> {
    /// Whether a mark for the provider's cache is one too many here, which is told.
    pub(super) fn is_over(&mut self) -> bool {
        let (of_result, part) = self.place;
        let over = self.context.cached_from.is_some_and(|from| (self.at, of_result, part) < from);
        if over {
            let finding = Finding::new(Code::CacheMarksTooMany, Action::Dropped, self.index);
            let most = self.rules().cache_marks;
            self.findings
                .push(finding.more(format!("at most {most} are taken; the last ones stay")));
        }
        over
    }

    /// A block without a mark that is one too many.
    pub(super) fn cached(&mut self, out: Out<'a>) -> Out<'a> {
        match out {
            Out::Native(block) if is_marked(&block) && self.is_over() => {
                Out::Native(unmarked(&block))
            }
            out => out,
        }
    }

    /// Whether a part is a call of a tool that the provider runs, without a result, and something was said
    /// behind it: the result will not come.
    pub(super) fn is_abandoned(&self, part: usize) -> bool {
        let open = self.entry.awaits.binary_search(&(part, false)).is_ok();
        open && self.context.settled.is_some_and(|said| said > (self.at, part))
    }
}

/// Whether a part is a call of a tool that Anthropic runs itself, or its result.
pub(super) fn is_hosted(part: &Out<'_>) -> bool {
    let Out::Native(block) = part else { return false };
    let kind = block.kind().unwrap_or_default();
    kind.ends_with("_tool_use") || kind.ends_with("_tool_result")
}

/// Removes the member by which a call names the program that made it, if that is left out:
/// <https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling>.
pub(super) fn forget_caller(call: &mut Out<'_>, abandoned: &[&str]) {
    if let Out::Call { extra, .. } = call {
        extra.retain(|(key, caller)| {
            let id = caller.get("tool_id").and_then(Json::as_str);
            key != "caller" || !id.is_some_and(|id| abandoned.contains(&id))
        });
    }
}
