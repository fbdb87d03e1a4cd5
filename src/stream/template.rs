//! A shortcut for plain text events.
//!
//! Consecutive text events of one response differ only in their text. Once such an event is known,
//! the next one is compared with the bytes before and after that text. If both match, only the text
//! is unescaped and no JSON is parsed. A template is used only after it was tested with another
//! text, and until any other event is read, so it cannot change the meaning. Tests and a fuzz target
//! compare streams with and without it.

use super::delta::Delta;
use crate::json::{Reader, write_string};
use crate::text::{find, holds};

/// The number of templates learned in a row without being used, after which learning stops: some
/// providers pad each event with noise.
///
/// Limit | templates in a row that were not used | templates | no other is learned
const PATIENCE: u32 = 4;
/// What is read may be this many times the bytes since a template was last learned. A trial copies
/// the state of the wire, which is at most all that was read (the arguments of an open call, say), so
/// all trials together copy at most so many times the response.
///
/// Limit | what templates of events copy, for each byte that was read | times | events are read without one
const SHARE: usize = 8;
/// The text that a template is tested with.
const PROBE: &str = "a text that no provider sends";

/// The bytes around the text of a text event, quotes included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Template {
    prefix: String,
    suffix: String,
    unused: u32,
    /// The bytes of all events so far, and of those up to the last trial.
    read: usize,
    tried: usize,
}

impl Template {
    /// Returns the text of `data`, if `data` differs from the known event only in its text.
    pub(super) fn text(&mut self, data: &str) -> Option<String> {
        self.read = self.read.saturating_add(data.len());
        if self.prefix.is_empty() {
            return None;
        }
        let rest = data.strip_prefix(self.prefix.as_str())?;
        let body = rest.strip_suffix(self.suffix.as_str())?;
        let plain = body.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        let text = if plain {
            body.to_owned()
        } else {
            // The quotes are included, so that the JSON reader can unescape the text.
            let quoted = data.get(self.prefix.len() - 1..data.len() - self.suffix.len() + 1)?;
            let mut reader = Reader::lossy(quoted);
            let text = reader.string().ok()?;
            reader.end().ok()?;
            text.into_owned()
        };
        self.unused = 0;
        Some(text)
    }

    /// Learns from `data`, which was read in full and whose deltas were exactly `said`. `read` decodes another event in the
    /// same state and must not change that state.
    pub(super) fn learn(&mut self, data: &str, said: &[Delta], read: impl Fn(&str) -> Vec<Delta>) {
        // The known event was tested in a state that this event may have changed.
        self.prefix.clear();
        let [Delta::Text(text)] = said else { return };
        if self.unused >= PATIENCE || (self.read - self.tried).saturating_mul(SHARE) < self.read {
            return;
        }
        let mut written = String::new();
        write_string(text, &mut written);
        let Some(at) = find(data, &written) else { return };
        let (head, tail) = (data.get(..=at), data.get(at + written.len() - 1..));
        let (Some(head), Some(tail)) = (head, tail) else { return };
        if tail.get(1..).is_none_or(|behind| holds(behind, &written)) {
            return;
        }

        self.tried = self.read;
        let tried = read(&[head, PROBE, tail].concat());
        if matches!(&tried[..], [Delta::Text(text)] if text == PROBE) {
            head.clone_into(&mut self.prefix);
            tail.clone_into(&mut self.suffix);
            self.unused += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Dialect;
    use crate::stream::{Decoder, Delta};

    fn texts(events: &[&str]) -> Vec<Delta> {
        let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        let decode = |mut decoder: Decoder| {
            let mut deltas = Vec::new();
            decoder.feed(stream.as_bytes(), &mut deltas);
            deltas
        };
        let plain = decode(Decoder::new(Dialect::OpenAiChat).unwrap().without_template());
        let short = decode(Decoder::new(Dialect::OpenAiChat).unwrap());
        assert_eq!(short, plain);
        plain
    }

    fn said(content: &str) -> String {
        format!(r#"{{"id":"x","choices":[{{"index":0,"delta":{{"content":{content}}}}}]}}"#)
    }

    #[test]
    fn escapes_are_read() {
        let all = [r#""a""#, r#""b\n\"c\"""#, r#""\u00e9\ud83d\ude00""#, r#""\ud83d""#, r#""""#]
            .map(said);
        let deltas = texts(&all.each_ref().map(String::as_str));
        let want = ["a", "b\n\"c\"", "é😀", "\u{fffd}"].map(|text| Delta::Text(text.to_owned()));
        assert_eq!(deltas, want);
    }

    /// Text events that each need a template of their own, behind arguments that are kept.
    #[test]
    fn trials_copy_no_more_than_some_times_what_was_read() {
        let mut template = super::Template::default();
        let (mut read, copied) = (0, std::cell::Cell::new(0));
        let mut event = |data: &str, text: &str| {
            read += data.len();
            if template.text(data).is_none() {
                template.learn(data, &[Delta::Text(text.to_owned())], |_| {
                    copied.set(copied.get() + read);
                    vec![Delta::Text(super::PROBE.to_owned())]
                });
            }
        };
        event(&"{".repeat(1 << 20), "");
        for at in 0..5_000 {
            // The second is read by the template that the first one made.
            for text in ["a", "b"] {
                event(&format!(r#"{{"at":{at},"text":"{text}"}}"#), text);
            }
        }
        assert!(copied.get() < 10 * read, "{} bytes were copied for {read}", copied.get());
    }

    #[test]
    fn what_only_looks_alike_is_read_in_full() {
        // The text also occurs elsewhere, or is not the text at that place, or more data follows.
        let other = r#"{"id":"x","choices":[{"index":0,"delta":{"content":"a","b":"c"}}]}"#;
        let forged = said(r#""a"}}],"choices":[{"index":0,"delta":{"content":"b""#);
        let disguised = r#"{"note":"stop","choices":[{"delta":{"content":"\u0073top"}}]}"#;
        let changed = r#"{"note":"go","choices":[{"delta":{"content":"\u0073top"}}]}"#;
        let finish = r#"{"choices":[{"delta":{"content":"end"},"finish_reason":"stop"}]}"#;
        let events = [&said(r#""x""#), other, &forged, disguised, changed, finish, &said(r#""y""#)];
        assert_eq!(texts(&events).len(), 9);
    }
}
