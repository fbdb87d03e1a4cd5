//! Parses a decimal literal as the nearest double, ties to even, as ECMAScript, RFC 8785 and
//! `f64::from_str` do.
//!
//! std's parser contains 10 KB of powers that do not compress, a ninth of the whole core. Most
//! literals need only one exact multiplication or division of doubles, or one division of integers of
//! 128 bits. The others use a division of big integers, which is slower (some microseconds) but needs
//! little code. Tests compare this parser with that of std.

/// Significant digits that are used. 767 digits decide every possible tie (the longest exact
/// halfway point between two doubles). A further digit only shows that the value is larger.
const DIGITS: usize = 770;

/// Returns the double nearest to a literal of the grammar of RFC 8259 §6. Infinite if too large.
pub(super) fn parse(literal: &str) -> f64 {
    let (negative, literal) = match literal.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // An exponent that does not fit in an i32 is far outside of the range of doubles.
    let outside = if exponent.starts_with('-') { i32::MIN / 2 } else { i32::MAX / 2 };
    let exponent: i32 = exponent.parse().unwrap_or(outside);
    let mut exponent = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));

    let mut digits: Vec<u8> = Vec::new();
    for byte in whole.bytes().chain(fraction.bytes()) {
        if digits.len() >= DIGITS {
            // A dropped digit raises the exponent. If it is not zero, the value is larger than the
            // digits that remain, so their last digit must not be zero.
            exponent = exponent.saturating_add(1);
            if byte != b'0'
                && let Some(last) = digits.last_mut().filter(|last| **last == 0)
            {
                *last = 1;
            }
        } else if byte != b'0' || !digits.is_empty() {
            digits.push(byte - b'0');
        }
    }
    let magnitude = magnitude(&digits, exponent);
    if negative { -magnitude } else { magnitude }
}

/// Returns the double nearest to 0.d₁d₂… × 10^(exponent + number of digits).
fn magnitude(digits: &[u8], exponent: i32) -> f64 {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let top = exponent.saturating_add(count);
    if digits.is_empty() || top < -330 {
        return 0.0;
    }
    if top > 310 {
        return f64::INFINITY;
    }
    if count <= 15 && exponent.abs() <= 22 {
        // Both operands are exact doubles, so the single rounding is correct (Clinger 1990).
        let value = digits.iter().fold(0.0, |value, digit| value * 10.0 + f64::from(*digit));
        let power = (0..exponent.abs()).fold(1.0, |power, _| power * 10.0);
        return if exponent < 0 { value / power } else { value * power };
    }
    if count <= 19 && (-27..=18).contains(&exponent) {
        return short(digits, exponent);
    }
    let mut numerator = Big::default();
    for digit in digits {
        numerator.multiply_add(10, u32::from(*digit));
    }
    let mut denominator = Big(vec![1]);
    let scaled = if exponent < 0 { &mut denominator } else { &mut numerator };
    for _ in 0..exponent.unsigned_abs() {
        scaled.multiply_add(10, 0);
    }
    nearest(numerator, denominator)
}

/// As `magnitude`, where both sides of the quotient have less than 127 bits: what a program writes of a
/// double between 10⁻¹⁰ and 10³⁶.
fn short(digits: &[u8], exponent: i32) -> f64 {
    let mut numerator = digits.iter().fold(0, |value, digit| value * 10 + u128::from(*digit));
    let mut denominator = 1_u128;
    let scaled = if exponent < 0 { &mut denominator } else { &mut numerator };
    for _ in 0..exponent.unsigned_abs() {
        *scaled *= 10;
    }
    // With their first bits in one place, the first bit of the quotient is 1 or the second is.
    let shift = numerator.leading_zeros().cast_signed() - denominator.leading_zeros().cast_signed();
    if shift > 0 {
        numerator <<= shift.unsigned_abs();
    } else {
        denominator <<= shift.unsigned_abs();
    }
    let mut quotient: u64 = 0;
    for _ in 0..64 {
        quotient <<= 1;
        if numerator >= denominator {
            numerator -= denominator;
            quotient |= 1;
        }
        numerator <<= 1;
    }
    round(u128::from(quotient), 63 + shift, numerator != 0)
}

/// Returns the double nearest to a quotient.
fn nearest(mut numerator: Big, mut denominator: Big) -> f64 {
    // Scale by a power of two so that the quotient has 64 or 65 bits.
    let shift = 64 - (numerator.bits() - denominator.bits());
    if shift > 0 {
        numerator.shift_left(shift.unsigned_abs());
    } else {
        denominator.shift_left(shift.unsigned_abs());
    }
    denominator.shift_left(65);
    let mut quotient: u128 = 0;
    for _ in 0..66 {
        quotient <<= 1;
        if numerator.subtract(&denominator) {
            quotient |= 1;
        }
        denominator.halve();
    }
    round(quotient, shift, !numerator.is_zero())
}

/// Returns the double nearest to quotient × 2^-shift, of which more than 53 bits are known; `rest`: it is a
/// little more.
fn round(quotient: u128, shift: i32, rest: bool) -> f64 {
    let bits = 128 - i32::try_from(quotient.leading_zeros()).unwrap_or(128);
    let exponent = bits - 1 - shift; // 2^exponent ≤ value < 2^(exponent + 1)
    if exponent > 1023 {
        return f64::INFINITY;
    }
    // Subnormals have fewer bits than 53.
    let precision = 53.min(53 + 1022 + exponent);
    if precision < 0 {
        return 0.0;
    }
    let dropped = bits - precision;
    let significant = quotient >> dropped;
    let below = quotient & ((1 << dropped) - 1);
    let half = 1_u128 << (dropped - 1);
    let up = below > half || (below == half && (rest || significant & 1 == 1));
    let mantissa = u64::try_from(significant).unwrap_or(u64::MAX) + u64::from(up);
    // The hidden bit of a normal mantissa, and a carry out of it, both add to the exponent.
    let biased = u64::try_from(exponent + 1022).unwrap_or(0);
    f64::from_bits((biased << 52) + mantissa)
}

/// A non-negative integer, least significant word first, without leading zero words.
#[derive(Debug, Default)]
struct Big(Vec<u32>);

impl Big {
    fn multiply_add(&mut self, factor: u32, term: u32) {
        let mut carry = u64::from(term);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = low(carry);
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(low(carry));
        }
    }

    fn bits(&self) -> i32 {
        let words = i32::try_from(self.0.len()).unwrap_or(i32::MAX / 32);
        let zeros = self.0.last().map_or(0, |word| word.leading_zeros());
        words * 32 - i32::try_from(zeros).unwrap_or(0)
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn shift_left(&mut self, bits: u32) {
        for _ in 0..bits / 32 {
            self.0.insert(0, 0);
        }
        self.multiply_add(1 << (bits % 32), 0);
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for word in self.0.iter_mut().rev() {
            let next = *word & 1;
            *word = (*word >> 1) | (carry << 31);
            carry = next;
        }
        self.trim();
    }

    /// Subtracts `other` if it is not larger. Returns whether it did.
    fn subtract(&mut self, other: &Self) -> bool {
        let larger = self.0.len().cmp(&other.0.len());
        if larger.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())).is_lt() {
            return false;
        }
        let mut borrow = 0;
        for (place, word) in self.0.iter_mut().enumerate() {
            let subtrahend = u64::from(other.0.get(place).copied().unwrap_or(0)) + borrow;
            borrow = u64::from(u64::from(*word) < subtrahend);
            *word = low(u64::from(*word) + (borrow << 32) - subtrahend);
        }
        self.trim();
        true
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(literal: &str) {
        let std: f64 = literal.parse().unwrap();
        assert_eq!(parse(literal).to_bits(), std.to_bits(), "{literal}");
    }

    #[test]
    fn edges() {
        let tie = "9007199254740993"; // halfway between two doubles
        for literal in [
            "0",
            "-0",
            "0.0",
            "1",
            "-1.5",
            "1e22",
            "1e23",
            "8.5e22",
            tie,
            "9007199254740993.0",
            "9007199254740993.00000000000000000000000000000000000000000000000001",
            "5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.5e-324",
            "4.9e-324",
            "1e-400",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "1e999999999999",
            "-1e-99999999999",
            "0.1e1",
            "100000000000000000000000000000000000000000000000000000000000000000000000",
            "123456789012345678901234567890e-20",
            "6.02214076E+23",
        ] {
            same(literal);
        }
        let long = format!("0.{}1", "0".repeat(400));
        same(&long);
        // Exactly the halfway point between zero and the smallest double, and slightly above it.
        let exact = exact_half();
        same(&exact);
        same(&format!("{exact}000000000000000000001"));
    }

    /// Returns all digits of 2^-1075.
    fn exact_half() -> String {
        let mut digits = vec![1_u8];
        for _ in 0..1075 {
            let mut carry = 0;
            for digit in &mut digits {
                let value = *digit + carry * 10;
                *digit = value / 2;
                carry = value % 2;
            }
            if carry > 0 {
                digits.push(5);
            }
        }
        let text: String = digits.iter().skip(1).map(|digit| char::from(b'0' + digit)).collect();
        format!("0.{text}")
    }

    #[test]
    fn agrees_with_std() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let double = f64::from_bits(next());
            if double.is_finite() {
                same(&format!("{double:e}"));
                same(&format!("{double:.20e}"));
            }
            // Between 2^-40 and 2^70, as a program writes it.
            same(&f64::from_bits(((983 + next() % 110) << 52) | (next() >> 12)).to_string());
            let (digits, exponent) = (next() >> (next() % 64), next() % 60);
            same(&format!("{digits}e-{exponent}"));
            same(&format!("{digits}e{exponent}"));
            same(&format!("{digits}{}e{exponent}", next()));
        }
    }
}
