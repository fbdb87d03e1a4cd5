//! The declared types, for the generator of declarations and documentation tables.

use crate::json::table::{Describe, Shape};
use crate::{bundle, request, stats, turn};

/// Returns the types from which the generator starts, by room. The types that these name follow.
#[must_use]
pub fn declared() -> Vec<(&'static str, Vec<Shape>)> {
    vec![
        ("turn", vec![turn::TurnOptions::shape()]),
        ("request", vec![request::PassOptions::shape()]),
        (
            "bundle",
            vec![
                bundle::BundleOptions::shape(),
                bundle::SummaryOptions::shape(),
                stats::DistanceOptions::shape(),
                bundle::EvidenceBundle::shape(),
                bundle::Envelope::shape(),
                bundle::BundleEvent::shape(),
            ],
        ),
    ]
}
