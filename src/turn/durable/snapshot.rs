//! The stored state of a turn: everything that its records do not contain.
//!
//! Hosts read its members `status`, `seq`, `leaseMs`, `ttlMs` and `keepsText`
//! (`pkg/src/turn/kept.ts`), and may list turns by its `conversationId`. Who asks for a pause from
//! elsewhere writes the state again with the members `pause` and `pausedBy`
//! (`pkg/src/turn/beside.ts`).

use super::super::event::PhaseName;
use super::super::machine::Machine;
use super::super::phase::Phase;
use super::super::progress::{End, Point, Progress};
use super::journal::Journal;
use crate::json::{Add, Json, members, object};
use crate::store::{FORMAT, LARGEST};
use crate::stream::Usage;

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
    /// The number of the commit by which somebody asked for a pause. The rest of such a state is
    /// that of the owner's last commit.
    pub(super) pause: Option<u64>,
    /// The owner of that commit.
    pub(super) paused_by: Option<String>,
    pub(super) keeps_text: bool,
    pub(super) kept_events: (u64, u64),
    /// Bytes of `progress.shown` that the current inference has shown.
    pub(super) unsettled: usize,
    pub(super) progress: Progress,
}

/// Returns the JSON text of the state, for the next commit.
pub(super) fn text(turn: &Machine, journal: &Journal, epoch: u64) -> String {
    let number = |n: u32| Json::integer(u64::from(n));
    let (progress, end) = (turn.record().progress(), turn.end());
    let (point, phase) = (turn.point(), &progress.phase);
    let name = |one: &(&'static str, Point)| (one.1 == point).then_some(one.0);
    let point = POINTS.iter().find_map(name).unwrap_or_default();
    let reason = match end {
        Some(End::Cancelled(reason)) => Json::string(reason.clone()),
        _ => Json::Null,
    };
    let (events, bytes) = journal.size();
    // Who resumes the turn knows nothing of a response that is still read.
    let mut usage = progress.usage();
    usage.incomplete |= turn.is_taking();
    // An inference that is made again starts anew.
    let draft = if turn.point() == Point::Ask { phase.settled_draft() } else { phase.draft() };
    let phase = object! {
        "name": Json::from(phase.name().name()),
        "inferences": number(phase.inferences()),
        "executed": number(phase.executed()),
        "lastChance": Json::from(phase.is_last_chance()),
        "text": Json::from(phase.settled_text().to_owned()),
        "whole": Json::from(phase.text().to_owned()),
        "draft": Json::from(draft.to_owned()),
        "unsettled": Json::integer(u64::try_from(phase.unsettled()).unwrap_or(u64::MAX)),
    };
    let mut state = members! {
        "v": Json::integer(FORMAT),
        "status": Json::from(end.map_or("running", |end| end.status().name())),
        "reason": reason,
        "point": Json::from(point),
        "epoch": Json::integer(epoch),
        "leaseMs": Json::integer(journal.keep().lease_ms),
        "ttlMs": Json::integer(journal.keep().ttl_ms),
        "keepsText": Json::from(journal.keep().events > 0),
        "seq": Json::integer(progress.seq),
        "askedSeq": Json::integer(progress.asked_seq),
        "toolBatchId": number(progress.batch),
        "decided": number(progress.judged),
        "keptEvents": Json::integer(events),
        "keptBytes": Json::integer(bytes),
        "cycle": number(progress.cycle),
        "inferences": number(progress.inferences),
        "model": number(progress.model),
        "heard": Json::integer(u64::try_from(progress.heard).unwrap_or(u64::MAX)),
        "conversationId": turn.record().options().conversation_id.clone().map_or(Json::Null, |id| {
            Json::string(id.to_string())
        }),
        "calls": number(progress.calls),
        "toolsMs": Json::integer(progress.tools_ms),
        "shown": Json::from(progress.shown.clone()),
        "usage": usage.to_json(),
        "toolUsage": progress.tool_usage.to_json(),
        "rejected": progress.rejected.clone().map_or(Json::Null, Json::string),
        "phase": phase,
    };
    if !progress.hosted.is_empty() {
        let hosted = progress.hosted.iter().map(|(before, block)| {
            let before = Json::integer(u64::try_from(*before).unwrap_or(u64::MAX));
            Json::Array(vec![before, block.clone()])
        });
        state.add("providerTools", Json::Array(hosted.collect()));
    }
    Json::Object(state).to_text()
}

/// The blocks of tools that the provider ran itself.
fn hosted(json: &Json<'_>) -> Vec<(usize, Json<'static>)> {
    let all = json.get("providerTools").and_then(Json::as_array).unwrap_or_default();
    let read = all.iter().filter_map(|one| {
        let before = usize::try_from(one.at(0)?.as_u64()?).ok()?;
        Some((before, one.at(1)?.clone().into_owned()))
    });
    read.collect()
}

impl KeptState {
    /// Reads a stored state. `None` if this version did not write it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let json = Json::parse_host(text.as_bytes(), text.len()).ok()?;
        if json.get("v")?.as_u64()? != FORMAT {
            return None;
        }
        let long = |key: &str| json.get(key)?.as_u64().filter(|number| *number < LARGEST);
        let number = |key: &str| u32::try_from(long(key)?).ok();
        let text = |json: &Json<'_>, key: &str| json.get(key)?.as_str().map(str::to_owned);
        let name = json.get("point")?.as_str()?;
        let point = POINTS.iter().find_map(|one| (one.0 == name).then_some(one.1))?;
        let phase = json.get("phase")?;
        let again = point == Point::Ask;
        let small = |key: &str| u32::try_from(phase.get(key)?.as_u64()?).ok();
        let usage = |key: &str| {
            let tokens = |own: &str| json.get(key)?.get(own)?.as_u64();
            Usage {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                cached_input_tokens: tokens("cachedInputTokens"),
                cache_write_input_tokens: tokens("cacheWriteInputTokens"),
                reasoning_tokens: tokens("reasoningTokens"),
            }
        };
        Some(Self {
            status: text(&json, "status")?,
            reason: text(&json, "reason").unwrap_or_default(),
            point,
            epoch: long("epoch")?,
            lease_ms: long("leaseMs")?,
            pause: long("pause"),
            paused_by: text(&json, "pausedBy"),
            keeps_text: json.get("keepsText")?.as_bool()?,
            kept_events: (long("keptEvents")?, long("keptBytes")?),
            unsettled: usize::try_from(phase.get("unsettled")?.as_u64()?).ok()?,
            progress: Progress {
                seq: long("seq")?,
                asked_seq: long("askedSeq")?,
                batch: number("toolBatchId")?,
                judged: number("decided")?,
                cycle: number("cycle")?,
                inferences: number("inferences")?,
                model: number("model").unwrap_or(0),
                heard: usize::try_from(long("heard")?).ok()?,
                calls: number("calls")?,
                tools_ms: long("toolsMs")?,
                shown: text(&json, "shown")?,
                hosted: hosted(&json),
                usage: usage("usage"),
                // The answer is still to come, or is composed.
                response: None,
                finish: None,
                tool_usage: usage("toolUsage"),
                rejected: text(&json, "rejected"),
                is_cut: json
                    .get("usage")?
                    .get("incomplete")
                    .and_then(Json::as_bool)
                    .unwrap_or(false),
                phase: Phase::restored(
                    PhaseName::parse(phase.get("name")?.as_str()?)?,
                    (small("inferences")?, small("executed")?),
                    (phase.get("lastChance")?.as_bool()?, again),
                    (
                        text(phase, if again { "text" } else { "whole" })?,
                        text(phase, "draft").unwrap_or_default(),
                    ),
                ),
            },
        })
    }
}
