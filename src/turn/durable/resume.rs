//! Resumes a turn in another process, isolate or tab.
//!
//! The stored batches are replayed by the code that handled them first, without showing events or
//! starting tools. Then the turn continues at the point where it stopped. A call with a claim but
//! without an outcome may have run. If its tool allows that, it runs again with the same
//! idempotency key; otherwise its outcome is `unknown`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::super::machine::{Entry, Machine};
use super::super::options::TurnOptions;
use super::super::progress::{End, Point, Progress};
use super::Durable;
use super::journal::Journal;
use super::records;
use super::snapshot::KeptState;
use crate::error::Error;
use crate::error::Failure;
use crate::json::{Add, Json};
use crate::store::Kept;
use crate::tool::Call;

/// Added to `seq` if the earlier owner may have shown events without storing them. It is larger
/// than their number, so no `seq` is used twice.
const UNCOUNTED: u64 = 1_000_000;

type Member = (Cow<'static, str>, Json<'static>);

/// Makes a turn from its stored form; see [`Turn::restore`](super::super::Turn::restore).
pub(super) fn restore(options: Json<'static>) -> Result<Durable, Error> {
    let Json::Object(mut members) = options else {
        return Err(Error::option("options", "an object"));
    };
    let at = members.iter().position(|(key, _)| key == "resume");
    let resume = at.map(|at| members.swap_remove(at).1);
    let resume = resume.ok_or_else(|| Error::option("resume", "an object"))?;
    let kept = resume.get("kept").and_then(Kept::read);
    let given = kept.as_ref().and_then(given);
    let known = given.is_some();
    let members = merge(members, given.unwrap_or_default());
    let options = TurnOptions::from_json(Json::Object(members))?;
    options.check(true)?;
    let mut turn = Durable::of(Machine::new(options)?);
    let refused = |failure| {
        let at = Err(End::Failed(failure));
        Entry { at, calling: None, approvals: Vec::new() }
    };
    turn.entry = Some(turn.reinstate(&resume, kept, known).unwrap_or_else(refused));
    Ok(turn)
}

/// Returns the options that the host set when the turn began.
fn given(kept: &Kept) -> Option<Vec<Member>> {
    let text = kept.record("turn")?;
    let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?.into_owned();
    let Json::Object(members) = json else { return None };
    Some(members.into_iter().filter(|(key, _)| key != "v").collect())
}

/// Merges the options of this owner with the stored ones.
fn merge(mut members: Vec<Member>, given: Vec<Member>) -> Vec<Member> {
    for (key, value) in given {
        match members.iter_mut().find(|(name, _)| *name == key) {
            Some((_, Json::Object(own))) if key == "keep" => {
                if let Json::Object(more) = value {
                    own.extend(more);
                }
            }
            // The stored options take precedence, except for the dialect: the resumed turn may use
            // another model.
            Some((_, own)) if own.is_null() || key != "dialect" => *own = value,
            Some(_) => {}
            None => members.push((key, value)),
        }
    }
    if !members.iter().any(|(key, value)| key == "dialect" && !value.is_null()) {
        // No request is sent: the turn is unknown or ends at once. Parsing needs a dialect.
        members.add("dialect", "openai-chat");
    }
    members
}

impl Durable {
    /// Restores the stored state. `known`: the original options of the host could be read.
    fn reinstate(
        &mut self,
        resume: &Json<'_>,
        kept: Option<Kept>,
        known: bool,
    ) -> Result<Entry, Failure> {
        let unknown = || Failure::new("turn.not_found", "no such turn is kept");
        let kept = kept.ok_or_else(unknown)?;
        let foreign = || Failure::new("store.version", "the turn was kept by another version");
        let state = KeptState::read(&kept.state).filter(|_| known).ok_or_else(foreign)?;
        let KeptState { point, mut progress, .. } = state;
        let record = self.turn.record_mut();
        let (seq, batch) = (progress.seq, progress.batch);
        let fresh = Progress { seq, ..Progress::new(progress.phase.name()) };
        record.restore(Progress { batch, ..fresh.clone() });
        let cancel = resume.get("cancel").and_then(Json::as_str);
        let gone = kept.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms);
        match state.status.as_str() {
            "cancelled" => return Err(records::cancelled()),
            "paused" | "failed" if kept.open => {}
            "running" if cancel.is_some() || gone => {}
            _ => return Err(records::conflict()),
        }
        let wanted = resume.get("toolBatchId").and_then(Json::as_u64);
        if wanted.is_some_and(|wanted| wanted != u64::from(batch)) {
            return Err(Failure::new("turn.conflict", "the turn has gone on behind that batch"));
        }
        record.restore(fresh);
        let (mut running, mut recorded) = (None, BTreeSet::new());
        for number in 1..=progress.judged {
            let text = kept.record(&records::batch_name(number)).ok_or_else(foreign)?;
            let project = record.options().project_id.as_deref();
            let mut calling = records::read_batch(text, project).ok_or_else(foreign)?;
            let outcome = |id: u32, call: &str| {
                records::read_outcome(kept.record(&records::outcome_name(id, call))?)
            };
            let is_running = point == Point::Running && number == progress.judged;
            let is_settled = calling.restore(record, outcome);
            let settled = calling.batch().calls().iter().filter(|one| one.outcome().is_some());
            recorded.extend(settled.map(Call::number));
            if is_running {
                running = Some(Box::new(calling));
            } else if is_settled {
                calling.close(record);
                record.archive(calling);
            }
        }
        // The earlier owner has performed these effects.
        record.drain();
        for text in resume.get("events").and_then(Json::as_array).into_iter().flatten() {
            catch_up(&mut progress, text.as_str().unwrap_or_default());
        }
        if state.status == "running" && !state.keeps_text {
            // Text events were shown, but their number was not stored.
            progress.seq += UNCOUNTED;
        }
        let after = (kept.revision, progress.seq, state.kept_events);
        let keep = record.options().keep.clone();
        self.journal = keep.map(|keep| Journal::new(keep, Some(after)));
        self.epoch = state.epoch + 1;
        record.restore(progress);
        self.recorded = recorded;
        self.observed = self.mark();
        let at = match cancel {
            Some(reason) => Err(End::Cancelled(reason.to_owned())),
            None if point == Point::Running && running.is_none() => return Err(foreign()),
            None => Ok(point),
        };
        Ok(Entry { at, calling: running, approvals: approvals(resume) })
    }
}

/// Applies events that were stored after the state: text of an inference that did not end.
fn catch_up(progress: &mut Progress, text: &str) {
    let Ok(events) = Json::parse_lossy(text.as_bytes(), text.len()) else { return };
    for event in events.as_array().into_iter().flatten() {
        let Some(seq) = event.get("seq").and_then(Json::as_u64) else { continue };
        if seq <= progress.seq {
            continue;
        }
        progress.seq = seq;
        if event.get("type").and_then(Json::as_str) == Some("text") {
            let chunk = event.get("chunk").and_then(Json::as_str).unwrap_or_default();
            progress.shown.push_str(chunk);
        }
    }
}

fn approvals(resume: &Json<'_>) -> Vec<(String, bool)> {
    let list = resume.get("approvals").and_then(Json::as_array).unwrap_or_default();
    let one = |json: &Json<'_>| {
        let signature = json.get("signature")?.as_str()?.to_owned();
        Some((signature, json.get("approved")?.as_bool()?))
    };
    list.iter().filter_map(one).collect()
}
