//! Reads how a JSON Schema compares values: kind, range, weight and key of each field (§2.2).
//!
//! Validation is the host's task. This module reads `type`, `enum`, `const`, `format`, `pattern`,
//! bounds, `uniqueItems`, `items`, `properties`, `additionalProperties`, local `$ref`s, and our own
//! `x-compare`, `x-range`, `x-tolerance`, `x-weight`, `x-key`, `ignore`. An `anyOf` or `oneOf` of `null` and one
//! other schema is read as that other schema.

use super::intern::Interner;
use super::value::{Type, Value, plain};
use crate::error::Error;
use crate::json::Json;
use crate::order::sort_by;

/// How two values of a field are compared (§2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Difference divided by the range, or by the larger magnitude.
    Number,
    /// Difference of ranks in the enum.
    Ordinal,
    /// Equal or not.
    Category,
    /// Jaccard distance of the words.
    Text,
    /// Jaccard distance of the distinct members.
    Set,
    /// Jaccard distance of the members with their counts.
    Multiset,
    /// Longest common subsequence.
    Sequence,
    /// Item by item.
    Positional,
    /// Items matched by a key.
    Keyed,
    /// Items in the best one-to-one matching.
    Assign,
    /// Field by field.
    Object,
    /// Not compared.
    Ignore,
}

impl Kind {
    const NAMES: [(&'static str, Self); 12] = [
        ("number", Self::Number),
        ("ordinal", Self::Ordinal),
        ("category", Self::Category),
        ("text", Self::Text),
        ("set", Self::Set),
        ("multiset", Self::Multiset),
        ("sequence", Self::Sequence),
        ("positional", Self::Positional),
        ("keyed", Self::Keyed),
        ("assign", Self::Assign),
        ("object", Self::Object),
        ("ignore", Self::Ignore),
    ];

    /// The type that values must have for this kind; `None` allows any type.
    pub(super) fn needs(self) -> Option<Type> {
        match self {
            Self::Number => Some(Type::Number),
            Self::Text => Some(Type::Text),
            Self::Object => Some(Type::Object),
            Self::Set
            | Self::Multiset
            | Self::Sequence
            | Self::Positional
            | Self::Keyed
            | Self::Assign => Some(Type::Array),
            Self::Ordinal | Self::Category | Self::Ignore => None,
        }
    }
}

/// A node of a schema, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(usize);

/// No node: the schema does not describe the value.
const NONE: NodeId = NodeId(usize::MAX);

#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) kind: Option<Kind>,
    /// The divisor of differences; `None` divides by the larger magnitude.
    pub(super) range: Option<f64>,
    pub(super) integer: bool,
    /// The difference up to which numbers have a consensus (`x-tolerance`).
    pub(super) tolerance: Option<f64>,
    /// Whether the schema declares a set or multiset (`uniqueItems`, `x-compare`).
    pub(super) unordered: bool,
    /// Whether `enum`, `const`, `format`, `pattern` or a category constrains its texts.
    pub(super) constrained: bool,
    /// Equality class and index of each value of an enum, sorted by class.
    pub(super) ranks: Vec<(u32, usize)>,
    pub(super) key: Option<String>,
    items: Option<NodeId>,
    /// Name, node and weight, sorted by name.
    pub(super) properties: Vec<(String, NodeId, f64)>,
    rest: Option<(NodeId, f64)>,
}

/// The nodes of a schema.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    nodes: Vec<Node>,
    root: NodeId,
    free: Node,
}

impl Schema {
    /// A schema without any rules.
    pub(super) fn free() -> Self {
        Self { nodes: Vec::new(), root: NONE, free: Node::default() }
    }

    /// Reads a schema.
    ///
    /// # Errors
    /// `options.invalid` with the path of one of our keywords that has an invalid value.
    pub(super) fn read(schema: Option<&Json<'_>>, interner: &mut Interner) -> Result<Self, Error> {
        let Some(root) = schema.filter(|schema| !schema.is_null()) else { return Ok(Self::free()) };
        if root.as_object().is_none() && root.as_bool().is_none() {
            return Err(invalid("schema", "a JSON Schema object"));
        }
        let mut reading = Reading { root, interner, nodes: Vec::new(), known: Vec::new() };
        let top = reading.node(root, "schema")?;
        Ok(Self { nodes: reading.nodes, root: top, free: Node::default() })
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0).unwrap_or(&self.free)
    }

    /// Whether the schema describes a node.
    pub(super) fn has(&self, id: NodeId) -> bool {
        id.0 < self.nodes.len()
    }

    /// The root node.
    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn items(&self, id: NodeId) -> NodeId {
        self.node(id).items.unwrap_or(NONE)
    }

    /// The node and the weight of a member.
    pub(super) fn member(&self, id: NodeId, name: &str) -> (NodeId, f64) {
        let node = self.node(id);
        match node.properties.binary_search_by(|(own, ..)| own.as_str().cmp(name)) {
            Ok(at) => node.properties.get(at).map_or((NONE, 1.0), |(_, id, w)| (*id, *w)),
            Err(_) => node.rest.unwrap_or((NONE, 1.0)),
        }
    }
}

struct Reading<'a, 'j> {
    root: &'a Json<'j>,
    interner: &'a mut Interner,
    nodes: Vec<Node>,
    /// References that were followed, with their nodes.
    known: Vec<(String, NodeId)>,
}

impl<'a, 'j> Reading<'a, 'j> {
    fn node(&mut self, schema: &'a Json<'j>, path: &str) -> Result<NodeId, Error> {
        let Json::Object(members) = schema else { return Ok(NONE) };
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            if let Some((_, id)) = self.known.iter().find(|(known, _)| known == reference) {
                return Ok(*id);
            }
            let Some(target) = resolve(self.root, reference) else {
                return Err(invalid(&format!("{path}.$ref"), "a reference within the schema"));
            };
            let id = self.reserve();
            self.known.push((reference.to_owned(), id));
            let made = self.node(target, path)?;
            let node = self.nodes.get(made.0).cloned().unwrap_or_default();
            self.set(id, node);
            return Ok(id);
        }
        if let Some(only) = but_null(members) {
            return self.node(only, path);
        }
        let id = self.reserve();
        let mut node = Node { key: key(schema, path)?, ..Node::default() };
        node.kind = kind(schema, path)?;
        node.range = range(schema, path)?;
        node.integer = is_type(schema, "integer") && !is_type(schema, "number");
        node.tolerance = tolerance(schema, path)?;
        let declared = node.kind == Some(Kind::Multiset) && schema.get("x-compare").is_some();
        node.unordered = node.kind == Some(Kind::Set) || declared;
        node.constrained = !matches!(node.kind, None | Some(Kind::Text))
            || ["enum", "const", "format", "pattern"].iter().any(|key| schema.get(key).is_some());
        if node.kind == Some(Kind::Ordinal) {
            let values = schema.get("enum").and_then(Json::as_array).unwrap_or_default();
            for (rank, value) in values.iter().enumerate() {
                node.ranks.push((plain(value, self.interner).class, rank));
            }
            sort_by(&mut node.ranks, Ord::cmp);
            node.ranks.dedup_by_key(|(class, _)| *class);
        }
        if let Some(items) = schema.get("items") {
            node.items = Some(self.node(items, &format!("{path}.items"))?);
        }
        if let Some(Json::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                let path = format!("{path}.properties.{name}");
                let weight = weight(self.root, property, &path)?;
                let own = self.node(property, &path)?;
                node.properties.push((name.clone().into_owned(), own, weight));
            }
            sort_by(&mut node.properties, |(a, ..), (b, ..)| a.cmp(b));
        }
        if let Some(rest @ Json::Object(_)) = schema.get("additionalProperties") {
            let path = format!("{path}.additionalProperties");
            let weight = weight(self.root, rest, &path)?;
            node.rest = Some((self.node(rest, &path)?, weight));
        }
        self.set(id, node);
        Ok(id)
    }

    fn reserve(&mut self) -> NodeId {
        self.nodes.push(Node::default());
        NodeId(self.nodes.len() - 1)
    }

    fn set(&mut self, id: NodeId, node: Node) {
        if let Some(place) = self.nodes.get_mut(id.0) {
            *place = node;
        }
    }
}

/// The only alternative besides `null` in an `anyOf` or `oneOf`.
fn but_null<'a, 'j>(members: &'a [(std::borrow::Cow<'j, str>, Json<'j>)]) -> Option<&'a Json<'j>> {
    let own = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    if own("type").is_some() || own("enum").is_some() || own("x-compare").is_some() {
        return None;
    }
    let all = own("anyOf").or_else(|| own("oneOf"))?.as_array()?;
    let mut others = all.iter().filter(|one| !(is_type(one, "null") && types(one).count() == 1));
    let only = others.next()?;
    (others.next().is_none() && all.len() == 2).then_some(only)
}

fn types<'a>(schema: &'a Json<'_>) -> impl Iterator<Item = &'a str> {
    let named = schema.get("type");
    let one = named.and_then(Json::as_str);
    let many = named.and_then(Json::as_array).unwrap_or_default();
    one.into_iter().chain(many.iter().filter_map(Json::as_str))
}

fn is_type(schema: &Json<'_>, wanted: &str) -> bool {
    types(schema).any(|one| one == wanted)
}

/// The kind of a schema: the first rule of §2.2 that matches.
fn kind(schema: &Json<'_>, path: &str) -> Result<Option<Kind>, Error> {
    if schema.get("ignore").and_then(Json::as_bool) == Some(true) {
        return Ok(Some(Kind::Ignore));
    }
    if let Some(wanted) = schema.get("x-compare") {
        let name = wanted.as_str().unwrap_or_default();
        let found = Kind::NAMES.iter().find(|(known, _)| *known == name);
        let expected = "number, ordinal, category, text, set, multiset, sequence, positional, \
                        keyed, assign, object or ignore";
        let kind = found.map(|(_, kind)| *kind);
        return kind.map(Some).ok_or_else(|| invalid(&format!("{path}.x-compare"), expected));
    }
    let has = |key: &str| schema.get(key).is_some();
    let is = |wanted: &str| is_type(schema, wanted);
    Ok(if has("enum") || has("const") {
        Some(Kind::Category)
    } else if is("number") || is("integer") {
        Some(Kind::Number)
    } else if is("boolean") {
        Some(Kind::Category)
    } else if is("string") {
        Some(if has("format") || has("pattern") { Kind::Category } else { Kind::Text })
    } else if is("array") {
        array_kind(schema)
    } else {
        is("object").then_some(Kind::Object)
    })
}

fn array_kind(schema: &Json<'_>) -> Option<Kind> {
    if schema.get("uniqueItems").and_then(Json::as_bool) == Some(true) {
        return Some(Kind::Set);
    }
    if schema.get("x-key").is_some() {
        return Some(Kind::Keyed);
    }
    let items = schema.get("items").filter(|items| items.as_object().is_some())?;
    if items.get("enum").is_some() {
        return Some(Kind::Multiset);
    }
    let is = |wanted: &str| is_type(items, wanted);
    if is("object") || is("array") {
        return Some(Kind::Assign);
    }
    if is("number") || is("integer") {
        return Some(Kind::Positional);
    }
    types(items).next().map(|_| Kind::Multiset)
}

fn key(schema: &Json<'_>, path: &str) -> Result<Option<String>, Error> {
    match schema.get("x-key") {
        None => Ok(None),
        Some(Json::String(key)) => Ok(Some(key.clone().into_owned())),
        Some(_) => Err(invalid(&format!("{path}.x-key"), "the name of a member")),
    }
}

/// `x-range`, or the difference of the two bounds; exclusive bounds count as well, and bounds that
/// only state a numeric type do not (§2.3).
fn range(schema: &Json<'_>, path: &str) -> Result<Option<f64>, Error> {
    if let Some(range) = schema.get("x-range") {
        let width = range.as_f64().filter(|width| *width > 0.0 && width.is_finite());
        let expected = "a number above 0";
        return width.map(Some).ok_or_else(|| invalid(&format!("{path}.x-range"), expected));
    }
    let number = |key: &str| {
        let bound = schema.get(key).and_then(Json::as_f64);
        bound.filter(|bound| bound.is_finite() && !is_type_limit(*bound))
    };
    let tighter = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
        (Some(a), Some(b)) => Some(pick(a, b)),
        (a, b) => a.or(b),
    };
    let low = tighter(number("minimum"), number("exclusiveMinimum"), f64::max);
    let high = tighter(number("maximum"), number("exclusiveMaximum"), f64::min);
    let width = low.zip(high).map(|(low, high)| high - low);
    Ok(width.filter(|width| *width > 0.0 && width.is_finite()))
}

/// Returns whether a bound is the limit of a numeric type: 32-bit integers, safe integers of
/// JavaScript, 64-bit integers, floats.
fn is_type_limit(bound: f64) -> bool {
    const BITS_31: f64 = 2_147_483_648.0;
    const BITS_32: f64 = 4_294_967_296.0;
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let size = bound.abs();
    [BITS_31 - 1.0, BITS_31, BITS_32 - 1.0, BITS_32].contains(&size) || size >= SAFE
}

/// `x-tolerance`: the difference up to which numbers have a consensus (§2.6).
fn tolerance(schema: &Json<'_>, path: &str) -> Result<Option<f64>, Error> {
    let Some(tolerance) = schema.get("x-tolerance") else { return Ok(None) };
    let tolerance = tolerance.as_f64().filter(|most| *most >= 0.0 && most.is_finite());
    let expected = "a number from 0 on";
    tolerance.map(Some).ok_or_else(|| invalid(&format!("{path}.x-tolerance"), expected))
}

/// The weight of a member among its siblings. Default 1.
fn weight(root: &Json<'_>, schema: &Json<'_>, path: &str) -> Result<f64, Error> {
    let mut schema = schema;
    // Limits the number of references that are followed, because they may form a cycle.
    for _ in 0..16 {
        let ignored = schema.get("ignore").and_then(Json::as_bool) == Some(true)
            || schema.get("x-compare").and_then(Json::as_str) == Some("ignore");
        if ignored {
            return Ok(0.0);
        }
        if let Some(weight) = schema.get("x-weight") {
            let weight = weight.as_f64().filter(|weight| *weight >= 0.0 && weight.is_finite());
            let expected = "a number from 0 on";
            return weight.ok_or_else(|| invalid(&format!("{path}.x-weight"), expected));
        }
        let target = schema.get("$ref").and_then(Json::as_str).and_then(|to| resolve(root, to));
        let only = || schema.as_object().and_then(but_null);
        match target.or_else(only) {
            Some(next) => schema = next,
            None => break,
        }
    }
    Ok(1.0)
}

/// The target of a reference within the document: `#` and a JSON Pointer.
fn resolve<'a, 'j>(root: &'a Json<'j>, reference: &str) -> Option<&'a Json<'j>> {
    let pointer = reference.strip_prefix('#')?;
    crate::json::pointer(root, pointer)
}

pub(super) fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected: expected.into() }
}

/// The index of a value in an enum.
pub(super) fn rank(node: &Node, value: &Value) -> Option<usize> {
    let at = node.ranks.binary_search_by_key(&value.class, |(class, _)| *class).ok()?;
    node.ranks.get(at).map(|(_, rank)| *rank)
}
