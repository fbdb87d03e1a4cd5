//! Writes values as JSON text: RFC 8785 §3.2.

use std::borrow::Cow;

use super::{Host, Json};
use crate::order::order;

/// Bytes of a string for which memory is taken at once.
const LARGE: usize = 64 * 1024;

/// Appends `value`; `canonical` sorts the members.
pub(super) fn write(value: &Json<'_>, out: &mut String, canonical: bool) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => out.push_str(text),
        Json::String(text) => write_string(text, out),
        Json::Host(Host::Text(number) | Host::Object(number)) => {
            // See `Json::into_text`.
            out.push('\0');
            out.push_str(&number.to_string());
            out.push('\0');
        }
        Json::Host(Host::Made(_)) => out.push_str("\"\""),
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out, canonical);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            let sorted = if canonical { by_units(members) } else { Vec::new() };
            for i in 0..members.len() {
                let place = sorted.get(i).copied().unwrap_or(i);
                let Some((key, item)) = members.get(place) else { continue };
                if i > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(item, out, canonical);
            }
            out.push('}');
        }
    }
}

/// The places of members, in the order of RFC 8785 §3.2.3: by UTF-16 code units. UTF-8 order differs
/// above U+FFFF: U+1F600 sorts before U+FB33 here, because its first unit is a surrogate.
fn by_units(members: &[(Cow<'_, str>, Json<'_>)]) -> Vec<usize> {
    let units = |place: usize| {
        let key = members.get(place).map_or("", |(key, _)| key);
        key.chars().map(|c| match u32::from(c) {
            behind @ 0xE000..0x10000 => behind + 0x0010_0000,
            code => code,
        })
    };
    order(members.len(), &mut |a, b| units(a).cmp(units(b)))
}

/// Appends `text` as a JSON string: RFC 8785 §3.2.2.2, which is the form of `JSON.stringify`.
pub fn write_string(text: &str, out: &mut String) {
    if text.len() > LARGE {
        // A buffer that grows doubles, and is held twice meanwhile. Prose has less than one escape in
        // 16 bytes.
        out.reserve_exact(text.len().saturating_add(text.len() / 16));
    }
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\') {
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\t') => out.push_str("\\t"),
            Some('\n') => out.push_str("\\n"),
            Some('\u{c}') => out.push_str("\\f"),
            Some('\r') => out.push_str("\\r"),
            Some(control) => {
                let code = u32::from(control);
                out.push_str("\\u00");
                for nibble in [code >> 4, code & 15] {
                    out.push(char::from_digit(nibble, 16).unwrap_or('0'));
                }
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// The same JSON without the characters that some readers take for the end of a line and JSON leaves
/// as they are: U+0085, U+2028 and U+2029 are escaped. For prompts.
pub(crate) fn one_line(json: String) -> String {
    let mut line = String::new();
    let mut from = 0;
    for (at, c) in json.char_indices() {
        let escaped = match c {
            '\u{85}' => "\\u0085",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            _ => continue,
        };
        line.push_str(json.get(from..at).unwrap_or_default());
        line.push_str(escaped);
        from = at + c.len_utf8();
    }
    if from == 0 {
        return json;
    }
    line.push_str(json.get(from..).unwrap_or_default());
    line
}
