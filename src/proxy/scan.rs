//! Searches the bytes of frames for words, so that few frames are parsed.

use super::wire::Wire;

/// What bytes may have. Each is right if it is missing, and may be wrong if it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Something of a call, of another API, or usage; or letters that are spelled as escapes.
    pub(super) matters: bool,
    /// The event with which the response ends.
    pub(super) ends: bool,
}

/// Searches bytes of whole frames. Words are found in any case.
pub(super) fn scan(text: &[u8], wire: Wire) -> Found {
    let mut found = Found::default();
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let is_word = match first | 0x20 {
            b't' => follows(tail, b"ool").is_some_and(|rest| is_tool(rest, wire)),
            b'f' => follows(tail, b"unction").is_some_and(|rest| is_function(rest, wire)),
            b'c' => is_of_c(tail, wire),
            b'u' => follows(tail, b"sage\"").is_some_and(|rest| is_usage(rest, wire)),
            b'p' => wire == Wire::Messages && follows(tail, b"artial_json").is_some(),
            b'o' => wire == Wire::Responses && follows(tail, b"utput_item.").is_some(),
            b'r' => wire == Wire::Responses && is_response(tail),
            b'm' => wire == Wire::Responses && follows(tail, b"cp_approval_request").is_some(),
            0x7c | 0x7f => match first {
                b'_' => wire == Wire::Responses && is_call(tail),
                b'\\' => is_escape(tail),
                _ => false,
            },
            // Letters that stand for one of ASCII in another case.
            0xe4 => matches!((first, tail), (0xc4, [0xb0 | 0xb1, ..])),
            0xe5 => matches!((first, tail), (0xc5, [0xbf, ..])),
            0xe2 => matches!(tail, [0x84, 0xaa, ..]),
            _ => false,
        };
        found.matters |= is_word;
        found.ends |= !found.ends && is_end(*first, tail, wire);
        rest = tail;
    }
    found
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
            Wire::Messages | Wire::Responses => true,
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
            Wire::Chat | Wire::Responses => true,
        });
    }
    follows(text, b"andidates").is_some()
        || wire != Wire::Chat && follows(text, b"hoices").is_some()
        || wire == Wire::Responses && follows(text, b"ustom_tool").is_some()
}

/// Behind `usage"`.
fn is_usage(text: &[u8], wire: Wire) -> bool {
    match wire {
        Wire::Chat => matches!(text, [b':', b'{', ..] | [b':', b' ', b'{', ..]),
        Wire::Messages => true,
        Wire::Responses => false,
    }
}

/// Behind `_`, whether a type of a call ends, and not a member of several.
fn is_call(text: &[u8]) -> bool {
    follows(text, b"call").is_some_and(|behind| !matches!(behind, [b's' | b'S', ..]))
}

/// Behind `r`, whether an event has the whole response.
fn is_response(text: &[u8]) -> bool {
    follows(text, b"esponse").is_some_and(|rest| matches!(rest, [b'"', ..] | [b'.', b'c' | b'C', ..]))
}

/// Whether a letter of ASCII, or one that stands for such a letter in another case, is spelled as an
/// escape: only a parser knows the names then.
fn is_escape(text: &[u8]) -> bool {
    let [b'u' | b'U', a, b, c, d, ..] = text else { return false };
    matches!(
        [*a, *b, *c, *d].map(|byte| byte.to_ascii_lowercase()),
        [b'0', b'0', b'2'..=b'7', _] | [b'0', b'1', b'3', b'0' | b'1'] | [b'0', b'1', b'7', b'f'] | [b'2', b'1', b'2', b'a']
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
        let matters = |text: &str, wire| scan(text.as_bytes(), wire).matters;
        for text in [
            r#"{"tool_calls":[{"#,
            r#"{"tool_calls":"[]"}"#,
            r#"{"TOOL_CALLS": {"a"#,
            r#"{"toolCalls":[]}"#,
            r#"{"function_call":{"name"#,
            r#"{"t\u006fol":1}"#,
            "{\"too\u{17f}\":1}",
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
        let ends = |text: &str, wire| scan(text.as_bytes(), wire).ends;
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
}
