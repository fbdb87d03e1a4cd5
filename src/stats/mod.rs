//! How far apart values are, and what several of them have in common: distances,
//! distributions, agreement coefficients, stop rules. Pure arithmetic on JSON values.
//!
//! The definitions are those of `bundle-statistics.md` §2 (spec v0), named here by their
//! section. IEEE doubles, sums from left to right, no rounding in between; every sum that two
//! replicates share is taken in an order that depends on their content only, so `d(a, b)` and
//! `d(b, a)` are the same double.

mod agreement;
mod assign;
mod compare;
mod distribution;
mod intern;
mod lcs;
mod nfc;
mod order;
mod schema;
mod stop;
mod value;

pub use agreement::{Agreement, Level, agreement};
pub use compare::{Comparer, DistanceOptions, distance};
pub use distribution::{Numeric, median};
pub(crate) use order::sort_by;
pub use schema::{Kind, NodeId};
pub use stop::{EPSILON, confidence, majority_lock, medoid, weighted_confidence, within};
pub use value::Value;
