//! The length of the longest common subsequence, 64 cells at a time.

use crate::order::sort_by;

/// Hyyrö 2004, "Bit-parallel LCS-length computation revisited": O(n·m / 64).
pub(super) fn common_length(a: &[u32], b: &[u32]) -> usize {
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(front..).unwrap_or_default(), b.get(front..).unwrap_or_default());
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let a = a.get(..a.len() - back).unwrap_or_default();
    let b = b.get(..b.len() - back).unwrap_or_default();

    // The positions of each member in `a`, as one bit mask per 64-bit word.
    let mut places: Vec<(u32, usize, u64)> =
        a.iter().enumerate().map(|(at, member)| (*member, at / 64, 1 << (at % 64))).collect();
    sort_by(&mut places, |one, other| one.0.cmp(&other.0));
    places.dedup_by(|one, kept| {
        let same = one.0 == kept.0 && one.1 == kept.1;
        kept.2 |= if same { one.2 } else { 0 };
        same
    });
    // A zero bit is a position where the common subsequence grows.
    let mut state = vec![u64::MAX; a.len().div_ceil(64)];
    for member in b {
        #[cfg(test)]
        super::effort::counted::step(state.len());
        let from = places.partition_point(|(known, ..)| known < member);
        let own = places.get(from..).unwrap_or_default();
        let mut own = own.iter().take_while(|(known, ..)| known == member).peekable();
        let mut carry = false;
        for (word, bits) in state.iter_mut().enumerate() {
            let hits = own.next_if(|(_, at, _)| *at == word).map_or(0, |(.., hits)| *hits);
            let matched = *bits & hits;
            let (sum, over) = bits.overflowing_add(matched);
            let (sum, again) = sum.overflowing_add(u64::from(carry));
            carry = over || again;
            *bits = sum | (*bits & !hits);
        }
    }
    let within = |word: usize| (a.len() - word * 64).min(64);
    let zeros = |(word, bits): (usize, &u64)| {
        let beyond = if within(word) == 64 { 0 } else { u64::MAX << within(word) };
        usize::try_from((!(bits | beyond)).count_ones()).unwrap_or(0)
    };
    front + back + state.iter().enumerate().map(zeros).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn textbook(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for one in a {
            let mut corner = 0;
            for (at, other) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if one == other { corner + 1 } else { above.max(row[at]) };
                corner = above;
            }
        }
        row[b.len()]
    }

    #[test]
    fn agrees_with_the_textbook() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = |below: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u32::try_from(state % u64::from(below)).unwrap()
        };
        for round in 0..600_u32 {
            let alphabet = 2 + round % 9;
            let mut list = || (0..next(200)).map(|_| next(alphabet)).collect::<Vec<u32>>();
            let (a, b) = (list(), list());
            assert_eq!(common_length(&a, &b), textbook(&a, &b), "{a:?} {b:?}");
        }
    }
}
