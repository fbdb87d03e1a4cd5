//! Splits a query into words and records their spelling and punctuation.

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// As written, without a possessive ending.
    pub(super) text: &'a str,
    /// The same in lower case.
    pub(super) lower: &'a str,
    /// Starts with a capital.
    pub(super) capital: bool,
    /// Holds a digit.
    pub(super) number: bool,
    /// Begins a sentence.
    pub(super) first: bool,
    /// Follows a separator of names: a comma, a bracket, a quotation mark.
    pub(super) apart: bool,
    /// Follows a comma.
    pub(super) comma: bool,
    /// Ends in `'s` or `s'`.
    pub(super) possessive: bool,
    /// Is inside quotation marks.
    pub(super) quoted: bool,
    /// Is followed by a percent sign.
    pub(super) percent: bool,
}

/// Splits a query into words of letters and digits. An apostrophe, hyphen or full stop between
/// these belongs to the word. `lower` is the same text with ASCII letters in lower case.
pub(super) fn words<'a>(query: &'a str, lower: &'a str) -> Vec<Word<'a>> {
    let mut found: Vec<Word<'a>> = Vec::new();
    let (mut first, mut apart, mut comma, mut quoted) = (true, false, false, false);
    let mut rest = query;
    while let Some(c) = rest.chars().next() {
        if !c.is_alphanumeric() {
            match c {
                '.' | '?' | '!' | ':' | ';' | '\n' => first = true,
                ',' => (apart, comma) = (true, true),
                '"' | '“' | '”' | '«' | '»' => (apart, quoted) = (true, !quoted),
                '(' | ')' | '[' | ']' | '/' | '–' | '—' => apart = true,
                '%' => {
                    if let Some(last) = found.last_mut() {
                        last.percent = true;
                    }
                }
                _ => {}
            }
            rest = rest.get(c.len_utf8()..).unwrap_or("");
            continue;
        }
        let from = query.len() - rest.len();
        let (whole, tail) = rest.split_at_checked(length(rest)).unwrap_or((rest, ""));
        rest = tail;
        let ended = ["'s", "’s", "'S", "’S"].iter().find_map(|end| whole.strip_suffix(end));
        // `states'`: the apostrophe is not part of the word.
        let plural = ended.is_none()
            && whole.ends_with('s')
            && !quoted
            && rest.starts_with(['\'', '’'])
            && rest.chars().nth(1) == Some(' ');
        let text = ended.unwrap_or(whole);
        found.push(Word {
            text,
            lower: lower.get(from..from + text.len()).unwrap_or(""),
            capital: c.is_uppercase(),
            number: text.bytes().any(|byte| byte.is_ascii_digit()),
            possessive: ended.is_some() || plural,
            percent: false,
            first,
            apart,
            comma,
            quoted,
        });
        (first, apart, comma) = (false, false, false);
    }
    found
}

/// Length in bytes of the word at the start of `text`.
fn length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins = matches!(c, '\'' | '’' | '-' | '.')
            && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !c.is_alphanumeric() && !joins {
            return at;
        }
    }
    text.len()
}
