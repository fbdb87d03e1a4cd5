//! When enough replicates agree (§2.4, §2.5, §2.10, §2.12).

use super::compare::count;

/// Tolerance for rounding errors, so that |1.0 − 0.8| is within 0.2.
const NOISE: f64 = 1e-12;

/// The cells of the unordered pairs of valid replicates, row by row.
fn pairs(matrix: &[Vec<Option<f64>>]) -> impl Iterator<Item = (usize, usize, f64)> {
    matrix.iter().enumerate().flat_map(|(i, row)| {
        let cell = move |(j, cell): (usize, &Option<f64>)| cell.map(|cell| (i, j, cell));
        row.iter().enumerate().skip(i + 1).filter_map(cell)
    })
}

/// 1 − the mean distance of the valid pairs, in [0, 1]; `None` with fewer than two valid
/// replicates. This measures agreement, not the probability of being right.
#[must_use]
pub fn confidence(matrix: &[Vec<Option<f64>>]) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0);
    for (.., cell) in pairs(matrix) {
        sum += cell;
        n += 1;
    }
    (n > 0).then(|| (1.0 - sum / count(n)).max(0.0))
}

/// As [`confidence`], with each pair weighted by the product of its replicates' weights. `None`
/// if these sum to 0 or overflow.
#[must_use]
pub fn weighted_confidence(matrix: &[Vec<Option<f64>>], weights: &[f64]) -> Option<f64> {
    let weight = |at: usize| weights.get(at).copied().unwrap_or(1.0);
    let (mut sum, mut all) = (0.0, 0.0);
    for (i, j, cell) in pairs(matrix) {
        let pair = weight(i) * weight(j);
        sum += pair * cell;
        all += pair;
    }
    (all > 0.0 && all.is_finite()).then(|| (1.0 - sum / all).max(0.0))
}

/// Whether the mean distance of the valid pairs is within `epsilon`.
#[must_use]
pub fn within(matrix: &[Vec<Option<f64>>], epsilon: f64) -> bool {
    let (mut sum, mut n) = (0.0, 0);
    for (.., cell) in pairs(matrix) {
        sum += cell;
        n += 1;
    }
    n > 0 && sum / count(n) <= epsilon + NOISE
}

/// Whether the leading answer cannot be caught. `sizes` are the votes for each answer; `left` is
/// the number of votes that may still come.
#[must_use]
pub fn majority_lock(sizes: &[usize], left: usize) -> bool {
    let leader = sizes.iter().copied().max().unwrap_or(0);
    let mut others: Vec<usize> = sizes.to_vec();
    if let Some(at) = others.iter().position(|size| *size == leader) {
        others.swap_remove(at);
    }
    let second = others.into_iter().max().unwrap_or(0);
    leader >= 2 && leader > second + left
}

/// The valid replicate nearest to all others: the one with the smallest row sum, or the first of
/// several.
#[must_use]
pub fn medoid(matrix: &[Vec<Option<f64>>]) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for (at, row) in matrix.iter().enumerate() {
        // All cells of an invalid replicate are `None`, also its diagonal.
        if row.get(at).is_none_or(Option::is_none) {
            continue;
        }
        let sum: f64 = row.iter().flatten().sum();
        if best.is_none_or(|(least, _)| sum < least) {
            best = Some((sum, at));
        }
    }
    best.map(|(_, at)| at)
}
