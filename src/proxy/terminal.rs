//! The event with which a streamed response ends.

use super::frame::frames;
use super::tree::{place_name, value};
use super::wire::Wire;
use crate::index::Index;
use crate::json::Json;
use crate::stream::{list, part, text};

/// Bytes of an ending that may stand in the piece before.
const LONGEST_ENDING: usize = 80;

/// Detects the terminal event in the frames that the client receives. Many clients close the
/// connection at this event (Codex does), which is not a cancellation.
///
/// Chat Completions ends with `[DONE]`, or with a finish reason for each of its choices: some clients
/// do not read further. Gemini ends with a finish reason for each of its candidates.
#[derive(Debug, Clone)]
pub(super) struct Terminal {
    wire: Wire,
    /// Choices that were requested of Chat Completions.
    choices: usize,
    finished: Index,
    /// Those that have finished.
    count: usize,
    pub(super) has_passed: bool,
    /// The last bytes of a stream that is passed unread, and the endings that it lacks.
    rest: Vec<u8>,
    missing: Option<usize>,
}

impl Terminal {
    pub(super) fn new(wire: Wire, choices: usize) -> Self {
        Self {
            wire,
            choices: choices.max(1),
            finished: Index::default(),
            count: 0,
            has_passed: false,
            rest: Vec::new(),
            missing: None,
        }
    }

    /// Reads whole frames that may have it.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        if self.has_passed {
            return;
        }
        for frame in frames(bytes) {
            if self.is_terminal(&frame.data) {
                self.has_passed = true;
                return;
            }
        }
    }

    /// Reads bytes of a stream whose frames are too long to be read; they may be cut anywhere.
    pub(super) fn read_piece(&mut self, bytes: &[u8]) {
        if self.has_passed {
            return;
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let lacks = if self.wire.has_types() { 1 } else { self.choices.saturating_sub(self.count) };
        let mut missing = self.missing.unwrap_or(lacks);
        let mut rest = all.as_slice();
        let mut at = 0;
        while let Some(here) = all.get(at..).filter(|_| missing > 0) {
            let (length, is_reason) = ending(here, self.wire);
            if length == 0 {
                if here.is_empty() {
                    break;
                }
                at += 1;
                continue;
            }
            missing = if is_reason { missing - 1 } else { 0 };
            at += length;
            rest = all.get(at..).unwrap_or_default();
        }
        self.missing = Some(missing);
        let is_blank = |two: &[u8]| matches!(two, b"\r\r" | b"\n\n");
        let ends = rest.windows(2).any(is_blank) || rest.windows(3).any(|three| three == b"\n\r\n");
        self.has_passed = missing == 0 && ends;
        self.rest =
            rest.get(rest.len().saturating_sub(LONGEST_ENDING)..).unwrap_or_default().to_vec();
    }

    fn is_terminal(&mut self, data: &str) -> bool {
        if self.wire == Wire::Chat && data.trim() == "[DONE]" {
            return true;
        }
        let Some(json) = value(data) else { return false };
        let kind = json.kind().unwrap_or_default();
        match self.wire {
            Wire::Messages => return matches!(kind, "message_stop" | "error"),
            Wire::Responses => {
                let end = kind.strip_prefix("response.").unwrap_or_default();
                let ends = ["completed", "incomplete", "failed", "cancelled", "done"];
                return kind == "error" || ends.contains(&end);
            }
            Wire::Chat | Wire::Gemini => {}
        }
        let fails = match part(&json, "error") {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.is_empty(),
            _ => true,
        };
        if fails {
            return true;
        }
        let (choices, reason) = match self.wire {
            Wire::Gemini => ("candidates", "finishReason"),
            _ => ("choices", "finish_reason"),
        };
        if !text(part(&json, "promptFeedback"), "blockReason").is_empty() {
            return true;
        }
        for choice in list(&json, choices) {
            if !text(choice, reason).is_empty() {
                let name = choice.get("index").map_or_else(|| "0".to_owned(), place_name);
                self.count = self.count.max(self.finished.number(&name) + 1);
            }
        }
        self.count >= self.choices
    }
}

/// The length of an ending at the beginning of bytes, or 0; and whether it is that of one choice. In a
/// text, quotes are escaped.
fn ending(bytes: &[u8], wire: Wire) -> (usize, bool) {
    let member = |name: &[u8]| {
        let rest = bytes.strip_prefix(name)?.trim_ascii_start().strip_prefix(b":")?;
        Some(rest.trim_ascii_start())
    };
    let until = |rest: &[u8]| bytes.len() - rest.len();
    if !wire.has_types() {
        if wire == Wire::Chat && bytes.starts_with(b"[DONE]") {
            return (6, false);
        }
        let reason: &[u8] =
            if wire == Wire::Chat { b"\"finish_reason\"" } else { b"\"finishReason\"" };
        if let Some([b'"', rest @ ..]) = member(reason) {
            return (until(rest), true);
        }
        return match member(b"\"error\"") {
            Some([b'{' | b'"', rest @ ..]) => (until(rest), false),
            _ => (0, false),
        };
    }
    let types: &[&[u8]] = match wire {
        Wire::Messages => &[b"\"message_stop\"", b"\"error\""],
        _ => &[
            b"\"response.completed\"",
            b"\"response.incomplete\"",
            b"\"response.failed\"",
            b"\"response.cancelled\"",
            b"\"response.done\"",
            b"\"error\"",
        ],
    };
    let Some(value) = member(b"\"type\"") else { return (0, false) };
    let found = types.iter().find_map(|kind| value.strip_prefix(*kind));
    (found.map_or(0, until), false)
}
