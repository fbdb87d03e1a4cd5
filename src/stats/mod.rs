//! Statistics of JSON values: distances, distributions, agreement coefficients and stop rules.
//! All of it is pure arithmetic.
//!
//! The definitions are in `docs/statistics.md`; § refers to its sections. All numbers are IEEE
//! doubles, summed from left to right without intermediate rounding. Every sum over two replicates
//! is taken in an order that depends on their content only, so `d(a, b)` and `d(b, a)` are the
//! same double.
//!
//! ```
//! use turnlock::json::Json;
//! use turnlock::stats::{DistanceOptions, Level, Numeric, agreement, distance, majority_lock};
//!
//! let schema = Json::parse_str(r#"{"type":"object","properties":{
//!     "label":{"enum":["approve","reject"]},
//!     "risk":{"type":"number","minimum":0,"maximum":1}}}"#)?;
//! let by_schema = DistanceOptions::default().schema(Some(schema));
//! let a = Json::parse_str(r#"{"label":"reject","risk":0.75}"#)?;
//! let b = Json::parse_str(r#"{"label":"reject","risk":0.25}"#)?;
//! assert_eq!(distance(&a, &b, &by_schema)?, 0.25, "the mean of 0 and 0.5");
//!
//! let risks = Numeric::of(&[0.25, 0.75]).unwrap();
//! assert_eq!((risks.mean, risks.min, risks.max), (0.5, 0.25, 0.75));
//! // Two votes of three agree: a third cannot change the answer.
//! assert!(majority_lock(&[2], 1));
//! // Two raters, four units; `None` would be a rating that is missing.
//! let rated = [[0, 0, 1, 1], [0, 0, 1, 0]].map(|row| row.map(Some).to_vec());
//! assert!(agreement(&rated, Level::Nominal).alpha.is_some_and(|alpha| alpha > 0.5));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod agreement;
mod assign;
mod compare;
mod distribution;
mod effort;
mod intern;
mod lcs;
mod nfc;
mod schema;
mod stop;
mod symbols;
mod tokens;
mod tolerance;
mod value;

pub use agreement::{Agreement, Level, agreement};
pub(crate) use compare::compared;
pub use compare::{Comparer, DistanceOptions, distance};
pub use distribution::Numeric;
pub(crate) use effort::Effort;
pub use nfc::nfc;
pub(crate) use schema::{Kind, NodeId};
pub use stop::{confidence, majority_lock, medoid, weighted_confidence, within};
pub use value::Value;
