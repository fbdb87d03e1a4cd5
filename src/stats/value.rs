//! Values prepared for repeated comparison: each is read once, and equal parts get equal numbers.

use super::effort::sequence_steps;
use super::intern::{Hash, Interner};
use super::nfc::nfc;
use super::schema::{Kind, NodeId, Schema};
use super::tokens::tokens;
use crate::json::Json;
use crate::limits::{ASSIGN_WORK, ASSIGNED_ITEMS};
use crate::order::{sort_by, sort_numbers};

/// A value prepared for comparison. It does not contain the JSON it was made from.
#[derive(Debug, Clone)]
pub struct Value {
    /// Equal values have equal classes (§2.1).
    pub(crate) class: u32,
    /// Values whose distance is 0 have equal votes, and no others (§2.6).
    pub(crate) vote: u32,
    /// Values of equal votes whose lists are in the same order have equal orders.
    pub(crate) order: u32,
    /// Hash of the content, independent of the order of interning.
    pub(super) hash: u64,
    pub(super) body: Body,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Null,
    Bool,
    Number(Number),
    Text(Text),
    Array(Box<Array>),
    Object(Vec<Member>),
}

#[derive(Debug, Clone)]
pub(super) struct Text {
    /// The numbers of the distinct tokens, sorted.
    pub(super) words: Vec<u32>,
    /// Whether it has more than twelve tokens.
    pub(super) prose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) double: f64,
    /// The exact value, if an i64 or u64 can hold it.
    pub(super) integer: Option<i128>,
}

#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) items: Vec<Value>,
    /// The classes of the items, sorted.
    pub(super) members: Vec<u32>,
    /// Hash and class of each item's key and the item's index, sorted; `None` if a key is missing
    /// or occurs twice.
    pub(super) keys: Option<Vec<(u64, u32, usize)>>,
    pub(super) nested: bool,
    pub(super) numbers: bool,
    /// Approximate number of leaf comparisons for comparing it with itself.
    pub(super) work: u64,
    /// Steps of comparing it with itself that are not linear in its size, as its kind says, and as
    /// they were if its items were assigned.
    pub(super) steps: u64,
    pub(super) assigned: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: Box<str>,
    /// Its index in the original object.
    pub(super) place: usize,
    pub(super) value: Value,
}

impl Value {
    pub(super) fn kind(&self) -> Type {
        match self.body {
            Body::Null => Type::Null,
            Body::Bool => Type::Bool,
            Body::Number(_) => Type::Number,
            Body::Text(_) => Type::Text,
            Body::Array(_) => Type::Array,
            Body::Object(_) => Type::Object,
        }
    }

    /// The nearest double of a number.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self.body {
            Body::Number(number) => Some(number.double),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.body, Body::Null)
    }

    pub(crate) fn is_number(&self) -> bool {
        self.kind() == Type::Number
    }

    pub(crate) fn is_bool(&self) -> bool {
        matches!(self.body, Body::Bool)
    }

    /// Name, index in the original object, and value of each member, sorted by name.
    pub(crate) fn members(&self) -> Option<impl Iterator<Item = (&str, usize, &Self)>> {
        match &self.body {
            Body::Object(members) => {
                Some(members.iter().map(|one| (&*one.key, one.place, &one.value)))
            }
            _ => None,
        }
    }

    /// The items of an array with distinct keys, by class of the key.
    pub(crate) fn keyed_items(&self) -> Option<Vec<(u32, &Self)>> {
        let Body::Array(array) = &self.body else { return None };
        let item = |(_, class, at): &(u64, u32, usize)| Some((*class, array.items.get(*at)?));
        array.keys.as_ref()?.iter().map(item).collect()
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.body {
            Body::Array(array) => Some(&array.items),
            _ => None,
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Body::Object(members) = &self.body else { return None };
        let at = members.binary_search_by(|member| (*member.key).cmp(name)).ok()?;
        members.get(at).map(|member| &member.value)
    }

    pub(super) fn work(&self) -> u64 {
        match &self.body {
            Body::Array(array) => array.work,
            Body::Object(members) => {
                members.iter().fold(1, |sum: u64, member| sum.saturating_add(member.value.work()))
            }
            _ => 1,
        }
    }

    /// Steps of comparing it with itself that are not linear in its size.
    fn steps(&self) -> u64 {
        match &self.body {
            Body::Array(array) => array.steps,
            Body::Object(members) => {
                members.iter().fold(0, |sum: u64, member| sum.saturating_add(member.value.steps()))
            }
            _ => 0,
        }
    }
}

/// Prepares values for comparison.
pub(super) struct Reading<'a> {
    pub(super) schema: &'a Schema,
    pub(super) interner: &'a mut Interner,
    pub(super) null_is_missing: bool,
}

impl Reading<'_> {
    pub(super) fn value(&mut self, json: &Json<'_>, node: NodeId) -> Value {
        let mut value = match json {
            Json::Null | Json::Host(_) => self.leaf(b'n', "", Body::Null),
            Json::Bool(value) => self.leaf(b'b', if *value { "1" } else { "0" }, Body::Bool),
            Json::Number(text) => {
                let (number, text) = number(text);
                self.leaf(b'#', &text, Body::Number(number))
            }
            Json::String(text) => self.text(text, self.schema.node(node).kind),
            Json::Array(items) => self.array(items, node),
            Json::Object(members) => self.object(members, node),
        };
        match self.schema.node(node).kind {
            Some(Kind::Category | Kind::Ordinal) => value.vote = value.class,
            Some(Kind::Ignore) => value.vote = self.interner.text(b'i', ""),
            _ => return value,
        }
        value.order = value.vote;
        value
    }

    /// Returns the order of a value, or its vote if the schema declares it a set.
    fn order(&self, value: &Value, node: NodeId) -> u32 {
        let unordered = self.schema.node(node).unordered && value.kind() == Type::Array;
        if unordered { value.vote } else { value.order }
    }

    fn leaf(&mut self, mark: u8, key: &str, body: Body) -> Value {
        let class = self.interner.text(mark, key);
        let hash = Hash::EMPTY.bytes(&[mark]).bytes(key.as_bytes());
        Value { class, vote: class, order: class, hash: hash.0, body }
    }

    fn text(&mut self, text: &str, kind: Option<Kind>) -> Value {
        let text = nfc(text);
        let none = Text { words: Vec::new(), prose: false };
        let mut value = self.leaf(b'"', &text, Body::Text(none));
        if matches!(kind, Some(Kind::Category | Kind::Ordinal | Kind::Ignore)) {
            return value;
        }
        let mut words = Vec::new();
        let prose = tokens(&text, |token| words.push(self.interner.text(b'w', token)));
        if !words.is_empty() {
            value.vote = self.interner.list(b't', words.iter().copied());
            value.order = value.vote;
        }
        sort_numbers(&mut words);
        words.dedup();
        value.body = Body::Text(Text { words, prose });
        value
    }

    fn array(&mut self, items: &[Json<'_>], node: NodeId) -> Value {
        let inner = self.schema.items(node);
        let items: Vec<Value> = items.iter().map(|item| self.value(item, inner)).collect();
        let class = self.interner.list(b'[', items.iter().map(|item| item.class));
        let hash = items.iter().fold(Hash::EMPTY.bytes(b"["), |hash, item| hash.with(item.hash));
        let mut members: Vec<u32> = items.iter().map(|item| item.class).collect();
        sort_numbers(&mut members);
        let nested = items.iter().any(|item| item.kind() >= Type::Array);
        let numbers = items.iter().all(|item| item.kind() == Type::Number);
        let schema = self.schema.node(node);
        let own = schema.kind.filter(|kind| kind.needs().is_none_or(|needs| needs == Type::Array));
        let kind = own.unwrap_or_else(|| by_content(nested, numbers && !items.is_empty()));
        let key = schema.key.as_deref().filter(|_| kind == Kind::Keyed);
        let keys = key.and_then(|key| keys(&items, key));
        let vote = match (kind, &keys) {
            (Kind::Set, _) => {
                let mut distinct = members.clone();
                distinct.dedup();
                self.interner.list(b'S', distinct.into_iter())
            }
            (Kind::Multiset, _) => self.interner.list(b'M', members.iter().copied()),
            (Kind::Keyed, Some(keys)) => {
                let vote = |at: &usize| items.get(*at).map_or(0, |item| item.vote);
                let pairs = keys.iter().flat_map(|(_, key, at)| [*key, vote(at)]);
                self.interner.list(b'K', pairs)
            }
            (Kind::Keyed | Kind::Assign, _) => {
                self.interner.list(b'A', sorted_votes(&items).into_iter())
            }
            (Kind::Positional, _) => self.interner.list(b'P', items.iter().map(|item| item.vote)),
            _ => class,
        };
        let order = match kind {
            Kind::Set => self.interner.list(b's', distinct_classes(&items).into_iter()),
            Kind::Keyed | Kind::Assign | Kind::Positional => {
                let orders: Vec<u32> = items.iter().map(|item| self.order(item, inner)).collect();
                self.interner.list(b'o', orders.into_iter())
            }
            _ => class,
        };
        let each = items.iter().fold(1, |sum: u64, item| sum.saturating_add(item.work()));
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let work = match kind {
            Kind::Assign | Kind::Keyed if keys.is_none() => each.saturating_mul(count.max(1)),
            _ => each,
        };
        let inner = items.iter().fold(0, |sum: u64, item| sum.saturating_add(item.steps()));
        // Each item is compared with each; what is then chosen from is cubic at worst.
        let cube = count.saturating_mul(count).saturating_mul(count) / 4;
        let assigned = each.saturating_add(inner).saturating_mul(count).saturating_add(cube);
        let steps = match kind {
            Kind::Assign | Kind::Keyed if keys.is_none() => {
                if count > ASSIGNED_ITEMS as u64 || work > ASSIGN_WORK { 0 } else { assigned }
            }
            Kind::Positional | Kind::Keyed => inner,
            Kind::Sequence => sequence_steps(count),
            _ => 0,
        };
        let array = Array { items, members, keys, nested, numbers, work, steps, assigned };
        Value { class, vote, order, hash: hash.0, body: Body::Array(Box::new(array)) }
    }

    fn object(&mut self, members: &[(std::borrow::Cow<'_, str>, Json<'_>)], node: NodeId) -> Value {
        let mut own = Vec::with_capacity(members.len());
        for (place, (key, json)) in members.iter().enumerate() {
            if self.null_is_missing && json.is_null() {
                continue;
            }
            let value = self.value(json, self.schema.member(node, key).0);
            own.push(Member { key: key.as_ref().into(), place, value });
        }
        sort_by(&mut own, |a, b| a.key.cmp(&b.key));
        let mut hash = Hash::EMPTY.bytes(b"{");
        let (mut ids, mut votes, mut orders) = (Vec::new(), Vec::new(), Vec::new());
        for Member { key, value, .. } in &own {
            let name = self.interner.text(b'k', key);
            ids.extend([name, value.class]);
            hash = hash.bytes(key.as_bytes()).with(value.hash);
            let (inner, weight) = self.schema.member(node, key);
            if weight > 0.0 {
                votes.extend([name, value.vote]);
                orders.extend([name, self.order(value, inner)]);
            }
        }
        let class = self.interner.list(b'{', ids.into_iter());
        let vote = self.interner.list(b'O', votes.into_iter());
        let order = self.interner.list(b'o', orders.into_iter());
        Value { class, vote, order, hash: hash.0, body: Body::Object(own) }
    }
}

/// The votes of items, sorted.
pub(super) fn sorted_votes(items: &[Value]) -> Vec<u32> {
    let mut votes: Vec<u32> = items.iter().map(|item| item.vote).collect();
    sort_numbers(&mut votes);
    votes
}

/// The classes of items in the order in which they occur first.
fn distinct_classes(items: &[Value]) -> Vec<u32> {
    let mut places: Vec<(u32, usize)> =
        items.iter().enumerate().map(|(at, item)| (item.class, at)).collect();
    sort_by(&mut places, Ord::cmp);
    places.dedup_by_key(|(class, _)| *class);
    sort_by(&mut places, |(_, a), (_, b)| a.cmp(b));
    places.into_iter().map(|(class, _)| class).collect()
}

/// The kind of an array for which a schema has none (§2.2).
pub(super) fn by_content(nested: bool, numbers: bool) -> Kind {
    if nested {
        Kind::Assign
    } else if numbers {
        Kind::Positional
    } else {
        Kind::Multiset
    }
}

/// Prepares a value that no schema describes.
pub(super) fn plain(json: &Json<'_>, interner: &mut Interner) -> Value {
    let schema = Schema::free();
    Reading { schema: &schema, interner, null_is_missing: false }.value(json, schema.root())
}

fn keys(items: &[Value], key: &str) -> Option<Vec<(u64, u32, usize)>> {
    let mut all = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let key = item.member(key)?;
        all.push((key.hash, key.class, place));
    }
    sort_by(&mut all, Ord::cmp);
    let twice = all.windows(2).any(|pair| matches!(pair, [a, b] if a.1 == b.1));
    (!twice).then_some(all)
}

/// A number and the text of its equality class: the digits of an integer, or the double.
fn number(text: &str) -> (Number, std::borrow::Cow<'_, str>) {
    let double = Json::Number(text.into()).as_f64().unwrap_or(0.0);
    let positive = text.parse::<u64>().ok().map(i128::from);
    let integer = positive.or_else(|| text.parse::<i64>().ok().map(i128::from));
    if integer.is_some() || is_shortest(text) {
        return (Number { double, integer }, text.into());
    }
    // An integer of hundreds of digits exceeds the range of doubles; its distance uses the nearest one.
    let double = if double.is_finite() { double } else { f64::MAX.copysign(double) };
    if crate::json::is_rounded(text) {
        return (Number { double, integer }, text.into());
    }
    (Number { double, integer }, crate::json::number_text(double).into())
}

/// Whether a literal is the text of its double for certain: up to 15 digits with a fraction that
/// does not end in zero. Two such literals are two doubles, so there is no shorter one.
fn is_shortest(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let small = whole.trim_start_matches('-') == "0" && fraction.starts_with("00000");
    digits(whole.trim_start_matches('-'))
        && digits(fraction)
        && !fraction.ends_with('0')
        && !small
        && text.len() <= 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_that_is_not_written_again_is_the_text_of_its_double() {
        let mut state = 1_u64;
        let mut seen = 0;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let digits = (state >> 20).to_string();
            let digits = digits.get(..1 + usize::try_from(state >> 60).unwrap()).unwrap_or(&digits);
            let at = usize::try_from(state >> 33).unwrap() % (digits.len() + 7);
            let literal = match digits.split_at_checked(at) {
                Some((whole, fraction)) => format!("-{whole}.{fraction}"),
                None => format!("0.{}{digits}", "0".repeat(at - digits.len())),
            };
            if is_shortest(&literal) {
                seen += 1;
                let double: f64 = literal.parse().unwrap();
                assert_eq!(crate::json::number_text(double), literal);
            }
        }
        assert!(seen > 10_000, "{seen}");
        for other in ["1", "1.0", "1e5", "-1.5e3", "0.0000001", "0.10", "1234567890123456.5"] {
            assert!(!is_shortest(other), "{other}");
        }
    }
}
