//! Mean, spread and median of numbers (§2.9).

use super::compare::count;
use crate::order::sort_by;

/// Statistics of several numbers. They are never infinite: where the arithmetic would overflow,
/// the numbers are scaled first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numeric {
    /// The number of values.
    pub n: usize,
    /// The mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` for a single number, and if it exceeds the range
    /// of doubles.
    pub stdev: Option<f64>,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The middle value, or the mean of the middle two.
    pub median: f64,
    /// Median absolute deviation from the median, unscaled.
    pub mad: f64,
}

/// Above this magnitude, sums of squared differences may overflow.
const HUGE: f64 = 1e150;

impl Numeric {
    /// Computes the statistics of finite numbers; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        let n = count(values.len());
        let sum: f64 = values.iter().sum();
        let mean = if sum.is_finite() { sum / n } else { values.iter().map(|x| x / n).sum() };
        // Rounding may lead beyond: three times 0.1, say, is more than 0.3.
        let mean: f64 = f64::max(mean, min).min(max);
        // Uses two passes, not Σx² − n·x̄². Huge numbers are scaled by a power of two.
        let scale = if min.abs().max(max.abs()) > HUGE { 2_f64.powi(-600) } else { 1.0 };
        let squares: f64 = values.iter().map(|x| (x * scale - mean * scale).powi(2)).sum();
        let stdev = (squares / (n - 1.0)).sqrt() / scale;
        let middle = median(values)?;
        let away: Vec<f64> =
            values.iter().map(|x| ((x / 2.0 - middle / 2.0).abs() * 2.0).min(f64::MAX)).collect();
        Some(Self {
            n: values.len(),
            mean,
            stdev: (values.len() > 1 && stdev.is_finite()).then_some(stdev),
            min,
            max,
            median: middle,
            mad: median(&away)?,
        })
    }
}

/// The middle number, or the mean of the middle two; `None` if there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let (low, high) = middle_two(values)?;
    let mean = (low + high) / 2.0;
    Some(if mean.is_finite() { mean } else { low / 2.0 + high / 2.0 })
}

/// The two numbers in the middle; the same one twice for an odd count.
fn middle_two(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sort_by(&mut sorted, f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((*sorted.get(last / 2)?, *sorted.get(last.div_ceil(2))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of equal numbers over their count need not be that number: three times 0.1, say.
    #[test]
    fn equal_numbers_have_no_spread() {
        for value in [0.1, 0.7, -1e-7, 1e16 / 3.0, 1.1e200, 5e-324] {
            for n in 2..60 {
                let one = Numeric::of(&vec![value; n]).unwrap();
                assert_eq!((one.mean, one.stdev, one.mad), (value, Some(0.0), 0.0), "{n} {value}");
            }
        }
    }
}
