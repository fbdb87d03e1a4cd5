//! One sort for every list that a turn sorts. Each use of the standard library's sorts adds a copy
//! of them to the wasm.

use std::cmp::Ordering;

/// Returns the places of `len` items in their order; equal items keep theirs. `compare` compares
/// the items at two places. Takes `len · log(len)` comparisons, and `len` if they are in order.
pub(crate) fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    let mut width = 1;
    while width < len {
        let mut merged = Vec::with_capacity(len);
        for pair in places.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at_checked(width).unwrap_or((pair, &[]));
            while let ([first, rest @ ..], [other, others @ ..]) = (left, right) {
                if compare(*first, *other) == Ordering::Greater {
                    merged.push(*other);
                    right = others;
                } else {
                    merged.push(*first);
                    left = rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        places = merged;
        width *= 2;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn sorts_and_keeps_equal_items_in_place() {
        for len in 0..40_usize {
            let items: Vec<usize> = (0..len).map(|n| n * 7 % 5).collect();
            let mut expected: Vec<usize> = (0..len).collect();
            expected.sort_by_key(|place| items[*place]);
            assert_eq!(order(len, &mut |a, b| items[a].cmp(&items[b])), expected);
        }
    }
}
