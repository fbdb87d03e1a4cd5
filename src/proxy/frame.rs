//! Server-sent events as bytes, and the JSON in them.

use super::wire::Wire;
use crate::json::{Json, one_line};

/// A frame, with its bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) data: String,
    /// Lines of data: some clients read each by itself.
    pub(super) lines: usize,
    /// The names of the event, of which clients take the last.
    pub(super) events: Vec<String>,
    /// The other lines, without names of events.
    pub(super) others: String,
}

impl Frame {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut frame = Self { bytes: bytes.to_vec(), ..Self::default() };
        for line in lines(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
            let name = line.strip_prefix("event");
            if let Some(data) = line.strip_prefix("data:") {
                if frame.lines > 0 {
                    frame.data.push('\n');
                }
                frame.lines += 1;
                frame.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                continue;
            }
            let value = name.and_then(|rest| rest.strip_prefix(':'));
            let value = value.map(|value| value.strip_prefix(' ').unwrap_or(value));
            let is_plain = line.is_empty() || value.is_some_and(|value| value.bytes().all(is_name));
            if !is_plain {
                frame.others.push_str(line);
                frame.others.push('\n');
            }
            if let Some(value) = value.or_else(|| name.filter(|rest| rest.is_empty())) {
                frame.events.push(value.to_owned());
            }
        }
        frame
    }

    /// Whether clients that go by the name of the event read another one than those that go by its
    /// type.
    pub(super) fn is_misnamed(&self, kind: &Json<'_>, wire: Wire) -> bool {
        let kind = kind.as_str();
        let first = self.events.first().map_or("", String::as_str);
        let is_single = self.events.iter().all(|name| name == first);
        // `message` is the name of an event without one.
        if is_single && (first.is_empty() || first == "message" || Some(first) == kind) {
            return false;
        }
        let mut names = self.events.iter().map(String::as_str).chain(kind);
        names.any(|name| wire.is_event_name(name))
    }
}

/// A byte of a name of an event that is written. Another one could end its line, and begin another
/// frame.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
}

/// The lines of a text, which end with LF, CR or both.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, behind) = text.split_at_checked(end.unwrap_or(text.len()))?;
        rest = end.map(|_| {
            let tail = behind.strip_prefix("\r\n");
            tail.or_else(|| behind.get(1..)).unwrap_or_default()
        });
        Some(line)
    })
}

/// The frames of bytes that end with a blank line.
pub(super) fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let (mut start, mut line, mut at) = (0, 0, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if !matches!(byte, b'\n' | b'\r') {
            continue;
        }
        let is_blank = at == line + 1;
        at += usize::from(*byte == b'\r' && bytes.get(at) == Some(&b'\n'));
        line = at;
        if is_blank {
            frames.push(Frame::of(bytes.get(start..at).unwrap_or_default()));
            start = at;
        }
    }
    if start < bytes.len() {
        frames.push(Frame::of(bytes.get(start..).unwrap_or_default()));
    }
    frames
}

/// Whether every client reads a line alike: an empty one, a comment, or a field, be it known or not.
/// In another one, some client finds data, or JSON, all the same.
pub(super) fn is_plain_line(line: &[u8]) -> bool {
    let (name, has_colon) = match line.iter().position(|byte| *byte == b':') {
        Some(at) => (line.get(..at).unwrap_or_default(), true),
        None => (line, false),
    };
    if matches!(name, b"data" | b"event" | b"id" | b"retry") || (name.is_empty() && has_colon) {
        return true;
    }
    let is_unknown = has_colon
        && name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !name.eq_ignore_ascii_case(b"data")
        && !name.eq_ignore_ascii_case(b"event");
    is_unknown || line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Appends a frame, with its event line if `type` is a name and the API has such lines.
pub(super) fn write(json: &Json<'_>, wire: Wire, out: &mut Vec<u8>) {
    let kind = json.kind().filter(|kind| !kind.is_empty() && kind.bytes().all(is_name));
    if let Some(kind) = kind.filter(|_| wire.has_types()) {
        out.extend_from_slice(format!("event: {kind}\n").as_bytes());
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(one_line(json.to_text()).as_bytes());
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_end_at_blank_lines_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["event: a", "data: 1", "data:2", "", ": x", "", "data", "event", ""];
            let bytes = text.join(end) + end;
            let all = frames(bytes.as_bytes());
            assert_eq!(all.iter().map(|frame| &*frame.data).collect::<Vec<_>>(), ["1\n2", "", ""]);
            assert_eq!(all.iter().map(|frame| frame.lines).collect::<Vec<_>>(), [2, 0, 0]);
            assert_eq!(all[0].events, ["a"]);
            assert_eq!(all[1].others, ": x\n");
            assert_eq!(
                (&*all[2].others, &all[2].events[..]),
                ("data\nevent\n", &[String::new()][..])
            );
            let joined: Vec<u8> = all.into_iter().flat_map(|frame| frame.bytes).collect();
            assert_eq!(joined, bytes.as_bytes());
        }
    }
}
