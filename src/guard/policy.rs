//! The options of a guard that judges without a turn.

use super::{Dedupe, GuardState, Repeat, SameResult};
use crate::json::Json;
use crate::json::table::{names, options};

names! {
    /// What follows when a tool has returned untrusted text, for tools that may have side effects.
    pub enum AfterUntrusted as "AfterUntrusted", "allow, ask or deny" {
        /// Nothing.
        Allow "allow",
        /// The user must approve each call.
        Ask "ask",
        /// No call runs.
        Deny "deny",
    }
}

names! {
    /// For how long calls count.
    pub enum Window as "GuardWindow", "turn, user_turn or session" {
        /// Until the next turn.
        Turn "turn",
        /// Until the next message of the user.
        UserTurn "user_turn",
        /// As long as the state is kept.
        Session "session",
    }
}

names! {
    /// By what a call counts as a repeat.
    pub enum RepeatBy as "RepeatBy", "tool or result" {
        /// By the flags of its tool.
        Tool "tool",
        /// By the results of the earlier calls with its signature, whatever its tool is.
        Result "result",
    }
}

/// Equal results in a row after which a call is a repeat, where results decide.
///
/// Limit | calls with the same result in a row, where results decide | calls | blocked (`duplicate`)
const MAX_REPEATS: u32 = 2;

/// What begins lines that differ in each result of the same command: those of Codex.
const VOLATILE: &[&str] = &["Chunk ID:", "Wall time:"];

/// The largest number that an option of a guard may be. Not a limit.
const MOST: u64 = 1_000_000;

options! {
    /// What a guard needs to know of a tool; a `Tool` of `defineTool` has it.
    pub struct GuardTool as "GuardedTool" {
        /// Whether the tool has no side effects.
        read_only "readOnly": Option<bool>;
        /// How to treat repeated calls. Default: `block`; for read-only tools, `replay`.
        dedupe "dedupe": Option<Dedupe>;
        /// Maximum calls of the tool that are executed in a window.
        max_calls "maxCalls": Option<u32>, whole 1..=MOST;
        /// As `maxRepeats` of the policy, for this tool.
        max_repeats "maxRepeats": Option<u32>, whole 1..=MOST;
        /// As `maxSameCall` of the policy, for this tool.
        max_same_call "maxSameCall": Option<u32>, whole 1..=MOST;
        /// Whether the user must approve each call.
        needs_approval "needsApproval": Option<bool>;
        /// Whether its results have text of other people, which may hold instructions.
        untrusted "untrusted": Option<bool>;
        /// JSON Schema of the arguments, which `createCallGuard` fits them to. Default: none.
        input_schema "inputSchema": Option<Json<'static>>;
    }
}

options! {
    /// The options of a guard.
    pub struct GuardOptions as "GuardOptions" {
        /// The names of the tools that may be called. Default: all.
        allow "allow": Option<Vec<String>>;
        /// The tools that exist; a call to another one is blocked as `unknown_tool`. Default: every
        /// tool exists, and may have side effects.
        tools "tools": Option<Vec<(String, GuardTool)>>;
        /// Replaces flags and limits of tools by name, whether `tools` has them or not.
        per_tool "perTool": Vec<(String, GuardTool)>;
        /// Maximum calls that are executed in a window. Default: no limit.
        max_calls "maxCalls": Option<u32>, whole 0..=MOST;
        /// Calls in a row with the same signature and the same result after which another one is a
        /// repeat. By the flags of tools, it concerns read-only tools without a `dedupe` (default: 2),
        /// whose repeats are replayed, and those with `dedupe: "allow"` (default: no limit). By
        /// results, it concerns every tool (default: 2).
        max_repeats "maxRepeats": Option<u32>, whole 1..=MOST;
        /// Executed calls with the same signature in a window after which another one is blocked,
        /// whatever their results. Default: no limit.
        max_same_call "maxSameCall": Option<u32>, whole 1..=MOST;
        /// For how long calls count.
        window "window": Window = Window::UserTurn;
        /// Literal beginnings of lines that are left out when results are compared, beside
        /// `Chunk ID:` and `Wall time:`.
        volatile_prefixes "volatilePrefixes": Vec<String>;
        /// What follows when a tool with `untrusted` has returned, for tools that are not read-only.
        after_untrusted "afterUntrusted": AfterUntrusted = AfterUntrusted::Allow;
        /// By what a call counts as a repeat.
        repeat_by "repeatBy": RepeatBy = RepeatBy::Tool;
        /// The state of an earlier guard.
        state "state": GuardState = GuardState::blank();
    }
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self::blank()
    }
}

impl GuardOptions {
    /// Returns the schema of a tool's arguments.
    pub(super) fn schema(&self, name: &str) -> Option<&Json<'static>> {
        let tools = self.per_tool.iter().chain(self.tools.iter().flatten());
        tools.filter(|(other, _)| other == name).find_map(|(_, tool)| tool.input_schema.as_ref())
    }

    /// Returns what is known of a tool; `None` if it does not exist.
    pub(super) fn tool(&self, name: &str) -> Option<GuardTool> {
        let find = |tools: &[(String, GuardTool)]| {
            tools.iter().find(|(other, _)| other == name).map(|(_, tool)| tool.clone())
        };
        let tool = match &self.tools {
            Some(tools) => find(tools)?,
            None => GuardTool::blank(),
        };
        let Some(over) = find(&self.per_tool) else { return Some(tool) };
        Some(GuardTool {
            read_only: over.read_only.or(tool.read_only),
            dedupe: over.dedupe.or(tool.dedupe),
            max_calls: over.max_calls.or(tool.max_calls),
            max_repeats: over.max_repeats.or(tool.max_repeats),
            max_same_call: over.max_same_call.or(tool.max_same_call),
            needs_approval: over.needs_approval.or(tool.needs_approval),
            untrusted: over.untrusted.or(tool.untrusted),
            input_schema: over.input_schema.or(tool.input_schema),
        })
    }

    /// Returns what counts as a repeat of a call of `tool`.
    pub(super) fn repeats(&self, tool: &GuardTool) -> Vec<Repeat> {
        let read_only = tool.read_only == Some(true);
        let most = tool.max_repeats.or(self.max_repeats);
        let same =
            |most, same_result, replays| Repeat { most, same_result: Some(same_result), replays };
        let repeat = match (self.repeat_by, tool.dedupe, most) {
            (RepeatBy::Result, ..) => {
                Some(same(most.unwrap_or(MAX_REPEATS), SameResult::Known, false))
            }
            (RepeatBy::Tool, Some(Dedupe::Allow), Some(most)) => {
                Some(same(most, SameResult::KnownOrRunning, read_only))
            }
            (RepeatBy::Tool, None, most) if read_only => {
                Some(same(most.unwrap_or(MAX_REPEATS), SameResult::KnownOrRunning, true))
            }
            (RepeatBy::Tool, dedupe, _) => {
                dedupe.unwrap_or_else(|| Dedupe::usual(read_only)).repeat()
            }
        };
        let most = tool.max_same_call.or(self.max_same_call);
        let count = most.map(|most| Repeat { most, same_result: None, replays: false });
        repeat.into_iter().chain(count).collect()
    }

    /// Whether a line of a result is compared.
    pub(super) fn compares(&self, line: &str) -> bool {
        let line = line.trim_start();
        let prefixes = self.volatile_prefixes.iter().filter(|prefix| !prefix.is_empty());
        let mut all = VOLATILE.iter().copied().chain(prefixes.map(String::as_str));
        !all.any(|prefix| line.starts_with(prefix))
    }
}
