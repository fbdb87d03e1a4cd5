//! Tolerances of numbers, order of lists and prose, for consensus and early stop (§2.6, §2.10).

use super::compare::{Comparer, difference, number};
use super::schema::{Kind, NodeId};
use super::value::{Body, Value};

/// Distance up to which numbers have a consensus without a majority.
const NEAR: f64 = 0.05;

/// Tolerance for rounding errors, as of the stop rule: 0.21 and 0.26 are near.
const NOISE: f64 = 1e-12;

impl Comparer {
    /// Whether the schema says that the order of a list has no meaning.
    pub(crate) fn is_unordered(&self, node: NodeId) -> bool {
        self.schema.node(node).unordered
    }

    /// The node of the items of an array.
    pub(crate) fn items(&self, node: NodeId) -> NodeId {
        self.schema.items(node)
    }

    /// Whether a value is prose: a text of more than twelve tokens that its schema leaves open.
    pub(crate) fn is_prose(&self, node: NodeId, value: &Value) -> bool {
        let own = self.schema.node(node);
        let Body::Text(text) = &value.body else { return false };
        text.prose && !own.constrained
    }

    /// Whether numbers that are not equal may have a consensus (§2.6): they are not whole, or the
    /// schema says how far apart they may be.
    pub(crate) fn has_tolerance(&self, node: NodeId, all_whole: bool) -> bool {
        let own = self.schema.node(node);
        let number = matches!(own.kind, None | Some(Kind::Number));
        let said = own.range.is_some() || own.tolerance.is_some();
        number && (said || !own.integer && !all_whole)
    }

    /// Whether two numbers are near: within `x-tolerance`, else within 0.05 of distance. With a
    /// tolerance for rounding errors, so that 0.21 and 0.26 are near.
    pub(crate) fn within_tolerance(&self, node: NodeId, a: &Value, b: &Value) -> bool {
        let (Body::Number(a), Body::Number(b)) = (&a.body, &b.body) else { return false };
        let own = self.schema.node(node);
        match own.tolerance {
            Some(most) => {
                let scale = most.max(a.double.abs()).max(b.double.abs());
                difference(*a, *b) <= most + NOISE * scale.min(1e300)
            }
            None => number(*a, *b, own.range) <= NEAR + NOISE,
        }
    }
}
