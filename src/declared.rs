//! The declared types, for the generator of declarations and documentation tables.

use crate::json::table::{Describe, Shape};
use crate::{chain, evidence, guard, history, planning, provider, stats, stream, turn};

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
                planning::PassOptions::shape(),
                planning::PassEvent::shape(),
                planning::PassResult::shape(),
                planning::ParsedRequest::shape(),
                planning::Lint::shape(),
                planning::Inventory::shape(),
            ],
        ),
        (
            "history",
            vec![
                history::HistoryOptions::shape(),
                history::Normalized::shape(),
                history::Update::shape(),
                history::Violation::shape(),
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
                evidence::BundleOptions::shape(),
                evidence::SummaryOptions::shape(),
                stats::DistanceOptions::shape(),
                evidence::EvidenceBundle::shape(),
                evidence::Citations::shape(),
                evidence::Envelope::shape(),
                evidence::BundleEvent::shape(),
                evidence::Input::shape(),
                evidence::Effect::shape(),
            ],
        ),
    ]
}
