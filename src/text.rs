//! Searching in text. The standard library's search for a text in a text adds some 5 KB to the wasm,
//! and so does its search for a character: the one for characters beyond ASCII is behind it. Bytes
//! are searched by `as_bytes().contains(…)`.

/// Begins and ends of the blocks in which models think aloud.
pub(crate) const THINKING: [(&str, &str); 2] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Whether a text has no character that a person could see: only white space, control characters, and
/// characters that are drawn as nothing (Unicode's `Default_Ignorable_Code_Point`, the annotation
/// marks, and the empty pattern of Braille).
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// What is in a code fence, if the text is one and nothing else.
pub(crate) fn unfenced(text: &str) -> Option<&str> {
    let block = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let line = block.bytes().position(|byte| byte == b'\n')?;
    let (language, inside) = block.split_at_checked(line)?;
    language.trim().bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| inside.trim())
}

/// What follows a tag at the beginning of a text, in any case of its letters.
pub(crate) fn strip_tag<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(tag.len())?;
    begin.eq_ignore_ascii_case(tag).then_some(rest)
}

/// Whether a text may be the beginning of a tag, in any case of its letters.
pub(crate) fn begins_tag(text: &str, tag: &str) -> bool {
    tag.get(..text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(text))
}

/// The place of the first tag in `text`, in any case of its letters.
pub(crate) fn find_tag(text: &str, tag: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.as_bytes().get(from..)?.iter().position(|byte| *byte == b'<')?;
        if strip_tag(text.get(at..)?, tag).is_some() {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The place of the first `needle` in `text`, in bytes. Takes time in proportion to both lengths
/// (Knuth, Morris and Pratt).
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    let needle = needle.as_bytes();
    // How many bytes of the needle are matched after one more byte. `borders` has, for each length,
    // how many bytes at the end are also the beginning.
    let step = |borders: &[usize], mut matched: usize, byte: u8| loop {
        if needle.get(matched) == Some(&byte) {
            return matched + 1;
        }
        match matched.checked_sub(1).and_then(|last| borders.get(last)) {
            Some(border) => matched = *border,
            None => return 0,
        }
    };
    let mut borders = Vec::with_capacity(needle.len());
    for (at, byte) in needle.iter().enumerate() {
        let before = borders.last().copied().unwrap_or(0);
        borders.push(if at == 0 { 0 } else { step(&borders, before, *byte) });
    }
    if needle.is_empty() {
        return Some(0);
    }
    let mut matched = 0;
    for (at, byte) in text.bytes().enumerate() {
        matched = step(&borders, matched, byte);
        if matched == needle.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// Whether `needle` occurs in `text`; in time as [`find`].
pub(crate) fn holds(text: &str, needle: &str) -> bool {
    find(text, needle).is_some()
}

/// The number of bytes that a base64 text has, with or without padding; `None` if it is not base64.
pub(crate) fn base64_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let is_whole = if padding == 0 { digits.len() % 4 != 1 } else { text.len().is_multiple_of(4) };
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let is_base64 = padding <= 2 && is_whole && digits.bytes().all(known);
    u64::try_from(digits.len()).ok().filter(|_| is_base64).map(|digits| digits * 3 / 4)
}

/// Decodes base64 with or without padding; `None` if it is none.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).unwrap_or(0));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{base64, base64_bytes, find, is_blank};

    #[test]
    fn base64_is_read() {
        let read = |text| base64(text).map(|bytes| String::from_utf8(bytes).unwrap());
        for (text, want) in
            [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YWI", "ab")]
        {
            assert_eq!(read(text).as_deref(), Some(want), "{text}");
        }
        assert_eq!(base64("+/+/").as_deref(), Some(&[0xFB, 0xFF, 0xBF][..]));
        assert_eq!(base64("a b"), None);
    }

    #[test]
    fn the_bytes_of_base64_are_counted() {
        for (text, want) in [
            ("", Some(0)),
            ("YQ==", Some(1)),
            ("YQ", Some(1)),
            ("YWI=", Some(2)),
            ("YWJj", Some(3)),
            ("+/+/", Some(3)),
            ("Y", None),
            ("YQ=", None),
            ("YWJj=", None),
            ("Y===", None),
            ("YW=j", None),
            ("YW Jj", None),
            ("YW_j", None),
        ] {
            assert_eq!(base64_bytes(text), want, "{text}");
        }
    }

    #[test]
    fn a_text_is_blank_if_a_person_sees_nothing() {
        let blank = ["", " \n\t", "\u{a0}", "\u{feff}", "\u{200b}\u{200d} \u{2060}", "\0\u{7f}"];
        let more =
            ["\u{ad}", "\u{3164}", "\u{2800}", "\u{fe0f}", "\u{e0041}", "\u{3000}", "\u{2028}"];
        for text in blank.into_iter().chain(more) {
            assert!(is_blank(text), "{text:?}");
        }
        for text in
            ["a", "\u{200b}.\u{200b}", "é", "😀", "\u{fffc}", "\u{fffd}", "\u{301}", "\u{600}"]
        {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn finds_what_std_finds() {
        let letters = |mut n: usize, len: usize| {
            let mut text = String::new();
            for _ in 0..len {
                text.push(if n & 1 == 0 { 'a' } else { 'é' });
                n /= 2;
            }
            text
        };
        for length in 0..6 {
            for needle in (0..1 << length).map(|n| letters(n, length)) {
                for text in (0..1 << 8).map(|n| letters(n, 8)) {
                    assert_eq!(find(&text, &needle), text.find(&needle), "{needle} in {text}");
                }
            }
        }
        assert_eq!(find("", ""), Some(0));
        assert_eq!(find("", "a"), None);
    }
}
