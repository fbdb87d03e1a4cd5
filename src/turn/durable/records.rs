//! The records of a turn: the host's options, the batches, their claims and outcomes.
//!
//! | name | written | holds |
//! |---|---|---|
//! | `turn` | first | the host's options: dialect, mode, policy, history |
//! | `batch/<n>` | when calls were judged | the calls: accepted, refused and waiting |
//! | `claim/<toolBatchId>/<epoch>/<toolCallId>` | before a tool is started | the idempotency key |
//! | `outcome/<toolBatchId>/<toolCallId>` | when a call has settled | its outcome |
//! | `revision/<toolBatchId>/<toolCallId>/<epoch>` | when a resume revises the result | what counts instead |

use std::borrow::Cow;

use super::super::event::PhaseName;
use super::super::prompt::Exchange;
use super::super::record::{Calling, Place};
use super::snapshot::KeptState;
use crate::dialect::Dialect;
use crate::error::Failure;
use crate::guard::Refusal;
use crate::json::{Add, Json, members, object};
use crate::store::FORMAT;
use crate::stream::Reasoning;
use crate::tool::CallView;
use crate::tool::{Call, Fate, Outcome};

pub(super) fn batch_name(decided: u32) -> String {
    format!("batch/{decided}")
}

pub(super) fn claim_name(batch: u32, epoch: u64, id: &str) -> String {
    format!("claim/{batch}/{epoch}/{id}")
}

pub(super) fn outcome_name(batch: u32, id: &str) -> String {
    format!("outcome/{batch}/{id}")
}

pub(super) fn revision_name(batch: u32, id: &str, epoch: u64) -> String {
    format!("revision/{batch}/{id}/{epoch}")
}

/// Returns the epoch of the owner that revised the result of this call, if the record is one of it.
pub(super) fn revised_by(name: &str, batch: u32, id: &str) -> Option<u64> {
    let rest = name.strip_prefix("revision/")?;
    let (own, rest) = rest.split_once('/')?;
    let epoch = rest.strip_prefix(id)?.strip_prefix('/')?.parse().ok()?;
    (own.parse() == Ok(batch)).then_some(epoch)
}

/// A commit was refused. `began`: a commit of this owner was stored; `resumed`: it resumed the turn.
pub(super) fn conflict(began: bool, resumed: bool) -> Failure {
    let why = match (began, resumed) {
        (true, _) => "another owner took the turn over: read it with `followTurn`",
        (false, true) => {
            "another owner resumed the turn at the same time: read it with `followTurn`"
        }
        (false, false) => {
            "the store already has a turn with this `requestId`: read it with `followTurn`, or use \
             another id"
        }
    };
    Failure::new("turn.conflict", why)
}

pub(super) fn cancelled() -> Failure {
    Failure::new("turn.cancelled", "the turn was stopped, and cannot be resumed")
}

/// Returns why a turn was stopped, if `state` is that of a stopped turn.
pub(super) fn stop_reason(state: &str) -> Option<String> {
    KeptState::read(state).filter(|state| state.status == "cancelled").map(|state| state.reason)
}

/// Returns the number of the commit by which somebody asked the owner of this epoch for a pause.
pub(super) fn pause_of(state: &str, epoch: u64) -> Option<(u64, Option<String>)> {
    let state = KeptState::read(state).filter(|state| state.epoch == epoch)?;
    let at = state.pause.filter(|_| state.status == "running")?;
    Some((at, state.paused_by))
}

pub(super) fn claim(key: &str) -> String {
    object! { "v": Json::integer(FORMAT), "key": Json::from(key.to_owned()) }.to_text()
}

pub(super) fn outcome(outcome: &Outcome, duration_ms: u64) -> String {
    let mut members = members! { "v": Json::integer(FORMAT) };
    members.extend(outcome.members());
    members.add("durationMs", Json::integer(duration_ms));
    Json::Object(members).to_text()
}

/// Reads an outcome and its duration in milliseconds.
pub(super) fn read_outcome(text: &str) -> Option<(Outcome, u64)> {
    let json = Json::parse_host(text.as_bytes(), text.len()).ok()?;
    if json.get("v")?.as_u64()? != FORMAT {
        return None;
    }
    Some((Outcome::read(&json)?, json.get("durationMs")?.as_u64()?))
}

/// The record of what is new of a batch, with the phase and cycle in which it was judged. `from`:
/// how many of its calls are recorded already; `joins`: whether it has a record already. `None` if
/// nothing is new.
pub(super) fn batch(
    calling: &Calling,
    dialect: Dialect,
    (from, joins): (usize, bool),
) -> Option<String> {
    let (opened, complete) = calling.opened();
    let all = calling.batch().calls();
    let new = || all.iter().take(opened).skip(from);
    let refused_now = || if complete { calling.batch().refused() } else { Vec::new() };
    let is_new = |call: &Call| call.has_result() || call.fate() == Fate::Waiting;
    if joins && !new().any(is_new) && refused_now().is_empty() {
        return None;
    }
    let number = |n: u32| Json::integer(u64::from(n));
    let call = |one: &Call| {
        let mut members = members! {
            "call": number(one.number()),
            "view": one.view().to_json(),
            "readOnly": Json::from(one.is_read_only()),
            "again": Json::from(one.may_run_again()),
        };
        let kind = match one.fate() {
            Fate::Run(_) => "run",
            Fate::Recall => "recalled",
            Fate::Refused(refusal) => {
                members.add("reason", Json::from(refusal.name()));
                add_why(&mut members, one);
                "told"
            }
            Fate::Replay | Fate::Unjudged(_) | Fate::Waiting => "replay",
        };
        members.add("kind", kind);
        add_raw(&mut members, one);
        Json::Object(members)
    };
    let refused = |(reason, calls): (Refusal, Vec<&Call>)| {
        // In the unified loop, a refused call has a result and is among the calls.
        let views = calls.into_iter().filter(|call| !call.has_result()).map(|call| {
            let mut view = call.view().to_json();
            if let Json::Object(members) = &mut view {
                members.add("call", number(call.number()));
                add_why(members, call);
                add_raw(members, call);
            }
            view
        });
        let views = views.collect();
        object! { "reason": Json::from(reason.name()), "calls": Json::Array(views) }
    };
    let is_waiting = |call: &&Call| call.fate() == Fate::Waiting;
    let waiting = |one: &Call| {
        let mut members = members! {
            "call": number(one.number()),
            "id": Json::from(one.view().id.clone()),
            "name": Json::from(one.view().name.clone()),
            "args": one.view().args.clone(),
            "signature": Json::from(one.view().signature.clone()),
            "action": one.action().map_or(Json::Null, |action| action.to_owned().into()),
        };
        add_raw(&mut members, one);
        Json::Object(members)
    };
    let reasoning = |one: &Reasoning| {
        let signature = one.signature.clone().map_or(Json::Null, Json::from);
        let (text, calls) = (Json::from(one.text.clone()), number(one.calls));
        let before = Json::integer(u64::try_from(one.text_before).unwrap_or(u64::MAX));
        object! { "text": text, "signature": signature, "calls": calls, "textBefore": before }
    };
    let (exchange, place) = (calling.exchange(), calling.place());
    let text = object! {
        "v": Json::integer(FORMAT),
        "joins": Json::from(joins),
        "phase": Json::from(place.phase.name()),
        "cycle": number(place.cycle),
        "approved": Json::from(place.is_approved),
        "elsewhere": Json::from(place.elsewhere),
        "shown": Json::integer(u64::try_from(place.shown).unwrap_or(u64::MAX)),
        "text": Json::from(exchange.text.clone()),
        "reasoning": Json::Array(exchange.reasoning.iter().map(reasoning).collect()),
        "dialect": Json::from(dialect.name()),
        "calls": Json::Array(new().filter(|call| call.has_result()).map(call).collect()),
        "refused": Json::Array(refused_now().into_iter().map(refused).collect()),
        "awaiting": Json::Array(new().filter(is_waiting).map(waiting).collect()),
    }
    .to_text();
    Some(text)
}

/// Reads the record of a batch, none of whose calls has settled, and whether it is a later part of
/// the batch before. `None` if this version did not write it.
///
/// Reasoning is left out if the turn goes on with a model of another wire format than `dialect`: its
/// signatures are those of the provider that made it.
pub(super) fn read_batch(text: &str, dialect: Dialect) -> Option<(Calling, bool)> {
    let json = Json::parse_host(text.as_bytes(), text.len()).ok()?;
    if json.get("v")?.as_u64()? != FORMAT {
        return None;
    }
    let array = |key: &str| json.get(key)?.as_array();
    let reasoning = array("reasoning")?.iter().map(|one| {
        let calls = one.get("calls").and_then(Json::as_u64).unwrap_or(0);
        let before = one.get("textBefore").and_then(Json::as_u64).unwrap_or(0);
        Some(Reasoning {
            text: string(one, "text")?,
            signature: string(one, "signature"),
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            // Earlier versions did not store it.
            text_before: usize::try_from(before).unwrap_or(usize::MAX),
        })
    });
    let made_by = json.get("dialect").and_then(Json::as_str);
    let is_own = made_by.is_none_or(|name| name == dialect.name());
    let reasoning = reasoning.collect::<Option<Vec<_>>>()?;
    let exchange = Exchange {
        text: string(&json, "text")?,
        reasoning: if is_own { reasoning } else { Vec::new() },
        foreign: !is_own,
        ..Exchange::default()
    };
    let mut calls = array("calls")?.iter().map(read_call).collect::<Option<Vec<_>>>()?;
    for group in array("refused")? {
        let fate = Fate::Refused(Refusal::parse(group.get("reason")?.as_str()?)?);
        for view in group.get("calls")?.as_array()? {
            let number = small(view, "call").unwrap_or(0);
            let call = Call::stored(number, CallView::read(view)?, fate);
            let call = call.because(string(view, "why").unwrap_or_default());
            let call = call.with_raw(read_raw(view));
            // Earlier versions put a refused call with a result into both lists.
            if !calls.iter().any(|one| one.view().id == call.view().id) {
                calls.push(call);
            }
        }
    }
    for one in array("awaiting")? {
        let call = Call::stored(small(one, "call")?, CallView::read(one)?, Fate::Waiting);
        calls.push(call.with_action(string(one, "action")).with_raw(read_raw(one)));
    }
    let place = Place {
        phase: PhaseName::parse(json.get("phase")?.as_str()?)?,
        cycle: small(&json, "cycle")?,
        id: 0,
        is_approved: json.get("approved")?.as_bool()?,
        elsewhere: json.get("elsewhere")?.as_bool()?,
        shown: usize::try_from(json.get("shown")?.as_u64()?).ok()?,
    };
    let joins = json.get("joins").and_then(Json::as_bool).unwrap_or(false);
    Some((Calling::stored(calls, exchange, place), joins))
}

/// Adds what is wrong with the arguments, or why the call was denied.
fn add_why(members: &mut Vec<(Cow<'static, str>, Json<'static>)>, call: &Call) {
    if !call.why().is_empty() {
        members.add("why", Json::from(call.why().to_owned()));
    }
}

fn read_call(json: &Json<'_>) -> Option<Call> {
    let fate = match json.get("kind")?.as_str()? {
        "run" => Fate::RUN,
        "replay" => Fate::Replay,
        "recalled" => Fate::Recall,
        _ => Fate::Refused(Refusal::parse(json.get("reason")?.as_str()?)?),
    };
    let call = Call::stored(small(json, "call")?, CallView::read(json.get("view")?)?, fate);
    let call = call.of_tool(json.get("readOnly")?.as_bool()?, json.get("again")?.as_bool()?);
    let call = call.because(string(json, "why").unwrap_or_default());
    Some(call.with_raw(read_raw(json)))
}

/// Adds the model's own arguments and their signature, which a resumed turn does not recompute.
fn add_raw(members: &mut Vec<(Cow<'static, str>, Json<'static>)>, call: &Call) {
    if let Some((args, signature)) = call.raw() {
        members.add("rawArgs", args.clone());
        members.add("rawSignature", Json::from(signature.as_str().to_owned()));
    }
}

fn read_raw(json: &Json<'_>) -> Option<(Json<'static>, String)> {
    Some((json.get("rawArgs")?.clone().into_owned(), string(json, "rawSignature")?))
}

fn string(json: &Json<'_>, key: &str) -> Option<String> {
    json.get(key)?.as_str().map(str::to_owned)
}

fn small(json: &Json<'_>, key: &str) -> Option<u32> {
    u32::try_from(json.get(key)?.as_u64()?).ok()
}
