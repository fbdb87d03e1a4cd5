//! Consensus of fields, and settled fields (§2.6, §2.10).

use super::replicates::{Evidence, Held, Leaf};
use super::results::SupportMethod;
use crate::json::{Json, push_token};
use crate::order::sort_by;
use crate::stats::{NodeId, Value};

/// The value that a field has by consensus.
#[derive(Debug)]
pub(super) struct Consensus<'e> {
    pub(super) field: String,
    pub(super) value: &'e Json<'static>,
    /// Number of replicates that support it.
    pub(super) count: usize,
    pub(super) method: SupportMethod,
}

/// Replicates of one class at a field, in order.
#[derive(Debug)]
pub(super) struct Group<'e> {
    /// `None` if they have no value there.
    pub(super) vote: Option<u32>,
    /// The value of the first of them.
    pub(super) held: Option<Held<'e>>,
    pub(super) replicates: Vec<usize>,
}

/// Whether a number of replicates is more than half of the valid ones, and at least two.
pub(super) fn is_majority(count: usize, valid: usize) -> bool {
    count >= 2 && 2 * count > valid
}

/// Whether one of the keys of the valid replicates has the majority.
fn has_majority<K: PartialEq, I: Iterator<Item = K>>(keys: impl Fn() -> I, valid: usize) -> bool {
    // The only one that can have more than half (Boyer and Moore).
    let (mut leader, mut lead) = (None, 0_usize);
    for key in keys() {
        if lead == 0 {
            (leader, lead) = (Some(key), 1);
        } else if leader.as_ref() == Some(&key) {
            lead += 1;
        } else {
            lead -= 1;
        }
    }
    is_majority(keys().filter(|key| leader.as_ref() == Some(key)).count(), valid)
}

impl Evidence {
    /// The classes at a field, in the order of their first replicates.
    pub(super) fn groups<'e>(&self, leaf: &Leaf<'e>, valid: bool) -> Vec<Group<'e>> {
        let mut groups: Vec<Group<'e>> = Vec::new();
        for (place, (held, entry)) in leaf.at.iter().zip(&self.entries).enumerate() {
            let parsed = entry.data.as_ref().is_some_and(|data| data.as_object().is_some());
            if entry.valid != valid || !(valid || parsed) {
                continue;
            }
            let vote = held.map(|held| held.value.vote);
            match groups.iter_mut().find(|group| group.vote == vote) {
                Some(group) => group.replicates.push(place),
                None => groups.push(Group { vote, held: *held, replicates: vec![place] }),
            }
        }
        groups
    }

    /// The replicates of a class by the order of their lists, in the order of their first replicates.
    pub(super) fn orders<'e>(&self, leaf: &Leaf<'e>, group: &Group<'e>) -> Vec<Group<'e>> {
        let mut orders: Vec<Group<'e>> = Vec::new();
        for place in &group.replicates {
            let held = leaf.at.get(*place).copied().flatten();
            let order = held.map(|held| held.value.order);
            match orders.iter_mut().find(|one| one.vote == order) {
                Some(one) => one.replicates.push(*place),
                None => orders.push(Group { vote: order, held, replicates: vec![*place] }),
            }
        }
        orders
    }

    pub(super) fn consensus<'e>(
        &self,
        leaf: &Leaf<'e>,
        groups: &[Group<'e>],
    ) -> Option<Consensus<'e>> {
        let valid = self.valid_count();
        let field = leaf.field.clone();
        let wins = |group: &&Group<'_>| is_majority(group.replicates.len(), valid);
        if let Some(group) = groups.iter().find(wins) {
            let orders = self.orders(leaf, group);
            let shown = orders.iter().find(wins).unwrap_or(group);
            let (count, method) = (group.replicates.len(), SupportMethod::Majority);
            return Some(Consensus { field, value: shown.held?.json, count, method });
        }
        let value = self.middle_number(leaf, groups)?.json;
        Some(Consensus { field, value, count: valid, method: SupportMethod::Median })
    }

    /// The number in the middle, of an even count the lower one, if all are near to each other.
    fn middle_number<'e>(&self, leaf: &Leaf<'e>, groups: &[Group<'e>]) -> Option<Held<'e>> {
        if groups.len() < 2 {
            return None;
        }
        let mut held: Vec<(f64, Held<'e>)> = Vec::new();
        for group in groups {
            let one = group.held?;
            let number = one.value.as_f64()?;
            held.extend(std::iter::repeat_n((number, one), group.replicates.len()));
        }
        let whole = held.iter().all(|(number, _)| number.fract() == 0.0);
        if !self.comparer.has_tolerance(leaf.node, whole) {
            return None;
        }
        sort_by(&mut held, |(a, _), (b, _)| a.total_cmp(b));
        // If the two furthest apart are near, all are.
        let ((_, least), (_, most)) = (held.first()?, held.last()?);
        if !self.comparer.within_tolerance(leaf.node, least.value, most.value) {
            return None;
        }
        held.get((held.len() - 1) / 2).map(|(_, held)| *held)
    }

    /// Whether every field is settled that has a weight and is no prose; if all are prose, every one
    /// (§2.10).
    pub(super) fn is_settled(&self) -> bool {
        let (leaves, total) = self.leaves();
        if total > leaves.len() {
            // More fields than are looked at one by one: only whole replicates of one class will do.
            return self.unanimous("");
        }
        let prose = |leaf: &&Leaf<'_>| {
            self.held(leaf).flatten().any(|held| self.comparer.is_prose(leaf.node, held.value))
        };
        let all = leaves.iter().all(|leaf| prose(&leaf));
        leaves.iter().filter(|leaf| all || !prose(leaf)).all(|leaf| self.is_settled_at(leaf))
    }

    /// What valid replicates have at a field.
    pub(super) fn held<'a, 'e>(
        &'a self,
        leaf: &'a Leaf<'e>,
    ) -> impl Iterator<Item = Option<Held<'e>>> + use<'a, 'e> {
        let valid = leaf.at.iter().zip(&self.entries).filter(|(_, entry)| entry.valid);
        valid.map(|(held, _)| *held)
    }

    fn is_settled_at(&self, leaf: &Leaf<'_>) -> bool {
        let valid = self.valid_count();
        let unordered = self.comparer.is_unordered(leaf.node);
        let has_middle = || self.middle_number(leaf, &self.groups(leaf, true)).is_some();
        let holds = |held: Held<'_>| self.contains_prose(leaf.node, held.value);
        if !self.held(leaf).flatten().any(holds) {
            let votes = || self.held(leaf).map(|held| held.map(|held| held.value.vote));
            let orders = || self.held(leaf).map(|held| held.map(|held| held.value.order));
            return match has_majority(votes, valid) {
                true => unordered || has_majority(orders, valid),
                false => has_middle(),
            };
        }
        let mut prose = Vec::new();
        for held in self.held(leaf).flatten() {
            self.collect_prose(leaf.node, held.value, "", &mut prose);
        }
        sort_by(&mut prose, Ord::cmp);
        prose.dedup();
        // What each replicate says without its prose, once without the order of lists.
        let keys = |ordered: bool| -> Vec<Option<Vec<u32>>> {
            let key =
                |held: Held<'_>| self.key_without_prose(leaf.node, held.value, "", &prose, ordered);
            self.held(leaf).map(|held| held.map(|held| key(held).unwrap_or_default())).collect()
        };
        let agree = |ordered: bool| {
            let keys = keys(ordered);
            has_majority(|| keys.iter(), valid)
        };
        if agree(false) { unordered || agree(true) } else { has_middle() }
    }

    /// Whether there is prose in a list, or in what is in it.
    fn contains_prose(&self, node: NodeId, value: &Value) -> bool {
        if self.comparer.is_prose(node, value) {
            return true;
        }
        if let Some(items) = value.items() {
            let inner = self.comparer.items(node);
            return items.iter().any(|item| self.contains_prose(inner, item));
        }
        let mut members = value.members().into_iter().flatten();
        members.any(|(name, _, value)| {
            let (inner, weight) = self.comparer.member(node, name);
            weight > 0.0 && self.contains_prose(inner, value)
        })
    }

    /// The paths of prose inside of lists, where every item has the same path.
    fn collect_prose(&self, node: NodeId, value: &Value, path: &str, found: &mut Vec<String>) {
        for (path, inner, value) in self.children(node, value, path) {
            if self.comparer.is_prose(inner, value) {
                found.push(path);
            } else {
                self.collect_prose(inner, value, &path, found);
            }
        }
    }

    /// The items of a list, or the members of an object that have a weight, with their paths and nodes.
    fn children<'v>(
        &self,
        node: NodeId,
        value: &'v Value,
        path: &str,
    ) -> Vec<(String, NodeId, &'v Value)> {
        if let Some(items) = value.items() {
            let inner = self.comparer.items(node);
            return items.iter().map(|item| (format!("{path}/*"), inner, item)).collect();
        }
        let members = value.members().into_iter().flatten();
        let part = |(name, _, value): (&str, usize, &'v Value)| {
            let (inner, weight) = self.comparer.member(node, name);
            let mut path = path.to_owned();
            push_token(&mut path, name);
            (weight > 0.0).then_some((path, inner, value))
        };
        members.filter_map(part).collect()
    }

    /// What identifies a value without its prose; `None` for prose.
    fn key_without_prose(
        &self,
        node: NodeId,
        value: &Value,
        path: &str,
        prose: &[String],
        ordered: bool,
    ) -> Option<Vec<u32>> {
        let is_text = value.items().is_none() && value.members().is_none();
        if is_text && prose.binary_search_by(|one| (**one).cmp(path)).is_ok() {
            return None;
        }
        if is_text {
            return Some(vec![0, value.vote]);
        }
        let parts = self.children(node, value, path);
        let mut keys: Vec<Vec<u32>> = Vec::new();
        for (at, inner, part) in &parts {
            let Some(mut key) = self.key_without_prose(*inner, part, at, prose, ordered) else {
                continue;
            };
            if value.members().is_some() {
                key.extend(at.bytes().map(u32::from));
            }
            keys.push(key);
        }
        if value.items().is_some() && (!ordered || self.comparer.is_unordered(node)) {
            sort_by(&mut keys, Ord::cmp);
        }
        let mut all = vec![1];
        for key in keys {
            all.push(u32::try_from(key.len()).unwrap_or(u32::MAX));
            all.extend(key);
        }
        Some(all)
    }
}
