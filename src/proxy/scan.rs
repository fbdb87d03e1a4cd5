//! Searches the bytes of frames for words, so that few frames are parsed.

use super::frame::is_plain_line;
use super::wire::Wire;

/// What bytes may have. `matters` and `ends` are right if they are missing, and may be wrong if they
/// are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Something of a call, of another API, or usage; or letters that are spelled as escapes.
    pub(super) matters: bool,
    /// The event with which the response ends.
    pub(super) ends: bool,
    /// A line that is not empty, a comment or a field: some client finds data in it all the same.
    pub(super) is_odd: bool,
    /// A byte that is not ASCII.
    pub(super) is_wide: bool,
}

/// How words begin that matter in each API; then letters that stand for one of ASCII in another case.
const WORDS: [&[u8]; 10] = [
    b"tool",
    b"func",
    b"cont",
    b"cand",
    b"\\u",
    b"\xc4\xb0",
    b"\xc4\xb1",
    b"\xc5\xbf",
    b"\xe2\x84\xaa",
    // Ligatures, such as that of `st`.
    b"\xef\xac",
];

fn words(wire: Wire) -> &'static [&'static [u8]] {
    match wire {
        Wire::Chat => &[b"usag", b"[don", b"\"fin", b"\"err"],
        Wire::Gemini => &[b"usag", b"choi", b"\"fin", b"\"err", b"bloc"],
        Wire::Messages => &[b"usag", b"part", b"choi", b"mess", b"\"err"],
        Wire::Responses => &[b"choi", b"cust", b"outp", b"resp", b"_cal", b"mcp_", b"\"err"],
    }
}

/// Finds the beginnings of all words at once (Baeza-Yates and Gonnet): a bit a letter, which is set
/// while the bytes so far are those of its word. Most bytes cost one look into a table.
#[derive(Clone)]
pub(super) struct Scanner {
    wire: Wire,
    /// The letters that a byte is, in either case.
    letters: Box<[u64; 256]>,
    /// First letters, and last ones.
    first: u64,
    last: u64,
    /// How long the word is of which a bit is the last letter.
    lengths: [u8; 64],
}

/// The end of a line, or a byte that no line may have.
const LINE_END: u64 = 1;

impl Scanner {
    pub(super) fn new(wire: Wire) -> Self {
        let mut scanner = Self {
            wire,
            letters: Box::new([0; 256]),
            first: LINE_END,
            last: LINE_END,
            lengths: [0; 64],
        };
        for byte in [b'\n', b'\r', 0] {
            scanner.letter(byte, LINE_END);
        }
        let mut bit = LINE_END;
        for word in WORDS.iter().chain(words(wire)) {
            scanner.first |= bit << 1;
            for byte in *word {
                bit <<= 1;
                scanner.letter(byte.to_ascii_lowercase(), bit);
                scanner.letter(byte.to_ascii_uppercase(), bit);
            }
            scanner.last |= bit;
            let length = scanner.lengths.get_mut(bit.trailing_zeros() as usize);
            if let (Some(length), Ok(of_word)) = (length, u8::try_from(word.len())) {
                *length = of_word;
            }
        }
        scanner
    }

    fn letter(&mut self, byte: u8, bit: u64) {
        if let Some(letters) = self.letters.get_mut(usize::from(byte)) {
            *letters |= bit;
        }
    }

    /// Searches bytes of whole frames. Words are found in any case.
    pub(super) fn scan(&self, text: &[u8]) -> Found {
        let mut found = Found { is_odd: is_odd_line(text), ..Found::default() };
        let (letters, first, last) = (&*self.letters, self.first, self.last);
        let (mut state, mut high) = (0_u64, 0_u8);
        for (at, byte) in text.iter().enumerate() {
            // Of a bit that was the last of its word, the next one is the first of another.
            high |= byte;
            state = (state << 1 | first) & letters.get(usize::from(*byte)).copied().unwrap_or(0);
            if state & last != 0 {
                self.take(text, at, state & last, &mut found);
            }
        }
        found.is_wide = !high.is_ascii();
        found
    }

    /// Looks at the words that may begin before a byte.
    #[inline(never)]
    fn take(&self, text: &[u8], at: usize, ended: u64, found: &mut Found) {
        if ended & LINE_END != 0 {
            let rest = text.get(at + 1..).unwrap_or_default();
            found.is_odd |= text.get(at) == Some(&0) || is_odd_line(rest);
        }
        let mut ended = ended & !LINE_END;
        while ended != 0 {
            let length = self.lengths.get(ended.trailing_zeros() as usize).copied().unwrap_or(1);
            ended &= ended - 1;
            let start = (at + 1).saturating_sub(usize::from(length));
            if let Some([first, tail @ ..]) = text.get(start..) {
                found.matters |= is_word(*first, tail, self.wire);
                found.ends |= is_end(*first, tail, self.wire);
            }
        }
    }
}

/// Whether some client reads the line at the beginning of a text otherwise than others.
fn is_odd_line(text: &[u8]) -> bool {
    // Nearly all lines.
    if text.starts_with(b"data:") || matches!(text, [] | [b'\n' | b'\r', ..]) {
        return false;
    }
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r' | 0));
    !is_plain_line(text.get(..end.unwrap_or(text.len())).unwrap_or_default())
}

/// Whether a word that matters begins here.
fn is_word(first: u8, tail: &[u8], wire: Wire) -> bool {
    match first.to_ascii_lowercase() {
        b't' => follows(tail, b"ool").is_some_and(|rest| is_tool(rest, wire)),
        b'f' => follows(tail, b"unction").is_some_and(|rest| is_function(rest, wire)),
        b'c' => is_of_c(tail, wire),
        b'u' if wire == Wire::Gemini => follows(tail, b"sageMetadata\"").is_some(),
        b'u' => follows(tail, b"sage\"").is_some_and(|rest| is_usage(rest, wire)),
        b'p' => follows(tail, b"artial_json").is_some(),
        b'o' => follows(tail, b"utput_item.").is_some(),
        b'r' => is_response(tail),
        b'm' => follows(tail, b"cp_approval_request").is_some(),
        b'_' => is_call(tail),
        b'\\' => is_escape(tail),
        first => !first.is_ascii(),
    }
}

/// What follows a word, in small letters.
fn follows<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

/// What follows one of the separators, or none.
fn separated<'a>(text: &'a [u8], separators: &[u8]) -> (Option<u8>, &'a [u8]) {
    match text {
        [first, rest @ ..] if separators.contains(first) => (Some(*first), rest),
        _ => (None, text),
    }
}

/// Behind `tool`.
fn is_tool(text: &[u8], wire: Wire) -> bool {
    let (separator, rest) = separated(text, b"_.-");
    if let Some(behind) = follows(rest, b"calls") {
        return match wire {
            Wire::Chat => separator != Some(b'_') || is_said(behind),
            // What is a call there begins with `_call`, and not with `_calls`.
            Wire::Messages | Wire::Responses | Wire::Gemini => true,
        };
    }
    let has = |word| follows(rest, word).is_some();
    has(b"use") || has(b"call") || has(b"input")
}

/// Behind `function`.
fn is_function(text: &[u8], wire: Wire) -> bool {
    let (separator, rest) = separated(text, b"_.-");
    match follows(rest, b"call") {
        Some(behind) if wire == Wire::Chat && separator == Some(b'_') => is_said(behind),
        Some(_) if wire == Wire::Responses => separator != Some(b'_'),
        behind => behind.is_some(),
    }
}

/// Whether the value of a member is not `null` or empty, as some providers write it in each frame.
fn is_said(behind: &[u8]) -> bool {
    let blank = |text: &mut &[u8]| {
        while let [b' ' | b'\t', tail @ ..] = *text {
            *text = tail;
        }
    };
    let mut rest = behind;
    if let [b'"' | b'\'', tail @ ..] = rest {
        rest = tail;
    }
    blank(&mut rest);
    let [b':', tail @ ..] = rest else { return true };
    rest = tail;
    blank(&mut rest);
    rest = match rest {
        [b'n' | b'N', b'u' | b'U', b'l' | b'L', b'l' | b'L', tail @ ..] => tail,
        [open @ (b'[' | b'{'), tail @ ..] => {
            rest = tail;
            blank(&mut rest);
            match (open, rest) {
                (b'[', [b']', tail @ ..]) | (b'{', [b'}', tail @ ..]) => tail,
                _ => return true,
            }
        }
        _ => return true,
    };
    blank(&mut rest);
    !matches!(rest, [b',' | b'}', ..])
}

/// Behind `c`.
fn is_of_c(text: &[u8], wire: Wire) -> bool {
    if let Some(rest) = follows(text, b"ontent") {
        let (separator, rest) = separated(rest, b"_-");
        return follows(rest, b"block").is_some_and(|behind| match wire {
            // Where blocks begin is counted, in case that one is left out.
            Wire::Messages => separator != Some(b'_') || follows(behind, b"_start").is_some(),
            Wire::Chat | Wire::Responses | Wire::Gemini => true,
        });
    }
    follows(text, b"andidates").is_some_and(|_| wire != Wire::Gemini)
        || wire != Wire::Chat && follows(text, b"hoices").is_some()
        || wire == Wire::Responses && follows(text, b"ustom_tool").is_some()
}

/// Behind `usage"`.
fn is_usage(text: &[u8], wire: Wire) -> bool {
    match wire {
        Wire::Chat => matches!(text, [b':', b'{', ..] | [b':', b' ', b'{', ..]),
        Wire::Messages => true,
        Wire::Responses | Wire::Gemini => false,
    }
}

/// Behind `_`, whether a type of a call ends, and not a member of several.
fn is_call(text: &[u8]) -> bool {
    follows(text, b"call").is_some_and(|behind| !matches!(behind, [b's' | b'S', ..]))
}

/// Behind `r`, whether an event has the whole response.
fn is_response(text: &[u8]) -> bool {
    follows(text, b"esponse")
        .is_some_and(|rest| matches!(rest, [b'"', ..] | [b'.', b'c' | b'C', ..]))
}

/// Whether a letter of ASCII, or one that stands for such a letter in another case, is spelled as an
/// escape: only a parser knows the names then.
fn is_escape(text: &[u8]) -> bool {
    let [b'u' | b'U', a, b, c, d, ..] = text else { return false };
    matches!(
        [*a, *b, *c, *d].map(|byte| byte.to_ascii_lowercase()),
        [b'0', b'0', b'2'..=b'7', _]
            | [b'0', b'1', b'3', b'0' | b'1']
            | [b'0', b'1', b'7', b'f']
            | [b'f', b'b', b'0', _]
            | [b'2', b'1', b'2', b'a']
    )
}

/// Whether the event with which a response ends may begin here.
fn is_end(first: u8, tail: &[u8], wire: Wire) -> bool {
    match (first, wire) {
        (b'[', Wire::Chat) => tail.starts_with(b"DONE]"),
        (b'"', Wire::Chat) => {
            let reason = tail.strip_prefix(b"finish_reason\"");
            let value = |rest: &[u8], opens: &[u8]| {
                let rest = rest.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
                rest.and_then(<[u8]>::first).is_some_and(|byte| opens.contains(byte))
            };
            reason.is_some_and(|rest| value(rest, b"\""))
                || tail.strip_prefix(b"error\"").is_some_and(|rest| value(rest, b"{\""))
        }
        (b'"', Wire::Gemini) => {
            [b"finishReason\"".as_slice(), b"error\""].iter().any(|name| tail.starts_with(name))
        }
        (b'b', Wire::Gemini) => tail.starts_with(b"lockReason\""),
        (b'"', _) => tail.starts_with(b"error\""),
        (b'm', Wire::Messages) => tail.starts_with(b"essage_stop"),
        (b'r', Wire::Responses) => tail.strip_prefix(b"esponse.").is_some_and(|rest| {
            let ends: [&[u8]; 5] = [b"completed", b"incomplete", b"failed", b"cancelled", b"done"];
            ends.iter().any(|word| rest.starts_with(word))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_matter_are_found_in_any_case_and_spelling() {
        let matters = |text: &str, wire| Scanner::new(wire).scan(text.as_bytes()).matters;
        for text in [
            r#"{"tool_calls":[{"#,
            r#"{"tool_calls":"[]"}"#,
            r#"{"TOOL_CALLS": {"a"#,
            r#"{"toolCalls":[]}"#,
            r#"{"function_call":{"name"#,
            r#"{"t\u006fol":1}"#,
            "{\"too\u{17f}\":1}",
            "cu\u{fb05}om_tool",
            "cu\\uFB06om_tool",
            "\u{212a}",
            r#"{"usage":{"a":1}}"#,
            r#"{"type":"tool_use"}"#,
            "candidates",
            "contentBlock",
        ] {
            assert!(matters(text, Wire::Chat), "{text}");
        }
        for text in [
            r#"{"tool_calls":null}"#,
            r#"{"tool_calls": [] ,"function_call":{ }}"#,
            r#"{"usage":null}"#,
            r#"{"content":"a tool for a function, of use"}"#,
            "\u{e9}\\u00e9",
        ] {
            assert!(!matters(text, Wire::Chat), "{text}");
        }
        assert!(matters("content_block_start", Wire::Messages));
        assert!(!matters("content_block_delta", Wire::Messages));
        assert!(matters("shell_call\"", Wire::Responses));
        assert!(matters("response.completed", Wire::Responses));
        assert!(!matters("response.output_text.delta", Wire::Responses));
    }

    #[test]
    fn ends_are_found() {
        let ends = |text: &str, wire| Scanner::new(wire).scan(text.as_bytes()).ends;
        for (text, wire, wanted) in [
            ("data: [DONE]", Wire::Chat, true),
            (r#"{"finish_reason": "stop"}"#, Wire::Chat, true),
            (r#"{"finish_reason":null}"#, Wire::Chat, false),
            (r#"{"error":{"message"#, Wire::Chat, true),
            (r#"{"error":null}"#, Wire::Chat, false),
            ("message_stop", Wire::Messages, true),
            (r#"{"type":"error"}"#, Wire::Messages, true),
            ("message_delta", Wire::Messages, false),
            ("response.incomplete", Wire::Responses, true),
            ("response.created", Wire::Responses, false),
        ] {
            assert_eq!(ends(text, wire), wanted, "{text}");
        }
    }

    #[test]
    fn lines_are_odd_that_some_client_reads_otherwise() {
        let is_odd = |line: &str| {
            let scanner = Scanner::new(Wire::Chat);
            let odd = [format!("{line}\n\n"), format!("data: x\n{line}\n\n"), format!(":\r{line}")]
                .map(|text| scanner.scan(text.as_bytes()).is_odd);
            assert_eq!(odd, [odd[0]; 3], "{line}");
            odd[0]
        };
        for plain in ["", " \t", ": x", "data", "data:x", "event: y", "id", "retry: 1", "x-y: 1"] {
            assert!(!is_odd(plain), "{plain}");
        }
        for odd in [" data: x", "DATA: x", "Event: x", "x", "{}", "\u{feff}data: x", "a b: 1", "\0"]
        {
            assert!(is_odd(odd), "{odd}");
        }
    }
}
