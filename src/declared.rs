//! The declared types, for the generator of declarations and documentation tables.

use crate::json::table::{Describe, Shape};
use crate::{bundle, chain, guard, message, provider, request, stats, stream, turn};

/// Returns the types from which the generator starts, by room. The types that these name follow.
#[must_use]
pub fn declared() -> Vec<(&'static str, Vec<Shape>)> {
    vec![
        (
            "turn",
            vec![
                turn::TurnOptions::shape(),
                turn::Event::shape(),
                turn::TurnResult::shape(),
                turn::TraceEvent::shape(),
                turn::Input::shape(),
                <turn::Effect>::shape(),
            ],
        ),
        (
            "planning",
            vec![
                request::PassOptions::shape(),
                request::PassEvent::shape(),
                request::PassResult::shape(),
                request::ParsedRequest::shape(),
                request::Lint::shape(),
                request::Inventory::shape(),
            ],
        ),
        (
            "history",
            vec![
                message::HistoryOptions::shape(),
                message::Normalized::shape(),
                message::Update::shape(),
                message::Violation::shape(),
            ],
        ),
        (
            "guard",
            vec![
                guard::GuardOptions::shape(),
                guard::GuardCall::shape(),
                guard::PastCall::shape(),
                guard::GuardVerdict::shape(),
            ],
        ),
        ("tools", vec![provider::ToolFinding::shape()]),
        ("stream", vec![stream::FinishReason::shape(), stream::ErrorClass::shape()]),
        (
            "chain",
            vec![
                chain::ChainOptions::shape(),
                chain::ChainEvent::shape(),
                chain::ChainResult::shape(),
                chain::PlanLimits::shape(),
                chain::CallKind::shape(),
                chain::AnswerCall::shape(),
                chain::AssessCall::shape(),
                chain::ClassifyCall::shape(),
                chain::ConditionCall::shape(),
                chain::EnhanceCall::shape(),
                chain::PlanCall::shape(),
                chain::RecallCall::shape(),
                chain::ReplanCall::shape(),
                chain::StepCall::shape(),
                chain::SynthesisCall::shape(),
                chain::Input::shape(),
                chain::Effect::shape(),
            ],
        ),
        (
            "evidence",
            vec![
                bundle::BundleOptions::shape(),
                bundle::SummaryOptions::shape(),
                stats::DistanceOptions::shape(),
                bundle::EvidenceBundle::shape(),
                bundle::Citations::shape(),
                bundle::Envelope::shape(),
                bundle::BundleEvent::shape(),
                bundle::Input::shape(),
                bundle::Effect::shape(),
            ],
        ),
    ]
}
