//! The text of a number: RFC 8785 §3.2.2.3, which is ECMAScript's `Number::toString`.

use std::borrow::Cow;

use super::decimal;

/// Returns the canonical text of a JSON number literal. `None` if it is not a plain integer and is
/// too large for a finite double.
///
/// `literal` must match the grammar of RFC 8259 §6.
pub(super) fn canonical(literal: &str) -> Option<Cow<'_, str>> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    let integer = digits.bytes().all(|b| b.is_ascii_digit());
    // An integer of up to 15 digits is its own canonical text, except `-0`.
    if integer && digits.len() <= 15 {
        return Some(if literal == "-0" { Cow::Borrowed("0") } else { Cow::Borrowed(literal) });
    }
    let double = decimal::parse(literal);
    if !double.is_finite() {
        // A plain integer of any size keeps its digits. Any other literal has no canonical text.
        return integer.then_some(Cow::Borrowed(literal));
    }
    if integer {
        return Some(Cow::Borrowed(literal));
    }
    Some(Cow::Owned(ecmascript(double)))
}

/// Whether a literal is a plain integer of which a double keeps other digits: `9007199254740993`,
/// and not `1e23` or `3.14159265358979323846`, which are measures (RFC 8259 §6).
pub(crate) fn is_rounded(literal: &str) -> bool {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if digits.len() <= 15 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let double = decimal::parse(digits);
    let kept = if double.is_finite() { ecmascript(double) } else { String::new() };
    let (mantissa, _) = kept.split_once('e').unwrap_or((&kept, ""));
    mantissa.replace('.', "").trim_end_matches('0') != digits.trim_end_matches('0')
}

/// Returns ECMAScript's text of a finite double.
///
/// zmij computes the digits (shortest, ties to even, as in V8). The layout follows
/// ECMA-262 §6.1.6.1.20, steps 6 to 12.
pub(super) fn ecmascript(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(double.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    // value = 0.d1d2…dk × 10^n
    let mut digits: String = [whole, fraction].concat();
    let mut n = i32::try_from(whole.len()).unwrap_or(0) + exponent;
    let leading = digits.bytes().take_while(|b| *b == b'0').count();
    digits.drain(..leading);
    n -= i32::try_from(leading).unwrap_or(0);
    digits.truncate(digits.trim_end_matches('0').len());
    let k = i32::try_from(digits.len()).unwrap_or(0);

    let mut text = String::with_capacity(25);
    if double < 0.0 {
        text.push('-');
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or(0));
    if k <= n && n <= 21 {
        text.push_str(&digits);
        text.push_str(&zeros(n - k));
    } else if 0 < n && n <= 21 {
        let (head, tail) = split(n).unwrap_or((&digits, ""));
        text.extend([head, ".", tail]);
    } else if -6 < n && n <= 0 {
        text.extend(["0.", &zeros(-n), &digits]);
    } else {
        let (head, tail) = split(1).unwrap_or((&digits, ""));
        let sign = if n > 0 { "+" } else { "-" };
        let dot = if tail.is_empty() { "" } else { "." };
        text.extend([head, dot, tail, "e", sign, &(n - 1).unsigned_abs().to_string()]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_whose_digits_a_double_does_not_keep() {
        for kept in [
            "0",
            "-1",
            "9007199254740991",
            "9007199254740992",
            "-9007199254740994",
            "1234567890123456800",
            "100000000000000000000000",
            "18446744073709552000",
            "9007199254740993.0",
            "9007199254740993e0",
            "0.12345678901234567890",
        ] {
            assert!(!is_rounded(kept), "{kept}");
        }
        for rounded in [
            "9007199254740993",
            "-9007199254740993",
            "1234567890123456789",
            "18446744073709551615",
            "99999999999999999999999",
            &"9".repeat(400),
        ] {
            assert!(is_rounded(rounded), "{rounded}");
        }
    }

    #[test]
    fn layouts() {
        #[rustfmt::skip]
        let rows = [
            // (why,                              literal,                  canonical)
            ("zero has no sign",                  "-0",                     "0"),
            ("nor does zero with a point",        "-0.0",                   "0"),
            ("one number, three spellings",       "1.0",                    "1"),
            ("one number, three spellings",       "1e0",                    "1"),
            ("up to 21 digits stay plain",        "1e20",                   "100000000000000000000"),
            ("then comes an exponent",            "1e21",                   "1e+21"),
            ("six zeros behind the point stay",   "0.000001",               "0.000001"),
            ("seven do not",                      "0.0000001",              "1e-7"),
            ("a tie goes to the even digit",      "1825179627733202.25",    "1825179627733202.2"),
            ("smallest subnormal",                "4.9e-324",               "5e-324"),
            ("largest double",                    "1.7976931348623157e308", "1.7976931348623157e+308"),
            ("underflow is zero",                 "1e-400",                 "0"),
            ("integers keep their digits",        "9007199254740993",       "9007199254740993"),
            ("also those ECMAScript abbreviates", "1000000000000000000000", "1000000000000000000000"),
            ("but not behind an exponent",        "9007199254740993e0",     "9007199254740992"),
        ];
        for (why, literal, want) in rows {
            assert_eq!(canonical(literal).as_deref(), Some(want), "{why}");
        }
        assert_eq!(canonical("1e400"), None, "no double holds it");
        assert_eq!(canonical("-1e400"), None, "no double holds it");
    }
}
