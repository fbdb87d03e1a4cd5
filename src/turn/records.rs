//! The records of a turn: the host's options, the batches, their claims and outcomes.
//!
//! | name | written | holds |
//! |---|---|---|
//! | `turn` | first | the host's options: dialect, mode, policy, history |
//! | `batch/<n>` | when calls were judged | the calls: accepted, refused and waiting |
//! | `claim/<toolBatchId>/<epoch>/<toolCallId>` | before a tool is started | the idempotency key |
//! | `outcome/<toolBatchId>/<toolCallId>` | when a call has settled | its outcome |

use super::batch::{Batch, BatchCall, Kind};
use super::candidates::{Candidate, Said};
use super::snapshot::KeptState;
use crate::json::Json;
use crate::signature::Signature;
use crate::store::FORMAT;
use crate::stream::Reasoning;
use crate::tool::{Outcome, Refusal};
use crate::trace::{CallView, Failure, PhaseName};

pub(super) fn batch_name(decided: u32) -> String {
    format!("batch/{decided}")
}

pub(super) fn claim_name(batch: u32, epoch: u64, id: &str) -> String {
    format!("claim/{batch}/{epoch}/{id}")
}

pub(super) fn outcome_name(batch: u32, id: &str) -> String {
    format!("outcome/{batch}/{id}")
}

pub(super) fn conflict() -> Failure {
    failure("turn.conflict", "the turn is known already, or another owner has it")
}

pub(super) fn cancelled() -> Failure {
    failure("turn.cancelled", "the turn was stopped, and cannot be resumed")
}

pub(super) fn failure(code: &'static str, message: &str) -> Failure {
    Failure { code: code.into(), message: message.to_owned(), status: None }
}

/// Returns why a turn was stopped, if `state` is that of a stopped turn.
pub(super) fn stop_reason(state: &str) -> Option<String> {
    KeptState::read(state).filter(|state| state.status == "cancelled").map(|state| state.reason)
}

pub(super) fn claim(key: &str) -> String {
    Json::object([("v", Json::integer(FORMAT)), ("key", key.to_owned().into())]).to_text()
}

pub(super) fn outcome(outcome: &Outcome, duration_ms: u64) -> String {
    let mut members = vec![("v".into(), Json::integer(FORMAT))];
    members.extend(outcome.members());
    members.push(("durationMs".into(), Json::integer(duration_ms)));
    Json::Object(members).to_text()
}

/// Reads an outcome and its duration in milliseconds.
pub(super) fn read_outcome(text: &str) -> Option<(Outcome, u64)> {
    let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?;
    Some((Outcome::read(&json)?, json.get("durationMs")?.as_u64()?))
}

/// The record of a batch, with the phase and cycle in which it was judged.
pub(super) fn batch(batch: &Batch, phase: PhaseName, cycle: u32) -> String {
    let number = |n: u32| Json::integer(u64::from(n));
    let call = |one: &BatchCall| {
        let mut members = vec![
            ("call".into(), number(one.call)),
            ("view".into(), one.view.to_json()),
            ("readOnly".into(), one.read_only.into()),
            ("again".into(), one.again.into()),
        ];
        let kind = match &one.kind {
            Kind::Run { .. } => "run",
            Kind::Replay { .. } => "replay",
            Kind::Recalled { .. } => "recalled",
            Kind::Told(refusal) => {
                members.push(("reason".into(), refusal.name().into()));
                "told"
            }
        };
        members.push(("kind".into(), kind.into()));
        Json::Object(members)
    };
    let refused = |(reason, views): &(Refusal, Vec<CallView>)| {
        let views = views.iter().map(CallView::to_json).collect();
        Json::object([("reason", reason.name().into()), ("calls", Json::Array(views))])
    };
    let waiting = |one: &Candidate| {
        Json::object([
            ("call", number(one.call)),
            ("id", one.id.clone().into()),
            ("name", one.name.clone().into()),
            ("args", one.args.clone()),
            ("action", one.action.clone().map_or(Json::Null, Json::from)),
        ])
    };
    let reasoning = |one: &Reasoning| {
        let signature = one.signature.clone().map_or(Json::Null, Json::from);
        Json::object([("text", one.text.clone().into()), ("signature", signature)])
    };
    let said = &batch.said;
    Json::object([
        ("v", Json::integer(FORMAT)),
        ("phase", phase.name().into()),
        ("cycle", number(cycle)),
        ("approved", batch.approved.into()),
        ("elsewhere", batch.elsewhere.into()),
        ("text", said.text.clone().into()),
        ("reasoning", Json::Array(said.reasoning.iter().map(reasoning).collect())),
        ("calls", Json::Array(batch.calls.iter().map(call).collect())),
        ("refused", Json::Array(batch.refusals.iter().map(refused).collect())),
        ("awaiting", Json::Array(batch.awaiting.iter().map(waiting).collect())),
    ])
    .to_text()
}

/// A stored batch. None of its calls has settled.
pub(super) struct KeptBatch {
    pub(super) phase: PhaseName,
    pub(super) cycle: u32,
    pub(super) batch: Batch,
}

/// Reads the record of a batch. `None` if this version did not write it.
pub(super) fn read_batch(text: &str) -> Option<KeptBatch> {
    let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?;
    if json.get("v")?.as_u64()? != FORMAT {
        return None;
    }
    let array = |key: &str| json.get(key)?.as_array();
    let said = Said {
        text: string(&json, "text")?,
        reasoning: array("reasoning")?
            .iter()
            .map(|one| {
                Some(Reasoning { text: string(one, "text")?, signature: string(one, "signature") })
            })
            .collect::<Option<_>>()?,
    };
    let calls = array("calls")?.iter().map(read_call).collect::<Option<_>>()?;
    let refusals = array("refused")?.iter().map(|one| {
        let views = one.get("calls")?.as_array()?.iter().map(read_view);
        Some((Refusal::parse(one.get("reason")?.as_str()?)?, views.collect::<Option<_>>()?))
    });
    let refusals = refusals.collect::<Option<_>>()?;
    let awaiting = array("awaiting")?.iter().map(read_waiting).collect::<Option<_>>()?;
    Some(KeptBatch {
        phase: PhaseName::parse(json.get("phase")?.as_str()?)?,
        cycle: small(&json, "cycle")?,
        batch: Batch {
            approved: json.get("approved")?.as_bool()?,
            elsewhere: json.get("elsewhere")?.as_bool()?,
            refusals,
            awaiting,
            ..Batch::new(said, calls)
        },
    })
}

fn read_call(json: &Json<'_>) -> Option<BatchCall> {
    let view = read_view(json.get("view")?)?;
    let signature = Signature::kept(&view.signature);
    let kind = match json.get("kind")?.as_str()? {
        "run" => Kind::Run { signature, deadline: 0, limit: 0, timeout: 0 },
        "replay" => Kind::Replay { signature },
        "recalled" => Kind::Recalled { signature },
        _ => Kind::Told(Refusal::parse(json.get("reason")?.as_str()?)?),
    };
    Some(BatchCall {
        call: small(json, "call")?,
        read_only: json.get("readOnly")?.as_bool()?,
        again: json.get("again")?.as_bool()?,
        ..BatchCall::new(view, kind)
    })
}

fn read_view(json: &Json<'_>) -> Option<CallView> {
    Some(CallView {
        id: string(json, "id")?,
        name: string(json, "name")?,
        args: json.get("args")?.clone().into_owned(),
        signature: string(json, "signature")?,
    })
}

fn read_waiting(json: &Json<'_>) -> Option<Candidate> {
    Some(Candidate {
        call: small(json, "call")?,
        id: string(json, "id")?,
        name: string(json, "name")?,
        args: json.get("args")?.clone().into_owned(),
        action: string(json, "action"),
        ..Candidate::checked()
    })
}

fn string(json: &Json<'_>, key: &str) -> Option<String> {
    json.get(key)?.as_str().map(str::to_owned)
}

fn small(json: &Json<'_>, key: &str) -> Option<u32> {
    u32::try_from(json.get(key)?.as_u64()?).ok()
}
