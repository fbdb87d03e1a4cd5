//! The stored state of a turn: everything that its records do not contain.
//!
//! Hosts read its members `status`, `seq`, `leaseMs` and `keepsText`.

use super::machine::{Phase, State, Turn};
use crate::json::Json;
use crate::planted::planted;
use crate::store::FORMAT;
use crate::stream::Usage;
use crate::trace::PhaseName;

/// How a turn, or one leg of it, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Cancelled(String),
    Complete,
    /// `again`: the model failed, and the request may be sent again.
    Failed {
        again: bool,
    },
    Paused,
}

impl End {
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Cancelled(_) => "cancelled",
            Self::Complete => "complete",
            Self::Failed { .. } => "failed",
            Self::Paused => "paused",
        }
    }

    /// Whether the turn may be resumed.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Paused | Self::Failed { again: true })
    }
}

/// Where a resumed turn continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    /// The action phase begins.
    Action,
    /// The current inference is made again.
    Ask,
    /// Calls wait for an approval.
    Awaiting,
    /// The calls of the last batch settle.
    Running,
    /// The next step of the unified loop.
    Step,
}

const POINTS: [(&str, Point); 5] = [
    ("action", Point::Action),
    ("ask", Point::Ask),
    ("awaiting", Point::Awaiting),
    ("running", Point::Running),
    ("step", Point::Step),
];

/// A stored state.
#[derive(Debug, Clone)]
pub(super) struct KeptState {
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) point: Point,
    pub(super) epoch: u64,
    pub(super) lease_ms: u64,
    pub(super) keeps_text: bool,
    pub(super) seq: u64,
    pub(super) batch: u32,
    pub(super) decided: u32,
    pub(super) kept_events: (u64, u64),
    pub(super) cycle: u32,
    pub(super) inferences: u32,
    pub(super) calls: u32,
    pub(super) tools_ms: u64,
    pub(super) shown: String,
    pub(super) usage: Usage,
    pub(super) phase: Phase,
}

impl Turn {
    /// Returns the JSON text of the state, for the next commit.
    pub(super) fn state_text(&self) -> String {
        let number = |n: u32| Json::integer(u64::from(n));
        let (phase, record) = (&self.phase, &self.record);
        let point = match (&self.state, record.point) {
            (State::Running(_), _) => Point::Running,
            (State::Over, Some(point)) => point,
            _ => Point::Ask,
        };
        let name = |one: &(&'static str, Point)| (one.1 == point).then_some(one.0);
        let point = POINTS.iter().find_map(name).unwrap_or_default();
        let reason = match &record.end {
            Some(End::Cancelled(reason)) => Json::string(reason.clone()),
            _ => Json::Null,
        };
        let journal = self.journal.as_ref();
        let (events, bytes) = journal.map(super::journal::Journal::size).unwrap_or_default();
        let lease = journal.map_or(0, |journal| journal.keep().lease_ms);
        Json::object([
            ("v", Json::integer(FORMAT)),
            ("status", record.end.as_ref().map_or("running", End::status).into()),
            ("reason", reason),
            ("point", point.into()),
            ("epoch", Json::integer(record.epoch)),
            ("leaseMs", Json::integer(lease)),
            ("keepsText", journal.is_some_and(|journal| journal.keep().events > 0).into()),
            ("seq", Json::integer(record.seq)),
            ("toolBatchId", number(record.batch)),
            ("decided", number(record.decided)),
            ("keptEvents", Json::integer(events)),
            ("keptBytes", Json::integer(bytes)),
            ("cycle", number(self.cycle)),
            ("inferences", number(record.inferences)),
            ("calls", number(record.calls)),
            ("toolsMs", Json::integer(record.tools_ms)),
            ("shown", record.shown.clone().into()),
            ("usage", record.usage.to_json()),
            (
                "phase",
                Json::object([
                    ("name", phase.name.name().into()),
                    ("inferences", number(phase.inferences)),
                    ("executed", number(phase.executed)),
                    ("lastChance", phase.last_chance.into()),
                    // Without the text of the current inference: a repeated inference starts anew.
                    (
                        "text",
                        phase.text.get(..phase.asked_at).unwrap_or_default().to_owned().into(),
                    ),
                    ("whole", phase.text.clone().into()),
                ]),
            ),
        ])
        .to_text()
    }

    pub(super) fn is_open(&self) -> bool {
        self.record.end.as_ref().is_none_or(End::is_open) || planted("a turn is never over")
    }
}

impl KeptState {
    /// Reads a stored state. `None` if this version did not write it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?;
        if json.get("v")?.as_u64()? != FORMAT {
            return None;
        }
        let long = |key: &str| json.get(key)?.as_u64();
        let number = |key: &str| u32::try_from(long(key)?).ok();
        let text = |json: &Json<'_>, key: &str| json.get(key)?.as_str().map(str::to_owned);
        let name = json.get("point")?.as_str()?;
        let point = POINTS.iter().find_map(|one| (one.0 == name).then_some(one.1))?;
        let phase = json.get("phase")?;
        let small = |key: &str| u32::try_from(phase.get(key)?.as_u64()?).ok();
        let mut now = Phase::new(PhaseName::parse(phase.get("name")?.as_str()?)?);
        now.inferences = small("inferences")?;
        now.executed =
            if planted("a resumed phase has its budget anew") { 0 } else { small("executed")? };
        now.last_chance = phase.get("lastChance")?.as_bool()?;
        now.text = text(phase, if point == Point::Ask { "text" } else { "whole" })?;
        now.asked_at = now.text.len();
        now.frozen = now.name == PhaseName::Tool && now.inferences > 1;
        let usage = json.get("usage")?;
        let tokens = |key: &str| usage.get(key).and_then(Json::as_u64);
        Some(Self {
            status: text(&json, "status")?,
            reason: text(&json, "reason").unwrap_or_default(),
            point,
            epoch: long("epoch")?,
            lease_ms: long("leaseMs")?,
            keeps_text: json.get("keepsText")?.as_bool()?,
            seq: long("seq")?,
            batch: number("toolBatchId")?,
            decided: number("decided")?,
            kept_events: (long("keptEvents")?, long("keptBytes")?),
            cycle: number("cycle")?,
            inferences: number("inferences")?,
            calls: number("calls")?,
            tools_ms: long("toolsMs")?,
            shown: text(&json, "shown")?,
            usage: Usage {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                cached_input_tokens: tokens("cachedInputTokens"),
                reasoning_tokens: tokens("reasoningTokens"),
            },
            phase: now,
        })
    }
}
