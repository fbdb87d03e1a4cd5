//! Distances in [0, 1]: symmetric, 0 for equal values (§2.3).

use super::assign::least_cost;
use super::effort::{Effort, sequence_steps};
use super::intern::Interner;
use super::lcs::common_length;
use super::schema::{Kind, Node, NodeId, Schema, rank};
use super::value::{
    Array, Body, Member, Number, Reading, Text, Type, Value, by_content, sorted_votes,
};
use crate::error::Error;
use crate::json::table::{At, read};
use crate::json::{Json, unescaped};
use crate::limits;

/// Declares options with the rows of every comparison behind their own ones.
macro_rules! compared {
    ($(#[$($doc:tt)*])* pub struct $name:ident as $ts:literal { $($rows:tt)* }) => {
        $crate::json::table::options! {
            $(#[$($doc)*])*
            pub struct $name as $ts {
                $($rows)*
                /// JSON Schema with `x-compare`, `x-range`, `x-tolerance`, `x-weight`, `x-key` and
                /// `ignore`, by which values are compared. Without one, the types of the values decide.
                schema "schema?": Option<$crate::json::Json<'static>>;
                /// Whether a member that is `null` counts as absent.
                null_is_missing "nullIsMissing": bool = false;
            }
        }
    };
}
pub(crate) use compared;

compared! {
    /// The options of [`distance`].
    pub struct DistanceOptions as "CoreDistanceOptions" {}
}

impl Default for DistanceOptions {
    fn default() -> Self {
        Self::blank()
    }
}

impl DistanceOptions {
    /// Reads the options from JSON; members that are missing or null have their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }
}

/// The distance between two values, from 0 (the same) to 1.
///
/// # Errors
/// As [`Comparer::new`].
pub fn distance(a: &Json<'_>, b: &Json<'_>, options: &DistanceOptions) -> Result<f64, Error> {
    let mut comparer = Comparer::new(options.schema.as_ref(), options.null_is_missing)?;
    let (a, b) = (comparer.ready(a), comparer.ready(b));
    Ok(comparer.distance(&a, &b))
}

/// Compares values of one schema. Each value is prepared once and can be compared many times.
#[derive(Debug, Clone)]
pub struct Comparer {
    pub(super) schema: Schema,
    interner: Interner,
    null_is_missing: bool,
}

impl Comparer {
    /// Reads a schema; `None` compares by the types of the values.
    ///
    /// # Errors
    /// `options.invalid` with the path of the keyword: a schema that is not an object, an unknown
    /// kind, a weight below 0, a range that is not above 0, or a reference without a target.
    pub fn new(schema: Option<&Json<'_>>, null_is_missing: bool) -> Result<Self, Error> {
        let mut interner = Interner::default();
        let schema = Schema::read(schema, &mut interner)?;
        Ok(Self { schema, interner, null_is_missing })
    }

    /// Prepares a value for comparison with other values of this comparer.
    pub fn ready(&mut self, value: &Json<'_>) -> Value {
        let Self { schema, interner, null_is_missing, .. } = self;
        let root = schema.root();
        Reading { schema, interner, null_is_missing: *null_is_missing }.value(value, root)
    }

    /// The root node of the schema.
    pub(crate) fn root(&self) -> NodeId {
        self.schema.root()
    }

    pub(crate) fn kind(&self, node: NodeId) -> Option<Kind> {
        self.schema.node(node).kind
    }

    /// The node and the weight of a member.
    pub(crate) fn member(&self, node: NodeId, name: &str) -> (NodeId, f64) {
        self.schema.member(node, name)
    }

    /// Names and nodes of the members that the items of an array may have.
    pub(crate) fn item_members(&self, node: NodeId) -> impl Iterator<Item = (&str, NodeId)> {
        let items = self.schema.node(self.schema.items(node));
        items.properties.iter().map(|(name, node, _)| (name.as_str(), *node))
    }

    /// Whether the schema describes what a JSON Pointer names.
    pub(crate) fn declares(&self, pointer: &str) -> bool {
        let mut node = self.root();
        pointer.split('/').skip(1).all(|token| {
            let (member, _) = self.member(node, &unescaped(token));
            let item = token.parse::<usize>().is_ok() && !self.schema.has(member);
            node = if item { self.schema.items(node) } else { member };
            self.schema.has(node)
        })
    }

    /// What the items of a list are compared by: their classes in sets, multisets and sequences, and
    /// their votes where they are matched.
    pub(crate) fn item_keys(&self, node: NodeId, items: &[Value]) -> Vec<u32> {
        let nested = items.iter().any(|item| item.kind() >= Type::Array);
        let own = self.kind(node).filter(|kind| kind.needs() == Some(Type::Array));
        let kind = own.unwrap_or_else(|| by_content(nested, false));
        let exact = matches!(kind, Kind::Set | Kind::Multiset | Kind::Sequence);
        items.iter().map(|item| if exact { item.class } else { item.vote }).collect()
    }

    /// The index of a value in the enum of its node.
    pub(crate) fn rank(&self, node: NodeId, value: &Value) -> Option<usize> {
        rank(self.schema.node(node), value)
    }

    /// The vote of the part of a value that a JSON Pointer names; `None` if there is none.
    pub(crate) fn vote(&self, value: &Value, pointer: &str) -> Option<u32> {
        let mut at = value;
        for token in pointer.split('/').skip(1) {
            let token = unescaped(token);
            at = match &at.body {
                Body::Array(array) => array.items.get(token.parse::<usize>().ok()?)?,
                _ => at.member(&token)?,
            };
        }
        Some(at.vote)
    }

    /// The distance between two values, from 0 (the same) to 1.
    #[must_use]
    pub fn distance(&self, a: &Value, b: &Value) -> f64 {
        self.distance_at(self.root(), a, b, &mut Effort::new(limits::COMPARE_STEPS))
    }

    /// The distance between two values of a node, from 0 to 1, within an effort.
    pub(crate) fn distance_at(
        &self,
        node: NodeId,
        a: &Value,
        b: &Value,
        effort: &mut Effort,
    ) -> f64 {
        #[cfg(test)]
        super::effort::counted::step(1);
        if a.vote == b.vote {
            return 0.0;
        }
        // What differs is apart, however small the quotient.
        let distance = self.apart(node, a, b, effort);
        if distance > 0.0 { distance } else { f64::MIN_POSITIVE }
    }

    /// The distance of two values that do not vote together.
    fn apart(&self, node: NodeId, a: &Value, b: &Value, effort: &mut Effort) -> f64 {
        let own = self.schema.node(node);
        let kind = own
            .kind
            .filter(|kind| kind.needs().is_none_or(|needs| a.kind() == needs && b.kind() == needs));
        match (&a.body, &b.body) {
            (Body::Null, _) | (_, Body::Null) => 1.0,
            _ if kind == Some(Kind::Category) => 1.0,
            _ if kind == Some(Kind::Ordinal) => ordinal(own, a, b),
            (Body::Number(a), Body::Number(b)) => number(*a, *b, own.range),
            (Body::Text(a), Body::Text(b)) => words(a, b),
            (Body::Array(a), Body::Array(b)) => {
                let nested = a.nested || b.nested;
                let numbers = a.numbers && b.numbers;
                self.arrays(node, kind.unwrap_or_else(|| by_content(nested, numbers)), a, b, effort)
            }
            (Body::Object(a), Body::Object(b)) => self.objects(node, a, b, effort),
            // Two different types, or two different booleans.
            _ => 1.0,
        }
    }

    /// The weighted mean over the union of names. A name on one side only counts 1. Both lists
    /// are sorted by name, and the sum is taken in that order.
    fn objects(&self, node: NodeId, a: &[Member], b: &[Member], effort: &mut Effort) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.key.cmp(&b.key),
            };
            let left = if order.is_le() { a.next() } else { None };
            let right = if order.is_ge() { b.next() } else { None };
            let Some(name) = left.or(right) else { break };
            let (inner, weight) = self.schema.member(node, &name.key);
            if weight == 0.0 {
                continue;
            }
            weights += weight;
            sum += weight
                * match (left, right) {
                    (Some(left), Some(right)) => {
                        self.distance_at(inner, &left.value, &right.value, effort)
                    }
                    _ => 1.0,
                };
        }
        // The sum of huge weights may overflow; no distance is above 1.
        if weights > 0.0 { unit(sum / weights) } else { 0.0 }
    }

    fn arrays(&self, node: NodeId, kind: Kind, a: &Array, b: &Array, effort: &mut Effort) -> f64 {
        match kind {
            Kind::Set => jaccard(&a.members, &b.members, true),
            Kind::Sequence => sequence(a, b, effort),
            Kind::Positional => self.positional(node, a, b, effort),
            Kind::Keyed => match (&a.keys, &b.keys) {
                (Some(left), Some(right)) => self.keyed(node, (a, left), (b, right), effort),
                _ => self.assign(node, a, b, effort),
            },
            Kind::Assign => self.assign(node, a, b, effort),
            _ => jaccard(&a.members, &b.members, false),
        }
    }

    fn positional(&self, node: NodeId, a: &Array, b: &Array, effort: &mut Effort) -> f64 {
        let inner = self.schema.items(node);
        let (n, m) = (a.items.len(), b.items.len());
        let common = a.items.iter().zip(&b.items);
        let sum = common.fold(0.0, |sum, (a, b)| sum + self.distance_at(inner, a, b, effort));
        (sum + count(n.abs_diff(m))) / count(n.max(m))
    }

    fn keyed(
        &self,
        node: NodeId,
        (a, left): (&Array, &[(u64, u32, usize)]),
        (b, right): (&Array, &[(u64, u32, usize)]),
        effort: &mut Effort,
    ) -> f64 {
        let inner = self.schema.items(node);
        let (mut sum, mut matched) = (0.0, 0);
        let mut others = right.iter().peekable();
        for (hash, class, at) in left {
            while others.next_if(|other| (other.0, other.1) < (*hash, *class)).is_some() {}
            if let Some((.., to)) = others.next_if(|other| other.1 == *class)
                && let (Some(one), Some(other)) = (a.items.get(*at), b.items.get(*to))
            {
                sum += self.distance_at(inner, one, other, effort);
                matched += 1;
            }
        }
        let union = left.len() + right.len() - matched;
        (sum + count(union - matched)) / count(union)
    }

    /// The mean cost of the best one-to-one matching, with 1 for each unmatched item: OSPA of
    /// order 1.
    fn assign(&self, node: NodeId, a: &Array, b: &Array, effort: &mut Effort) -> f64 {
        let (n, m) = (a.items.len(), b.items.len());
        let long = n.max(m) > limits::ASSIGNED_ITEMS || a.work.max(b.work) > limits::ASSIGN_WORK;
        if long || !effort.pay(a.assigned.max(b.assigned)) {
            effort.rough = true;
            return jaccard(&sorted_votes(&a.items), &sorted_votes(&b.items), false);
        }
        let inner = self.schema.items(node);
        let (rows, columns) = if n <= m { (a, b) } else { (b, a) };
        // What it was paid for includes the lists within.
        let outer = std::mem::replace(&mut effort.paid, true);
        let row = |one: &Value| -> Vec<f64> {
            let cost = |other: &Value| self.distance_at(inner, one, other, effort);
            columns.items.iter().map(cost).collect()
        };
        let costs: Vec<Vec<f64>> = rows.items.iter().map(row).collect();
        effort.paid = outer;
        (least_cost(&costs) + count(n.abs_diff(m))) / count(n.max(m))
    }
}

/// By the longest common subsequence.
fn sequence(a: &Array, b: &Array, effort: &mut Effort) -> f64 {
    let (n, m) = (a.items.len(), b.items.len());
    let steps = sequence_steps(u64::try_from(n.max(m)).unwrap_or(u64::MAX));
    if n.saturating_mul(m) > limits::SEQUENCE_CELLS || !effort.pay(steps) {
        effort.rough = true;
        return jaccard(&a.members, &b.members, false);
    }
    let class = |item: &Value| item.class;
    let a: Vec<u32> = a.items.iter().map(class).collect();
    let b: Vec<u32> = b.items.iter().map(class).collect();
    1.0 - count(common_length(&a, &b)) / count(n.max(m))
}

fn ordinal(node: &Node, a: &Value, b: &Value) -> f64 {
    match (rank(node, a), rank(node, b)) {
        (Some(a), Some(b)) => {
            // If the enum lists a value twice, the highest rank may exceed the number of values.
            let last = node.ranks.iter().map(|(_, rank)| *rank).max().unwrap_or(0);
            count(a.abs_diff(b)) / count(last.max(1))
        }
        _ => 1.0,
    }
}

/// |a − b| divided by the range, or by the larger magnitude; at most 1.
pub(super) fn number(a: Number, b: Number, range: Option<f64>) -> f64 {
    let difference = difference(a, b);
    if difference == 0.0 {
        return 0.0;
    }
    unit(difference / range.unwrap_or_else(|| a.double.abs().max(b.double.abs())))
}

pub(super) fn difference(a: Number, b: Number) -> f64 {
    match (a.integer, b.integer) {
        (Some(a), Some(b)) => whole(a.abs_diff(b)),
        _ => (a.double - b.double).abs(),
    }
}

/// The distance of two texts that are not of one class.
fn words(a: &Text, b: &Text) -> f64 {
    let (a, b) = (&a.words, &b.words);
    match a == b {
        // Two different texts without any tokens.
        true if a.is_empty() => 1.0,
        // The same tokens in another order: less than half of any distance to other tokens.
        true => 0.25 / count(a.len() + 1),
        false => jaccard(a, b, true),
    }
}

/// 1 − |A∩B| / |A∪B| of sorted lists; `distinct` counts each member once.
fn jaccard(a: &[u32], b: &[u32], distinct: bool) -> f64 {
    let (mut both, mut either) = (0_usize, 0_usize);
    let (mut a, mut b) = (a.chunk_by(u32::eq).peekable(), b.chunk_by(u32::eq).peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.first().cmp(&b.first()),
        };
        let size = |run: &[u32]| if distinct { 1 } else { run.len() };
        let left = if order.is_le() { a.next().map_or(0, size) } else { 0 };
        let right = if order.is_ge() { b.next().map_or(0, size) } else { 0 };
        both += left.min(right);
        either += left.max(right);
    }
    if either == 0 { 0.0 } else { 1.0 - count(both) / count(either) }
}

/// Limits a distance to 1. Infinity and NaN become 1.
fn unit(distance: f64) -> f64 {
    if distance < 1.0 { distance } else { 1.0 }
}

#[expect(clippy::cast_precision_loss, reason = "lists are far shorter than 2^53")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}

#[expect(clippy::cast_precision_loss, reason = "subtracted exactly, then converted (§2.3)")]
fn whole(n: u128) -> f64 {
    n as f64
}
