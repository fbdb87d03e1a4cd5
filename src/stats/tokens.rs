//! Tokens of a text (§2.3, text).
//!
//! Case, bullets, quotes, emphasis and final punctuation are ignored. Signs, comparisons, units,
//! operators and the brackets of an interval are tokens: "-5" differs from "5". The rules are
//! §2.16.1 (a) to (f) and its additions (g) to (j) of 2026-11-30.

use std::borrow::Cow;

use super::nfc::nfc;
use super::symbols::{is_mark, is_symbol};

/// Tokens up to which a text is no prose.
const SHORT: usize = 12;

/// Chinese and Japanese characters that count as one token of prose.
const CHARACTERS: usize = 3;

/// Characters between the brackets of an interval, at most.
const INTERVAL: usize = 80;

/// Passes the tokens of a text in NFC to `emit`, in order. Returns whether it is prose: whether it
/// has more than twelve tokens, three Chinese or Japanese characters counted as one.
pub(super) fn tokens(text: &str, mut emit: impl FnMut(&str)) -> bool {
    let text = prepared(text);
    let has_words = text.as_bytes().windows(2).any(|pair| pair.iter().all(|&byte| is_letter(byte)));
    let mut scan = Scan { text: &text, at: 0, interval_end: None, has_words };
    let mut token = String::new();
    let mut count = 0;
    while scan.token(&mut token) {
        emit(&token);
        let character = token.chars().next().is_some_and(is_character);
        count += if character { 1 } else { CHARACTERS };
        token.clear();
    }
    count > SHORT * CHARACTERS
}

/// Forms of width and ligatures folded, in lower case, with ASCII minus signs and comparisons.
fn prepared(text: &str) -> String {
    let is_form = |c: char| matches!(c, '\u{FB00}'..='\u{FB06}' | '\u{FF01}'..='\u{FF5E}');
    let mut text = Cow::Borrowed(text);
    if text.chars().any(is_form) {
        let mut plain = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\u{FB00}' => plain.push_str("ff"),
                '\u{FB01}' => plain.push_str("fi"),
                '\u{FB02}' => plain.push_str("fl"),
                '\u{FB03}' => plain.push_str("ffi"),
                '\u{FB04}' => plain.push_str("ffl"),
                '\u{FB05}' | '\u{FB06}' => plain.push_str("st"),
                c if is_form(c) => plain.extend(char::from_u32(u32::from(c) - 0xFEE0)),
                c => plain.push(c),
            }
        }
        text = Cow::Owned(nfc(&plain).into_owned());
    }
    let mut made = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2212}' | '\u{FE63}' => made.push('-'),
            'ς' => made.push('σ'),
            // Of İ in lower case.
            '\u{307}' if made.ends_with('i') => {}
            '≤' => made.push_str("<="),
            '≥' => made.push_str(">="),
            '≠' => made.push_str("!="),
            'ß' | 'ẞ' => made.push_str("ss"),
            'İ' => made.push('i'),
            c => made.extend(c.to_lowercase()),
        }
    }
    made
}

/// A Chinese or Japanese character, which is a token of its own.
fn is_character(c: char) -> bool {
    let listed = matches!(u32::from(c),
        0x2E80..=0x2FDF | 0x3005 | 0x3007 | 0x3021..=0x3029 | 0x3038..=0x303B
        | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF
        | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D | 0x16FE2..=0x16FF6 | 0x1AFF0..=0x1B16F | 0x1F200 | 0x20000..=0x3FFFF);
    listed && c.is_alphanumeric()
}

/// A letter or digit of a word.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_character(c)
}

/// Whether a byte of a lower-cased text is part of a letter that belongs to words.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_lowercase() || !byte.is_ascii()
}

/// A letter or digit, or a mark on one.
fn is_operand(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

fn opens(c: char) -> bool {
    matches!(c, '(' | '[' | '{')
}

fn closes(c: char) -> bool {
    matches!(c, ')' | ']' | '}')
}

/// The sign that a minus, plus or dash is before a number.
fn sign(c: char) -> Option<char> {
    match c {
        '+' => Some('+'),
        '-' | '\u{2010}'..='\u{2015}' | '\u{FE58}' => Some('-'),
        _ => None,
    }
}

/// Whether a sign may stand before a name. A long dash before a word is punctuation.
fn signs_names(c: char) -> bool {
    sign(c).is_some() && !matches!(c, '\u{2014}' | '\u{2015}' | '\u{FE58}')
}

fn is_bracket(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    /// Position of the bracket that closes the current interval.
    interval_end: Option<usize>,
    /// Whether the text has two letters side by side.
    has_words: bool,
}

impl<'t> Scan<'t> {
    fn before(&self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn last(&self) -> Option<char> {
        self.before().chars().next_back()
    }

    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    /// Reads the next token into an empty `token`; `false` at the end.
    fn token(&mut self, token: &mut String) -> bool {
        while let Some(c) = self.rest().chars().next() {
            let sign_allowed =
                self.last().is_none_or(|last| !is_word(last) && !is_mark(last) && !closes(last));
            let mut next = self.rest().chars().skip(1);
            let (next, third) = (next.next(), next.next());
            let numeric = |c: Option<char>| c.is_some_and(char::is_numeric);
            let fraction = c == '.' && sign_allowed && self.last() != Some('.') && numeric(next);
            let sign = sign(c).filter(|_| sign_allowed);
            if is_word(c) || fraction {
                self.word(token);
            } else if let Some(sign) = sign.filter(|_| starts_number(next, third)) {
                token.push(sign);
                self.skip(c);
                self.word(token);
            } else if let Some(sign) = sign.filter(|_| next.is_some_and(is_symbol)) {
                // Of an amount, "-$5", a root, or an infinity.
                self.skip(c);
                let operand = |c: char| c.is_numeric() || c == '.' || opens(c);
                if third.is_some_and(operand) || next == Some('∞') {
                    token.push(sign);
                }
            } else if let Some(sign) = sign.filter(|_| signs_names(c) && self.is_prefix(next)) {
                token.push(sign);
                self.skip(c);
            } else if matches!(c, '<' | '>' | '=' | '!' | '~') {
                self.comparison(token);
            } else if matches!(c, '/' | '&' | '|') {
                self.separator(c, token);
            } else {
                let is_token = match c {
                    '%' | '‰' | '°' | '^' => true,
                    '+' | '*' | '-' => self.is_operator(c, 1),
                    '(' | ')' | '[' | ']' => self.is_interval(),
                    '\u{2032}'..='\u{2034}' => {
                        self.last().is_some_and(|c| is_operand(c) || closes(c))
                    }
                    '\'' => self.last().is_some_and(is_word) && next == Some('('),
                    c => is_character(c) || is_symbol(c),
                };
                self.skip(c);
                if is_token {
                    token.push(c);
                    self.marks(token);
                }
            }
            if !token.is_empty() {
                return true;
            }
        }
        false
    }

    /// Reads marks on what was read.
    fn marks(&mut self, token: &mut String) {
        while let Some(c) = self.rest().chars().next().filter(|c| is_mark(*c)) {
            token.push(c);
            self.skip(c);
        }
    }

    /// Reads a run of `< > = ! ~`: a comparison, a negation, a factorial, or "about".
    fn comparison(&mut self, token: &mut String) {
        let after = self.rest().trim_start_matches(['<', '>', '=', '!', '~']);
        let run = self.rest().get(..self.rest().len() - after.len()).unwrap_or_default();
        let mut ahead = after.chars();
        let (next, third) = (ahead.next(), ahead.next());
        let number = || next.is_some_and(|c| c.is_numeric()) || starts_number(next, third);
        let is_token = match run {
            "!" => self.is_prefix(next) || self.is_factorial(next),
            "~" => self.is_prefix(next) || self.starts_operand() && number(),
            run => run.contains(['<', '>', '=']),
        };
        if is_token {
            token.push_str(run);
        }
        self.at += run.len();
    }

    /// Reads `/`, `&` or `|`, once or twice, as an operator, or `|` beside an operand.
    fn separator(&mut self, c: char, token: &mut String) {
        let twice = self.rest().get(1..).is_some_and(|rest| rest.starts_with(c));
        let run = self.rest().get(..1 + usize::from(twice)).unwrap_or_default();
        let next = self.rest().get(run.len()..).and_then(|rest| rest.chars().next());
        let beside = |c: Option<char>| c.is_some_and(|c| is_operand(c) || opens(c) || closes(c));
        let magnitude = run == "|" && (beside(self.last()) || beside(next));
        if magnitude || self.is_operator(c, run.len()) {
            token.push_str(run);
        }
        self.at += run.len();
    }

    /// Whether an operand may begin here: behind nothing, white space, an opening bracket or an
    /// operator, also with quotes or emphasis between.
    fn starts_operand(&self) -> bool {
        let operator = |c: char| "=<>+*/^·,:;|&~!".contains(c) || is_symbol(c);
        let quotes = ['"', '\'', '`', '*', '_', '“', '‘', '«', '„'];
        let outside = self.before().trim_end_matches(quotes).chars().next_back();
        self.last().is_some_and(operator) && outside.is_some_and(is_operand)
            || outside.is_none_or(|c| c.is_whitespace() || opens(c) || operator(c))
    }

    /// Whether a sign is one of a name or a bracket: `-x`, `!(a)`.
    fn is_prefix(&self, next: Option<char>) -> bool {
        next.is_some_and(|c| is_word(c) && !c.is_numeric() || opens(c)) && self.starts_operand()
    }

    /// Whether `!` is a factorial: behind a number, a single letter or a bracket, and no exclamation
    /// at the end of a sentence.
    fn is_factorial(&self, next: Option<char>) -> bool {
        let mut back = self.before().chars().rev();
        let Some(last) = back.next() else { return false };
        let single = is_word(last) && !back.next().is_some_and(is_operand);
        let inside = next
            .is_some_and(|c| !c.is_whitespace() && (opens(c) || closes(c) || "/*+-^".contains(c)));
        (last.is_numeric() || last == ')' || single) && (inside || !self.has_words)
    }

    /// Reads letters and digits, with what belongs to them. `token` may have a sign.
    fn word(&mut self, token: &mut String) {
        let touched = self.last().is_some_and(|last| last.is_numeric() || last == ',');
        if let Some((bytes, _)) = thousands(self.rest()).filter(|_| !touched) {
            let digits = self.rest().get(..bytes).unwrap_or_default();
            token.extend(digits.chars().filter(|c| *c != ','));
            self.at += bytes;
        }
        while let Some(c) = self.rest().chars().next() {
            let next = self.rest().chars().nth(1);
            let digit = next.is_some_and(char::is_numeric);
            let first = token.chars().all(|c| matches!(c, '+' | '-'));
            let last = token.chars().next_back();
            let continues = is_word(c)
                || !first && is_mark(c)
                || c == '.' && digit && (first || last.is_some_and(char::is_numeric))
                || matches!(c, '+' | '-') && digit && is_mantissa(token);
            if !continues {
                break;
            }
            token.push(c);
            self.skip(c);
        }
        let rest = self.rest();
        let after = rest.trim_start_matches(['+', '#', '-']);
        let tail = rest.get(..rest.len() - after.len()).unwrap_or_default();
        let ends = |c: char| {
            !c.is_alphanumeric() && !is_symbol(c) && !matches!(c, '<' | '>' | '=' | '~' | '^')
        };
        if matches!(tail.len(), 1 | 2) && after.chars().next().is_none_or(ends) {
            token.push_str(tail);
            self.at += tail.len();
        }
    }

    /// Whether an operator of `bytes` bytes stands between two operands.
    fn is_operator(&self, c: char, bytes: usize) -> bool {
        let ahead = self.rest().get(bytes..).unwrap_or_default();
        let blank = |c: char| c.is_whitespace() && !is_line_end(c);
        let (left, right) =
            (self.before().trim_end_matches(blank), ahead.trim_start_matches(blank));
        let spaces = [left.len() < self.before().len(), right.len() < ahead.len()];
        let mut back = left.chars().rev().filter(|c| !is_mark(*c));
        let mut forth = right.chars().filter(|c| !is_mark(*c));
        let (Some(a), Some(b)) = (back.next(), forth.next()) else { return false };
        let (next, third) = (forth.next(), forth.next());
        let value = |c: char| is_symbol(c) || matches!(c, '%' | '‰');
        let ended = closes(a) || value(a);
        let signed = next.is_some_and(|c| is_word(c) || opens(c)) || starts_number(next, third);
        let begun = opens(b)
            || value(b)
            || starts_number(Some(b), next)
            || matches!(b, '+' | '-') && signed;
        if !(a.is_alphanumeric() || ended) || !(b.is_alphanumeric() || begun) {
            return false;
        }
        let single = |c: char, beside: Option<char>| {
            is_word(c) && !c.is_numeric() && !beside.is_some_and(char::is_alphanumeric)
        };
        let letter = single(a, back.next()) || single(b, next);
        match spaces {
            // Between words, `-`, `*` and `|` are punctuation, bullets and columns, too.
            [true, true] => {
                letter || ended || begun || a.is_numeric() || matches!(c, '+' | '/' | '&')
            }
            // A hyphen within a word, or between digits, is none.
            [false, false] if c == '-' && a.is_alphanumeric() => {
                let number = left.trim_end_matches(|c: char| c.is_numeric() || c == '.');
                let exponent = a.is_numeric() && number.ends_with('^');
                letter || exponent || opens(b) || a.is_numeric() && !b.is_alphanumeric()
            }
            [false, false] => true,
            _ => false,
        }
    }

    /// Whether a bracket opens or closes an interval, such as `[1, 2)`.
    fn is_interval(&mut self) -> bool {
        let closes = self.interval_end == Some(self.at);
        let inside = self.rest().get(1..).unwrap_or_default();
        let end = inside.chars().take(INTERVAL).position(|c| !may_stand_between(c));
        let end = end.and_then(|at| inside.char_indices().nth(at));
        let inner = end.filter(|(_, c)| is_bracket(*c)).and_then(|(end, _)| inside.get(..end));
        let Some(inner) = inner.filter(|inner| is_pair(inner)) else { return closes };
        self.interval_end = Some(self.at + 1 + inner.len());
        true
    }
}

fn starts_number(c: Option<char>, next: Option<char>) -> bool {
    let numeric = |c: Option<char>| c.is_some_and(char::is_numeric);
    numeric(c) || c == Some('.') && numeric(next)
}

/// Bytes of a number with its thousands set off by commas, and what follows.
fn thousands(text: &str) -> Option<(usize, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    if !(1..=3).contains(&first) || text.starts_with('0') {
        return None;
    }
    let mut at = first;
    while let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix(','))
        && digits(rest) == 3
    {
        at += 4;
    }
    let rest = text.get(at..).unwrap_or_default();
    let touches = rest.starts_with(|c: char| c.is_numeric() || c == ',');
    (at > first && !touches).then_some((at, rest))
}

/// Whether what was read is a number to which an exponent with a sign may belong: `1.5e`.
fn is_mantissa(token: &str) -> bool {
    let number = token.trim_start_matches(['+', '-']).strip_suffix('e').unwrap_or_default();
    let digit = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    digit && number.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

fn may_stand_between(c: char) -> bool {
    c.is_ascii_digit()
        || c.is_whitespace()
        || matches!(c, '.' | ',' | ';' | '+' | '-' | 'e' | '%' | '‰')
        || is_symbol(c)
}

/// Whether a text is two numbers or infinities with a comma or a semicolon between them.
fn is_pair(inner: &str) -> bool {
    inner.match_indices([',', ';']).any(|(at, _)| {
        let (a, b) = (inner.get(..at), inner.get(at + 1..));
        a.is_some_and(is_bound) && b.is_some_and(is_bound)
    })
}

fn is_bound(text: &str) -> bool {
    let unit = |c: char| matches!(c, '%' | '‰') || is_symbol(c) && c != '∞';
    let text = text.trim();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let text = text.strip_prefix(unit).unwrap_or(text);
    let text = text.strip_suffix(unit).unwrap_or(text).trim_end();
    let plain = match thousands(text) {
        Some((bytes, rest)) => {
            return rest.strip_prefix('.').map_or(text.len() == bytes, |rest| {
                !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit())
            });
        }
        None => text,
    };
    plain == "∞"
        || plain.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && !plain.contains([',', ';', '∞'])
            && plain.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut all = Vec::new();
        tokens(&nfc(text), |token| all.push(token.to_owned()));
        all.join(" ")
    }

    #[test]
    fn tokens_of_texts() {
        #[rustfmt::skip]
        let rows = [
            // Numbers.
            ("-5", "-5"), ("−5", "-5"), ("(-5)", "-5"), ("+5", "+5"), (".5", ".5"), ("-.5", "-.5"),
            ("5-3", "5 3"), ("10–20", "10 20"), ("a -5", "a -5"), ("x=-1", "x = -1"),
            ("(1)-2", "1 - 2"), ("1e5", "1e5"), ("1E-5", "1e-5"), ("2.5e+3 V", "2.5e+3 v"),
            ("v1.2.3", "v1.2.3"), ("3.14", "3.14"), ("3.", "3"), ("10²", "10²"),
            ("1,000", "1000"), ("1,000,000.50", "1000000.50"), ("$1,247.50", "$ 1247.50"),
            ("1,00", "1 00"), ("0,123", "0 123"), ("1,0000", "1 0000"), ("12,345,67", "12 345 67"),
            ("1234,567", "1234 567"), ("-1,000", "-1000"), ("1,000 and", "1000 and"),
            ("-$5", "- $ 5"), ("$-5", "$ -5"), ("−€5", "- € 5"), ("US-$5", "us $ 5"), ("-5°C", "-5 ° c"),
            ("-∞", "- ∞"), ("5kg", "5kg"), ("-5kg", "-5kg"), ("wait...5", "wait 5"),
            // Words.
            ("C++", "c++"), ("C#", "c#"), ("F♯", "f ♯"), ("A-.", "a-"), ("A+ or A-", "a+ or a-"),
            ("18+", "18+"), ("\"C++\"", "c++"), ("**C++**", "c++"), ("C+++", "c"), ("C++11", "c + +11"),
            ("well-known", "well known"), ("the_firm", "the firm"), ("don't", "don t"),
            ("COVID-19", "covid 19"), ("Straße", "strasse"), ("STRAẞE", "strasse"), ("ﬁne", "fine"),
            ("ＡＢＣ－５％", "abc 5 %"), ("e.g.", "e g"), ("word---next", "word next"),
            // Marks.
            ("ข่าว", "ข่าว"), ("ไม้ ไม่", "ไม้ ไม่"), ("பல்", "பல்"), ("राज़", "राज\u{93c}"), ("x̄", "x\u{304}"), ("v⃗+w", "v⃗ + w"),
            ("x̄-y", "x\u{304} - y"), ("👍\u{fe0f}", "👍"), ("5\u{fe0f}\u{20e3}", "5"), ("İstanbul ΟΔΟΣ οδος", "istanbul οδοσ οδοσ"),
            // Signs of names, and other dashes.
            ("y = -x", "y = - x"), ("-(x+1)", "- x + 1"), ("-π", "- π"), ("−x", "- x"), ("a·-b", "a - b"),
            ("–5", "-5"), ("‑5", "-5"), ("—5", "-5"), ("﹣5", "-5"), ("–x", "- x"), ("—Yes", "yes"), ("-√2", "- √ 2"),
            ("U.S.-based", "u s based"), ("\"high\"-type", "high type"), ("\"-x\"", "- x"), ("**-x**", "- x"), ("2*-x", "2 * - x"),
            ("--all", "all"), ("a – b", "a b"),
            // Comparisons.
            ("> 5", "> 5"), ("≥5", ">= 5"), (">=5", ">= 5"), ("x != 1", "x != 1"), ("x ≠ 1", "x != 1"),
            ("~5", "~ 5"), ("no!", "no"), ("!a", "! a"), ("5!", "5 !"), ("(n-1)!", "n - 1 !"), ("It is 5!", "it is 5"), ("sin(5!)", "sin 5 !"), ("~~no~~", "no"), ("a => b", "a => b"),
            // Symbols.
            ("50%", "50 %"), ("5‰", "5 ‰"), ("€5", "€ 5"), ("👍", "👍"), ("± 2", "± 2"), ("2^10", "2 ^ 10"),
            ("1/5", "1 / 5"), ("and/or", "and / or"), ("km/h", "km / h"), ("5 / 3", "5 / 3"), ("price / unit", "price / unit"), ("./a/", "a"), ("http://a", "http a"), ("2024-01-02", "2024 01 02"),
            // Chinese and Japanese.
            ("東京都", "東 京 都"), ("第3章", "第 3 章"), ("コーヒー", "コ ー ヒ ー"), ("한국어", "한국어"),
            ("気温-5度", "気 温 -5 度"),
            // Operators.
            ("a + b", "a + b"), ("a+b", "a + b"), ("2*3", "2 * 3"), ("5 - 3", "5 - 3"), ("x-1", "x - 1"),
            ("foo - bar", "foo bar"), ("- item", "item"), ("* item", "item"), ("a:\n- 5 b", "a 5 b"),
            ("*it*", "it"), ("**5**", "5"), ("(a)-(b)", "a - b"), ("5% + 3%", "5 % + 3 %"),
            ("5 * -3", "5 * -3"), ("5 -3", "5 -3"), ("T-shirt", "t - shirt"),
            ("costs + tax", "costs + tax"), ("a && b", "a && b"), ("x^3-8x", "x ^ 3 - 8x"), ("a || b", "a || b"), ("AT&T", "at & t"), ("|x|", "| x |"),
            ("P(A|B)", "p a | b"), ("foo | bar", "foo bar"), ("f'(x)", "f ' x"), ("5′ 6″", "5 ′ 6 ″"), ("'5'", "5"), ("it's (so)", "it s so"),
            // Intervals.
            ("[10%, 20%]", "[ 10 % 20 % ]"), ("($1, $5)", "( $ 1 $ 5 )"),
            ("[1, 2)", "[ 1 2 )"), ("(1, 2]", "( 1 2 ]"), ("]1; 2[", "] 1 2 ["), ("f(1,2)", "f ( 1 2 )"),
            ("(−∞, 5]", "( - ∞ 5 ]"), ("[1,000, 2,000)", "[ 1 000 2000 )"), ("[1,200]", "[ 1200 ]"),
            ("(a, b)", "a b"), ("(5)", "5"), ("[1, 2, 3]", "1 2 3"), ("(1, 2", "1 2"),
            ("[0, 1][2, 3]", "[ 0 1 ] [ 2 3 ]"), ("]1, 2[3, 4]", "] 1 2 [ 3 4 ]"),
            // Nothing.
            ("", ""), ("!?…", ""), ("— • \u{300}", ""),
        ];
        let wrong = rows.iter().filter(|(text, want)| of(text) != *want);
        let wrong: Vec<_> = wrong.map(|(text, want)| (text, of(text), want)).collect();
        assert!(wrong.is_empty(), "text, tokens, wanted: {wrong:#?}");
    }

    #[test]
    fn prose_threshold() {
        let words = |n: usize| "word ".repeat(n);
        for (text, prose) in [
            (words(12), false),
            (words(13), true),
            ("字".repeat(36), false),
            ("字".repeat(37), true),
            ("字".repeat(35) + " a", true),
        ] {
            assert_eq!(tokens(&text, |_| {}), prose, "{text}");
        }
    }
}
