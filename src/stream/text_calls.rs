//! Tool calls that a model writes into its text, in the markup that it was trained on, because the
//! server of the model does not parse it.

mod formats;
mod markdown;

use super::delta::{Delta, FinishReason};
use crate::json::Json;
use crate::json::table::names;
use formats::{FORMATS, Found, WRAPPERS, read};
use markdown::Place;

names! {
    /// What becomes of tool calls that a model writes into its text.
    pub enum TextToolCalls as "TextToolCalls", "report or run" {
        /// They stay text. The finish reason of the response is `text_tool_call`, and a trace event
        /// names the tools.
        Report "report",
        /// Calls of declared tools are taken out of the text and are judged as other calls. A call of
        /// a tool that is not read-only needs an approval.
        Run "run",
    }
}

/// With what the id of a call begins that was found in a text.
pub(crate) const TEXT_CALL: &str = "text_call_";

/// A call that was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextCall {
    pub(crate) name: String,
    pub(crate) arguments: Json<'static>,
}

/// How many marks of a text may belong to no call: each is read up to the end of the text.
const STRAY_MARKS: usize = 16;

/// Finds the calls in the text of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextCalls {
    /// Whether calls are taken out of the text. Then text is held back from the first mark on.
    runs: bool,
    /// A call that is not text has begun.
    has_calls: bool,
    /// The text that was passed on.
    shown: String,
    /// Text from a mark on, or what may be the beginning of one.
    held: String,
}

impl TextCalls {
    pub(crate) fn new(runs: bool) -> Self {
        Self { runs, has_calls: false, shown: String::new(), held: String::new() }
    }

    /// Returns the deltas of a part of a response: without text that may be of a call, and at its
    /// finish with the calls of its text, or with the reason `text_tool_call`.
    pub(crate) fn read(
        &mut self,
        deltas: Vec<Delta>,
        is_tool: &dyn Fn(&str) -> bool,
    ) -> Vec<Delta> {
        let mut out = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                Delta::Text(text) if self.runs && !self.has_calls => self.hold(&text, &mut out),
                Delta::Text(text) => {
                    self.shown.push_str(&text);
                    out.push(Delta::Text(text));
                }
                Delta::ToolCallStart { .. } => {
                    self.has_calls = true;
                    push_text(std::mem::take(&mut self.held), &mut out);
                    out.push(delta);
                }
                Delta::Finish { reason, raw } => {
                    let reason = self.finish(reason, is_tool, &mut out);
                    out.push(Delta::Finish { reason, raw });
                }
                _ => out.push(delta),
            }
        }
        out
    }

    fn hold(&mut self, text: &str, out: &mut Vec<Delta>) {
        self.held.push_str(text);
        let rest = self.held.split_off(self.first_mark());
        let text = std::mem::replace(&mut self.held, rest);
        self.shown.push_str(&text);
        push_text(text, out);
    }

    /// Returns where the first mark begins in what is held, or what may be the beginning of one.
    fn first_mark(&self) -> usize {
        let may_begin = |at: usize| {
            let rest = self.held.get(at..).unwrap_or_default();
            marks().any(|mark| rest.starts_with(mark) || mark.starts_with(rest))
        };
        let mut starts = self.held.char_indices().filter(|(_, c)| *c == '<').map(|(at, _)| at);
        starts.find(|at| may_begin(*at)).unwrap_or(self.held.len())
    }

    /// Emits what is held, as text and calls. Returns the reason of the finish.
    fn finish(
        &mut self,
        reason: FinishReason,
        is_tool: &dyn Fn(&str) -> bool,
        out: &mut Vec<Delta>,
    ) -> FinishReason {
        let held = std::mem::take(&mut self.held);
        // A response whose end is not known to be its normal one has no calls.
        let is_normal = matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        if self.has_calls || !is_normal {
            push_text(held, out);
            return reason;
        }
        if !self.runs {
            let has_calls = !calls_in(&self.shown, is_tool).is_empty();
            return if has_calls { FinishReason::TextToolCall } else { reason };
        }
        let (text, calls) = split(&self.shown, &held, is_tool);
        if calls.is_empty() {
            push_text(held, out);
            return reason;
        }
        push_text(text, out);
        for (index, TextCall { name, arguments }) in (0..).zip(calls) {
            out.push(Delta::ToolCallStart { index, id: format!("{TEXT_CALL}{index}"), name });
            out.push(Delta::ToolCallArguments { index, text: arguments.to_text() });
            out.push(Delta::ToolCallEnd { index });
        }
        FinishReason::ToolCalls
    }
}

fn push_text(text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text));
    }
}

/// Returns the calls in a whole text.
pub(crate) fn calls_in(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Vec<TextCall> {
    if text.as_bytes().contains(&b'<') { split("", text, is_tool).1 } else { Vec::new() }
}

/// Separates a text that follows `before` into its text and its calls. Markup in code and quotations
/// is text, and so is a call of another name.
fn split(before: &str, text: &str, is_tool: &dyn Fn(&str) -> bool) -> (String, Vec<TextCall>) {
    let mut place = Place::default();
    before.chars().for_each(|c| place.read(c));
    let (mut said, mut calls) = (String::new(), Vec::new());
    let (mut rest, mut stray) = (text, 0);
    while let Some(first) = rest.chars().next() {
        if first == '<' && stray < STRAY_MARKS && is_mark(rest) && !place.quotes_mark() {
            if let Some(found) = read(rest).filter(|found| is_tool(found.name)) {
                let Found { name, arguments, rest: behind } = found;
                calls.push(TextCall { name: name.to_owned(), arguments });
                rest = behind;
                continue;
            }
            if let Some(behind) = WRAPPERS.iter().find_map(|mark| rest.strip_prefix(mark)) {
                rest = behind;
                continue;
            }
            stray += 1;
        }
        place.read(first);
        said.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    (said.trim_end().to_owned(), calls)
}

fn marks() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.begin).chain(WRAPPERS.iter().copied())
}

fn is_mark(text: &str) -> bool {
    marks().any(|mark| text.starts_with(mark))
}

#[cfg(test)]
mod tests;
