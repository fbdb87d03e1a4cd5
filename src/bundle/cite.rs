//! Whether a decision cites disagreements that exist.

use crate::json::table::record;
use crate::order::sort_by;
use crate::text::find;

record! {
    /// What a text cites of the disagreements of a bundle, by JSON Pointer.
    pub struct Citations as "Citations" {
        /// Disagreements that the text cites, in the order of the bundle.
        cited "cited": Vec<String>;
        /// Disagreements that it does not cite.
        uncited "uncited": Vec<String>;
        /// What looks like a JSON Pointer in the text and is no disagreement of the bundle, in the
        /// order of the text, each once.
        unknown "unknown": Vec<String>;
    }
}

/// Looks in a text for the fields of disagreements, as JSON Pointers that stand by themselves, such as
/// `/price/net`. A disagreement about the whole value has no name that a text could cite; it is in
/// no list.
///
/// ```
/// let fields = ["/price/net".to_owned(), "/label".to_owned()];
/// let found = turnlock::bundle::cite("Two say `/label` is spam, /tone differs.", &fields);
/// assert_eq!(found.cited, ["/label"]);
/// assert_eq!(found.uncited, ["/price/net"]);
/// assert_eq!(found.unknown, ["/tone"]);
/// ```
#[must_use]
pub fn cite(text: &str, fields: &[String]) -> Citations {
    // Places in the text that belong to a field.
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut longest: Vec<&String> = fields.iter().filter(|field| !field.is_empty()).collect();
    sort_by(&mut longest, |a, b| b.len().cmp(&a.len()));
    for field in longest {
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| find(rest, field)) {
            let (start, end) = (from + found, from + found + field.len());
            let free = taken.iter().all(|(a, b)| end <= *a || *b <= start);
            if free && starts(text, start) && ends(text, end) {
                taken.push((start, end));
            }
            from = end;
        }
    }
    let (mut cited, mut uncited, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields.iter().filter(|field| !field.is_empty()) {
        let is_cited = taken.iter().any(|(a, b)| text.get(*a..*b) == Some(field));
        let list = if is_cited { &mut cited } else { &mut uncited };
        list.push(field.clone());
    }
    for (start, _) in text.match_indices('/') {
        let inside = taken.iter().any(|(a, b)| (*a..*b).contains(&start));
        if inside || !starts(text, start) {
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|c| !within(c) && c != '.').unwrap_or(rest.len());
        let pointer = rest.get(..end).unwrap_or_default().trim_end_matches(['.', '-', '/']);
        // Items of an array are no fields; "/10" belongs to a fraction.
        let named = pointer.chars().nth(1).is_some_and(|first| !first.is_ascii_digit());
        if named && !unknown.iter().any(|one| one == pointer) {
            unknown.push(pointer.to_owned());
        }
    }
    Citations { cited, uncited, unknown }
}

/// Whether a character may belong to a pointer, at its end too.
fn within(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '~' | '-' | '/')
}

/// Whether a pointer may begin here: not within a word, a path or an address.
fn starts(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    !before.is_some_and(|c| within(c) || matches!(c, '.' | ':'))
}

/// Whether a pointer may end here. A full stop before a letter or digit goes on with it.
fn ends(text: &str, at: usize) -> bool {
    let mut behind = text.get(at..).unwrap_or_default().chars();
    match behind.next() {
        Some('.') => !behind.next().is_some_and(within),
        Some(next) => !within(next),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_that_stand_by_themselves() {
        let fields = ["/due", "/due date", "", "/a/b", "/a", "/v1.2", "/x~1y"];
        let fields = fields.map(str::to_owned);
        for (text, cited, unknown) in [
            ("", "", ""),
            ("See /a.", "/a", ""),
            ("(`/a/b`), not /a/c", "/a/b", "/a/c"),
            ("the \"/due date\" is open", "/due date", ""),
            ("/due, and /x~1y: both", "/due /x~1y", ""),
            ("n/a, 8 /10, and/or, https://host/a, ../a, a: / b", "", ""),
            ("/v1.2. /v1.2.3 /A /A", "/v1.2", "/v1.2.3 /A"),
            ("/größe/höhe-", "", "/größe/höhe"),
        ] {
            let found = cite(text, &fields);
            assert_eq!(found.cited.join(" "), cited, "{text}");
            assert_eq!(found.unknown.join(" "), unknown, "{text}");
            assert_eq!(found.cited.len() + found.uncited.len(), 6, "{text}");
        }
    }
}
