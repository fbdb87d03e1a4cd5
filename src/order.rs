//! A stable sort that is compiled once. Each use of the standard library's adds a copy of it to the
//! wasm, of some 6 KB.

use std::cmp::Ordering;

/// Returns the places of `len` items in their order; equal items keep theirs. `compare` compares
/// the items at two places. Takes O(n log n) comparisons.
pub(crate) fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    merge_sort((0..len).collect(), compare)
}

/// Sorts by `compare`; equal items keep their order. Takes O(n log n) comparisons.
pub(crate) fn sort_by<T>(list: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let places = order(list.len(), &mut |a, b| match (list.get(a), list.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut old: Vec<Option<T>> = std::mem::take(list).into_iter().map(Some).collect();
    list.extend(places.into_iter().filter_map(|at| old.get_mut(at)?.take()));
}

/// Sorts numbers.
pub(crate) fn sort_numbers(list: &mut Vec<u32>) {
    *list = merge_sort(std::mem::take(list), &mut |a, b| a.cmp(&b));
}

/// A bottom-up merge sort; the length of the runs doubles in each round.
fn merge_sort<T: Copy>(
    mut list: Vec<T>,
    compare: &mut (impl FnMut(T, T) -> Ordering + ?Sized),
) -> Vec<T> {
    let mut width = 1;
    while width < list.len() {
        let mut merged = Vec::with_capacity(list.len());
        for pair in list.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at_checked(width).unwrap_or((pair, &[]));
            while let ([first, rest @ ..], [other, others @ ..]) = (left, right) {
                if compare(*first, *other).is_gt() {
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
        list = merged;
        width *= 2;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_std_does() {
        let mut state = 7_u64;
        for length in 0..200 {
            let mut list: Vec<(u32, usize)> = (0..length)
                .map(|place| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (u32::try_from((state >> 33) % 17).unwrap(), place)
                })
                .collect();
            let mut want = list.clone();
            want.sort_by_key(|(key, _)| *key);
            let mut numbers: Vec<u32> = list.iter().map(|(key, _)| *key).collect();
            sort_numbers(&mut numbers);
            sort_by(&mut list, |a, b| a.0.cmp(&b.0));
            assert_eq!(list, want);
            assert_eq!(numbers, want.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        }
    }
}
