//! Agreement and differences of the replicates, field by field (§2.5 to §2.10).

use super::consensus::{Consensus, Group, is_majority};
use super::replicates::{Evidence, Held, Leaf};
use crate::json::Json;
use crate::order::{sort_by, sort_numbers};
use crate::stats::{self, Agreement, Effort, Kind, Level, Numeric, Value};

/// Steps per unit to which severities are rounded, so that rounding errors do not change their
/// order.
const STEP: f64 = 1e9;

/// The summary of the replicates, which are referred to by index, from 0.
#[derive(Debug)]
pub(super) struct Summary<'e> {
    pub(super) valid_count: usize,
    /// Index and errors of each invalid replicate.
    pub(super) invalid: Vec<(usize, &'e [String])>,
    pub(super) matrix: &'e [Vec<Option<f64>>],
    pub(super) confidence: Option<f64>,
    /// The weighted confidence: outer `None` without weights, inner `None` where it is undefined.
    pub(super) weighted: Option<Option<f64>>,
    pub(super) early_stop: bool,
    pub(super) consensus: Vec<Consensus<'e>>,
    pub(super) disagreements: Vec<Disagreement<'e>>,
    pub(super) distributions: Vec<(String, Distribution<'e>)>,
    pub(super) agreement: Vec<ItemAgreement>,
    /// Fields whose lists were too long for their kind and were compared as multisets.
    pub(super) approximated: Vec<String>,
    /// Number of fields beyond the limit, which are in none of the lists.
    pub(super) beyond: usize,
}

#[derive(Debug)]
pub(super) struct Disagreement<'e> {
    pub(super) field: String,
    pub(super) weight: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    /// Whether the values differ in the order of a list only.
    pub(super) order_only: bool,
    pub(super) values: Vec<Said<'e>>,
    /// Members that a majority of lists have.
    pub(super) common: Vec<&'e Json<'static>>,
}

/// A value and the replicates that have it; `None` if they have no value.
#[derive(Debug)]
pub(super) struct Said<'e> {
    pub(super) value: Option<&'e Json<'static>>,
    pub(super) replicates: Vec<usize>,
    pub(super) invalid: bool,
}

#[derive(Debug)]
pub(super) enum Distribution<'e> {
    Numeric(Numeric),
    Counts { n: usize, missing: usize, counts: Vec<(&'e Json<'static>, usize)> },
}

/// Agreement coefficients over the items of a keyed array, for one member with an enum.
#[derive(Debug)]
pub(super) struct ItemAgreement {
    pub(super) field: String,
    pub(super) member: String,
    pub(super) level: Level,
    pub(super) units: usize,
    pub(super) agreement: Agreement,
}

impl Evidence {
    /// Computes the statistics.
    pub(super) fn statistics(&self) -> Summary<'_> {
        let rules = &self.options;
        let (leaves, total) = self.leaves();
        let invalid = self.entries.iter().enumerate().filter(|(_, entry)| !entry.valid);
        let mut summary = Summary {
            valid_count: self.valid_count(),
            invalid: invalid.map(|(at, entry)| (at, entry.errors.as_slice())).collect(),
            matrix: &self.matrix,
            confidence: stats::confidence(&self.matrix),
            weighted: rules
                .weights
                .as_ref()
                .map(|weights| stats::weighted_confidence(&self.matrix, weights)),
            early_stop: self.agrees(),
            consensus: Vec::new(),
            disagreements: Vec::new(),
            distributions: Vec::new(),
            agreement: Vec::new(),
            approximated: Vec::new(),
            beyond: total - leaves.len(),
        };
        // One for each pair of valid replicates, for all of their fields.
        let pairs = summary.valid_count * summary.valid_count.saturating_sub(1) / 2;
        let mut efforts = vec![self.effort(); pairs];
        for leaf in &leaves {
            let groups = self.groups(leaf, true);
            summary.consensus.extend(self.consensus(leaf, &groups));
            summary.disagreements.extend(self.order_difference(leaf, &groups));
            summary.disagreements.extend(self.disagreement(leaf, groups, &mut efforts));
            let rough = |effort: &mut Effort| std::mem::take(&mut effort.rough);
            if efforts.iter_mut().map(rough).fold(false, |any, one| any | one) {
                summary.approximated.push(leaf.field.clone());
            }
            let distribution = self.distribution(leaf);
            summary.distributions.extend(distribution.map(|one| (leaf.field.clone(), one)));
            summary.agreement.extend(self.item_agreement(leaf));
        }
        let severity = |one: &Disagreement<'_>| {
            let steps = |distance: f64| (distance * STEP).round();
            (steps(one.weight * one.mean), steps(one.max))
        };
        sort_by(&mut summary.disagreements, |a, b| {
            let ((mean_a, max_a), (mean_b, max_b)) = (severity(a), severity(b));
            let order = a.order_only.cmp(&b.order_only);
            let order = order.then(mean_b.total_cmp(&mean_a)).then(max_b.total_cmp(&max_a));
            order.then_with(|| a.field.cmp(&b.field))
        });
        summary
    }

    fn disagreement<'e>(
        &self,
        leaf: &Leaf<'e>,
        groups: Vec<Group<'e>>,
        efforts: &mut [Effort],
    ) -> Option<Disagreement<'e>> {
        let invalid = self.groups(leaf, false);
        let outside = |group: &Group<'_>| !groups.iter().any(|one| one.vote == group.vote);
        if groups.len() < 2 && !invalid.iter().any(outside) {
            return None;
        }
        let (mean, max) = self.spread(leaf, efforts);
        let common = if groups.len() > 1 { self.common_members(leaf) } else { Vec::new() };
        let values = group_values(groups, false).chain(group_values(invalid, true)).collect();
        let (field, weight, order_only) = (leaf.field.clone(), leaf.weight, false);
        Some(Disagreement { field, weight, mean, max, order_only, values, common })
    }

    /// An entry for lists of one class that are in several orders (§2.7).
    fn order_difference<'e>(
        &self,
        leaf: &Leaf<'e>,
        groups: &[Group<'e>],
    ) -> Option<Disagreement<'e>> {
        let orders = groups.iter().filter(|group| group.replicates.len() > 1);
        let orders = orders.map(|group| self.orders(leaf, group)).filter(|orders| orders.len() > 1);
        let orders: Vec<Group<'e>> = orders.flatten().collect();
        (!orders.is_empty()).then(|| Disagreement {
            field: leaf.field.clone(),
            weight: leaf.weight,
            mean: 0.0,
            max: 0.0,
            order_only: true,
            values: group_values(orders, false).collect(),
            common: Vec::new(),
        })
    }

    /// The members that more than half of the valid replicates have in their lists, each as often as
    /// that many have it.
    fn common_members<'e>(&self, leaf: &Leaf<'e>) -> Vec<&'e Json<'static>> {
        let mut found: Vec<(u32, usize, usize, usize, &'e Json<'static>)> = Vec::new();
        for (place, held) in self.held(leaf).enumerate() {
            let Some(held) = held else { continue };
            let (items, json) = (held.value.items(), held.json.as_array());
            let mut own: Vec<(u32, usize, &'e Json<'static>)> = Vec::new();
            let keys = self.comparer.item_keys(leaf.node, items.unwrap_or_default());
            for (at, (key, json)) in keys.into_iter().zip(json.into_iter().flatten()).enumerate() {
                own.push((key, at, json));
            }
            sort_by(&mut own, |a, b| (a.0, a.1).cmp(&(b.0, b.1)));
            for same in own.chunk_by(|a, b| a.0 == b.0) {
                let each = same.iter().enumerate();
                found.extend(each.map(|(nth, (vote, at, json))| (*vote, nth, place, *at, *json)));
            }
        }
        sort_by(&mut found, |a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
        let shared = found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let shared = shared.filter(|same| is_majority(same.len(), self.valid_count()));
        let mut shared: Vec<_> = shared.filter_map(|same| same.first()).collect();
        sort_by(&mut shared, |a, b| (a.2, a.3).cmp(&(b.2, b.3)));
        shared.into_iter().map(|(.., json)| *json).collect()
    }

    /// Mean and maximum distance of the valid pairs. A value missing on one side counts as
    /// distance 1; pairs without any value do not count.
    fn spread(&self, leaf: &Leaf<'_>, efforts: &mut [Effort]) -> (f64, f64) {
        let valid = leaf.at.iter().zip(&self.entries).filter(|(_, entry)| entry.valid);
        let held: Vec<&Option<Held<'_>>> = valid.map(|(held, _)| held).collect();
        let (mut sum, mut max, mut pairs) = (0.0, 0.0_f64, 0.0);
        let mut efforts = efforts.iter_mut();
        for (at, one) in held.iter().enumerate() {
            for other in held.iter().skip(at + 1) {
                let Some(effort) = efforts.next() else { continue };
                let distance = match (one, other) {
                    (None, None) => continue,
                    (Some(one), Some(other)) => {
                        self.comparer.distance_at(leaf.node, one.value, other.value, effort)
                    }
                    _ => 1.0,
                };
                sum += distance;
                max = max.max(distance);
                pairs += 1.0;
            }
        }
        if pairs > 0.0 { (sum / pairs, max) } else { (0.0, 0.0) }
    }

    fn distribution<'e>(&self, leaf: &Leaf<'e>) -> Option<Distribution<'e>> {
        let valid = leaf.at.iter().zip(&self.entries).filter(|(_, entry)| entry.valid);
        let held: Vec<Option<Held<'e>>> = valid.map(|(held, _)| *held).collect();
        let all = |fits: fn(&Value) -> bool| {
            let mut said = held.iter().flatten().filter(|held| !held.value.is_null()).peekable();
            said.peek().is_some() && said.all(|held| fits(held.value))
        };
        match self.comparer.kind(leaf.node) {
            Some(Kind::Category | Kind::Ordinal) => {}
            Some(Kind::Number) => return numeric(&held),
            None if all(Value::is_number) => return numeric(&held),
            None if all(Value::is_bool) => {}
            _ => return None,
        }
        let mut counts: Vec<(u32, &Json<'static>, usize)> = Vec::new();
        for one in held.iter().flatten() {
            match counts.iter_mut().find(|(class, ..)| *class == one.value.class) {
                Some((.., count)) => *count += 1,
                None => counts.push((one.value.class, one.json, 1)),
            }
        }
        sort_by(&mut counts, |(.., a), (.., b)| b.cmp(a));
        let n = held.iter().flatten().count();
        let counts = counts.into_iter().map(|(_, value, count)| (value, count)).collect();
        (n > 0).then_some(Distribution::Counts { n, missing: held.len() - n, counts })
    }

    /// Agreement coefficients of a keyed array whose items have enum members. Other fields have
    /// none, because their units share no scale.
    fn item_agreement(&self, leaf: &Leaf<'_>) -> Vec<ItemAgreement> {
        if self.comparer.kind(leaf.node) != Some(Kind::Keyed) {
            return Vec::new();
        }
        let valid = leaf.at.iter().zip(&self.entries).filter(|(_, entry)| entry.valid);
        let rows: Option<Vec<Vec<(u32, &Value)>>> = valid
            .map(|(held, _)| held.map_or(Some(vec![]), |one| one.value.keyed_items()))
            .collect();
        let Some(rows) = rows.filter(|rows| rows.len() >= 2) else { return Vec::new() };
        let mut units: Vec<u32> = rows.iter().flatten().map(|(key, _)| *key).collect();
        sort_numbers(&mut units);
        units.dedup();
        let mut all = Vec::new();
        for (member, node) in self.comparer.item_members(leaf.node) {
            let level = match self.comparer.kind(node) {
                Some(Kind::Category) => Level::Nominal,
                Some(Kind::Ordinal) => Level::Ordinal,
                _ => continue,
            };
            let mut seen: Vec<u32> = Vec::new();
            let mut rate = |value: &Value| match level {
                Level::Ordinal => self.comparer.rank(node, value),
                Level::Nominal => {
                    Some(seen.iter().position(|class| *class == value.class)).map(|known| {
                        known.unwrap_or_else(|| {
                            seen.push(value.class);
                            seen.len() - 1
                        })
                    })
                }
            };
            let ratings: Vec<Vec<Option<usize>>> = rows
                .iter()
                .map(|row| {
                    let mut ratings = vec![None; units.len()];
                    for (key, item) in row {
                        let Ok(unit) = units.binary_search(key) else { continue };
                        if let (Some(place), Some(value)) =
                            (ratings.get_mut(unit), item.member(member))
                        {
                            *place = rate(value);
                        }
                    }
                    ratings
                })
                .collect();
            if ratings.iter().flatten().flatten().next().is_none() {
                continue;
            }
            let (field, member) = (leaf.field.clone(), member.to_owned());
            let agreement = stats::agreement(&ratings, level);
            all.push(ItemAgreement { field, member, level, units: units.len(), agreement });
        }
        all
    }
}

/// Groups as values, those of most replicates first; of invalid ones in their order.
fn group_values(mut groups: Vec<Group<'_>>, invalid: bool) -> impl Iterator<Item = Said<'_>> {
    if !invalid {
        sort_by(&mut groups, |a, b| b.replicates.len().cmp(&a.replicates.len()));
    }
    groups.into_iter().map(move |group| Said {
        value: group.held.map(|held| held.json),
        replicates: group.replicates,
        invalid,
    })
}

fn numeric<'e>(held: &[Option<Held<'e>>]) -> Option<Distribution<'e>> {
    let numbers: Vec<f64> = held.iter().flatten().filter_map(|one| one.value.as_f64()).collect();
    Numeric::of(&numbers).map(Distribution::Numeric)
}

/// Whether a text is a JSON Pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/') && pointer_escapes(text)
}

fn pointer_escapes(text: &str) -> bool {
    text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        for (text, is) in
            [("", true), ("/a/b~1c~0", true), ("a", false), ("/a~", false), ("/~2", false)]
        {
            assert_eq!(is_pointer(text), is, "{text}");
        }
    }
}
