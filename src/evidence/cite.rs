//! Whether a decision cites disagreements that exist.

use crate::index::Index;
use crate::json::table::record;
use crate::order::sort_by;

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
/// let found = turnlock::evidence::cite("Two say `/label` is spam, /tone differs.", &fields);
/// assert_eq!(found.cited, ["/label"]);
/// assert_eq!(found.uncited, ["/price/net"]);
/// assert_eq!(found.unknown, ["/tone"]);
/// ```
#[must_use]
pub fn cite(text: &str, fields: &[String]) -> Citations {
    let mut known = Fields::new(fields);
    let mut unknown = Vec::new();
    let mut seen = Index::default();
    // Where the last field ends that was found.
    let mut end = 0;
    for (start, _) in text.match_indices('/') {
        if start < end || !starts(text, start) {
            continue;
        }
        if let Some(size) = known.cited(text, start) {
            end = start + size;
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let size = rest.find(|c| !within(c) && c != '.').unwrap_or(rest.len());
        let pointer = rest.get(..size).unwrap_or_default().trim_end_matches(['.', '-', '/']);
        // Items of an array are no fields; "/10" belongs to a fraction.
        let named = pointer.chars().nth(1).is_some_and(|first| !first.is_ascii_digit());
        if named && seen.find(pointer).is_none() {
            seen.number(pointer);
            unknown.push(pointer.to_owned());
        }
    }
    let (mut cited, mut uncited) = (Vec::new(), Vec::new());
    for field in fields.iter().filter(|field| !field.is_empty()) {
        let list = if known.is_cited(field) { &mut cited } else { &mut uncited };
        list.push(field.clone());
    }
    Citations { cited, uncited, unknown }
}

/// The fields in their order, each once.
struct Fields<'f> {
    sorted: Vec<Field<'f>>,
}

struct Field<'f> {
    name: &'f str,
    /// The longest other field that it begins with.
    begins: Option<usize>,
    cited: bool,
}

impl<'f> Fields<'f> {
    fn new(fields: &'f [String]) -> Self {
        let mut names: Vec<&str> = fields.iter().map(String::as_str).collect();
        sort_by(&mut names, |a, b| a.cmp(b));
        names.dedup();
        let mut sorted: Vec<Field<'f>> = Vec::with_capacity(names.len());
        for name in names {
            let mut begins = sorted.len().checked_sub(1);
            while let Some(field) = begins.and_then(|at| sorted.get(at))
                && !name.starts_with(field.name)
            {
                begins = field.begins;
            }
            sorted.push(Field { name, begins, cited: false });
        }
        Self { sorted }
    }

    /// Marks the longest field that stands at a place of a text. Returns its length.
    fn cited(&mut self, text: &str, start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        // What the text begins with is the last field that is not above it, or begins that one.
        let mut at = self.sorted.partition_point(|field| field.name <= rest).checked_sub(1);
        let last = at.and_then(|at| self.sorted.get(at))?;
        let common = last.name.bytes().zip(rest.bytes()).take_while(|(a, b)| a == b).count();
        while let Some(field) = at.and_then(|at| self.sorted.get_mut(at)) {
            let size = field.name.len();
            if 0 < size && size <= common && ends(text, start + size) {
                field.cited = true;
                return Some(size);
            }
            at = field.begins;
        }
        None
    }

    fn is_cited(&self, name: &str) -> bool {
        let at = self.sorted.binary_search_by(|field| field.name.cmp(name));
        at.ok().and_then(|at| self.sorted.get(at)).is_some_and(|field| field.cited)
    }
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

    /// The longest field at each place, looked for one by one.
    fn one_by_one<'f>(text: &str, fields: &'f [String]) -> Vec<&'f String> {
        let (mut found, mut end) = (Vec::new(), 0);
        for (start, _) in text.match_indices('/') {
            let here = |field: &&String| {
                let rest = text.get(start..).unwrap_or_default();
                rest.starts_with(field.as_str()) && ends(text, start + field.len())
            };
            let fits = start >= end && starts(text, start);
            let all = fields.iter().filter(|field| fits && !field.is_empty()).filter(here);
            if let Some(field) = all.max_by_key(|field| field.len()) {
                end = start + field.len();
                found.push(field);
            }
        }
        found
    }

    #[test]
    fn any_text_cites_what_is_found_one_by_one() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
        };
        let mut cited = 0;
        for round in 0..20_000 {
            let mut piece = |most: usize| -> String {
                (0..=next(most)).map(|_| ["a", "b", "/", " ", ".", "é", "~1"][next(7)]).collect()
            };
            let fields: Vec<String> = (0..8).map(|_| format!("/{}", piece(3))).collect();
            let text = piece(40);
            let found = cite(&text, &fields);
            let wanted = one_by_one(&text, &fields);
            for field in &fields {
                let is = found.cited.contains(field);
                assert_eq!(is, wanted.contains(&field), "{round}: {field:?} in {text:?}");
            }
            cited += found.cited.len();
        }
        assert!(cited > 500, "{cited}");
    }
}
