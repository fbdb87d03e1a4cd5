//! Agreement coefficients over units that share one scale (§1).
//!
//! They do not apply to a bundle as a whole: chance correction pools categories over units, and
//! the fields of a bundle share no scale.

use super::compare::count;
use crate::json::table::names;

names! {
    /// The level of measurement of a scale.
    pub enum Level as "AgreementLevel", "nominal or ordinal" {
        /// The categories have no order.
        Nominal "nominal",
        /// The categories are ordered.
        Ordinal "ordinal",
    }
}

/// Agreement coefficients. Each is `None` where it is undefined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Krippendorff's α: for any number of raters, with missing ratings allowed. Undefined if all
    /// ratings are of one category.
    pub alpha: Option<f64>,
    /// Fleiss' κ: defined only if every rater rates every unit, and not all ratings are of one
    /// category.
    pub fleiss_kappa: Option<f64>,
    /// Gwet's AC1: defined only if at least two categories occur.
    pub gwet_ac1: Option<f64>,
}

/// Computes the coefficients of `ratings`: one row per rater, one column per unit, categories
/// numbered from 0 in their order.
#[must_use]
pub fn agreement(ratings: &[Vec<Option<usize>>], level: Level) -> Agreement {
    let units = ratings.iter().map(Vec::len).max().unwrap_or(0);
    let all = ratings.iter().flatten().flatten();
    let categories = all.max().map_or(0, |last| last + 1);
    // How often each unit got each category.
    let tallies: Vec<Vec<f64>> = (0..units)
        .map(|unit| {
            let mut tally = vec![0.0; categories];
            for category in ratings.iter().filter_map(|row| row.get(unit).copied().flatten()) {
                add(&mut tally, category, 1.0);
            }
            tally
        })
        .collect();
    let raters = count(ratings.len());
    let complete = tallies.iter().all(|tally| tally.iter().sum::<f64>() == raters);
    Agreement {
        alpha: alpha(&tallies, level),
        fleiss_kappa: if complete { kappa(&tallies, raters) } else { None },
        gwet_ac1: ac1(&tallies),
    }
}

/// Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", using coincidences.
fn alpha(tallies: &[Vec<f64>], level: Level) -> Option<f64> {
    let paired = |tally: &&Vec<f64>| tally.iter().sum::<f64>() >= 2.0;
    let categories = tallies.first().map_or(0, Vec::len);
    let mut totals = vec![0.0; categories];
    for tally in tallies.iter().filter(paired) {
        tally.iter().enumerate().for_each(|(category, n)| add(&mut totals, category, *n));
    }
    let n: f64 = totals.iter().sum();
    let squared = |a: usize, b: usize| match level {
        Level::Nominal => 1.0,
        Level::Ordinal => {
            let between: f64 = totals.get(a..=b).unwrap_or_default().iter().sum();
            (between - (at(&totals, a) + at(&totals, b)) / 2.0).powi(2)
        }
    };
    let (mut observed, mut expected) = (0.0, 0.0);
    for a in 0..categories {
        for b in a + 1..categories {
            let apart = squared(a, b);
            expected += at(&totals, a) * at(&totals, b) * apart;
            for tally in tallies.iter().filter(paired) {
                let raters: f64 = tally.iter().sum();
                observed += at(tally, a) * at(tally, b) * apart / (raters - 1.0);
            }
        }
    }
    (expected > 0.0).then(|| 1.0 - (n - 1.0) * observed / expected)
}

/// Share of agreeing pairs of raters, averaged over the units that have a pair.
fn observed_agreement(tallies: &[Vec<f64>]) -> Option<f64> {
    let (mut sum, mut units) = (0.0, 0.0);
    for tally in tallies {
        let raters: f64 = tally.iter().sum();
        if raters >= 2.0 {
            let pairs: f64 = tally.iter().map(|n| n * (n - 1.0)).sum();
            sum += pairs / (raters * (raters - 1.0));
            units += 1.0;
        }
    }
    (units > 0.0).then(|| sum / units)
}

fn kappa(tallies: &[Vec<f64>], raters: f64) -> Option<f64> {
    let observed = observed_agreement(tallies)?;
    let ratings = count(tallies.len()) * raters;
    let categories = tallies.first().map_or(0, Vec::len);
    let share = |category: usize| tallies.iter().map(|tally| at(tally, category)).sum::<f64>();
    let chance: f64 = (0..categories).map(|one| (share(one) / ratings).powi(2)).sum();
    (chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
}

/// Gwet 2008, with the categories that occur.
fn ac1(tallies: &[Vec<f64>]) -> Option<f64> {
    let observed = observed_agreement(tallies)?;
    let rated: Vec<&Vec<f64>> =
        tallies.iter().filter(|tally| tally.iter().sum::<f64>() > 0.0).collect();
    let categories = tallies.first().map_or(0, Vec::len);
    let shares: Vec<f64> = (0..categories)
        .map(|category| {
            let share = |tally: &&Vec<f64>| at(tally, category) / tally.iter().sum::<f64>();
            rated.iter().map(share).sum::<f64>() / count(rated.len())
        })
        .filter(|share| *share > 0.0)
        .collect();
    if shares.len() < 2 {
        return None;
    }
    let spread: f64 = shares.iter().map(|share| share * (1.0 - share)).sum();
    let chance = spread / (count(shares.len()) - 1.0);
    Some((observed - chance) / (1.0 - chance))
}

fn at(list: &[f64], place: usize) -> f64 {
    list.get(place).copied().unwrap_or(0.0)
}

fn add(list: &mut [f64], place: usize, value: f64) {
    if let Some(sum) = list.get_mut(place) {
        *sum += value;
    }
}
