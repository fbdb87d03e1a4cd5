//! Resumes a turn in another process, isolate or tab.
//!
//! The stored batches are replayed by the code that handled them first, without showing events or
//! starting tools. Then the turn continues at the point where it stopped. A call with a claim but
//! without an outcome may have run. If its tool allows that, it runs again with the same
//! idempotency key; otherwise its outcome is `unknown`.

use std::cmp::Ordering;

use super::super::event::ResultView;
use super::super::machine::{Entry, Machine};
use super::super::options::TurnOptions;
use super::super::progress::{End, Point, Progress};
use super::super::record::{Calling, Record};
use super::super::restore::{Approval, RestoreOptions, Resume, Revision};
use super::journal::Journal;
use super::records;
use super::snapshot::KeptState;
use super::{Durable, Kept as Seen};
use crate::error::Error;
use crate::error::Failure;
use crate::guard::plain_name;
use crate::json::Json;
use crate::order::sort_numbers;
use crate::store::LARGEST;
use crate::store::StoredTurn;
use crate::stream::Delta;
use crate::tool::{Call, ContentLimits, Fate, Outcome, Registry};

/// Added to `seq` if the earlier owner may have shown events without storing them. It is larger
/// than their number, so no `seq` is used twice.
const UNCOUNTED: u64 = 1_000_000;

/// Makes a turn from its stored form; see [`Turn::restore`](super::super::Turn::restore).
pub(super) fn restore(mut options: RestoreOptions) -> Result<Durable, Error> {
    let (turn, known) = options.turn()?;
    turn.check(true)?;
    let mut turn = Durable::of(Machine::new(turn)?);
    let refused = |failure| {
        let at = Err(End::Failed(failure));
        Entry { at, calling: None, approvals: Vec::new(), revised: Vec::new() }
    };
    let entry = turn.reinstate(options.resume, known).unwrap_or_else(|failure| {
        turn.turn.record_mut().repeat_seq();
        refused(failure)
    });
    turn.entry = Some(entry);
    Ok(turn)
}

impl Durable {
    /// Restores the stored state. `known`: the original options of the host could be read.
    fn reinstate(&mut self, resume: Resume, known: bool) -> Result<Entry, Failure> {
        let Resume { kept, events, tool_batch_id, approvals, results, cancel } = resume;
        let unknown = || Failure::new("turn.not_found", "no such turn is kept");
        let stored = kept.filter(|kept| !kept.state.is_empty()).ok_or_else(unknown)?;
        let foreign = || Failure::new("store.version", "the turn was kept by another version");
        let state = KeptState::read(&stored.state).filter(|_| stored.revision < LARGEST);
        // What the host gave is not there where the turn was cancelled before it began.
        let state = state.filter(|one| known || one.status == "cancelled").ok_or_else(foreign)?;
        let KeptState { point, mut progress, unsettled, .. } = state;
        let settled = progress.shown.len().saturating_sub(unsettled);
        let record = self.turn.record_mut();
        // Where every model has failed, the first one is asked again.
        let model_index = if state.status == "failed" { 0 } else { progress.model };
        progress.model = (0..model_index).take_while(|_| record.next_model()).fold(0, |n, _| n + 1);
        let (seq, batch) = (progress.seq, progress.batch);
        let fresh = Progress { seq, ..Progress::new(progress.phase.name()) };
        record.restore(Progress { batch, ..fresh.clone() });
        let is_abandoned = stored.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms);
        match state.status.as_str() {
            "cancelled" => return Err(records::cancelled()),
            "paused" | "failed" if stored.open => {}
            "running" if cancel.is_some() || is_abandoned => {}
            "running" => return Err(conflict(RUNS)),
            _ => return Err(conflict("the turn has ended: read it with `followTurn`")),
        }
        match tool_batch_id.map(|wanted| wanted.cmp(&u64::from(batch))) {
            None | Some(Ordering::Equal) => {}
            Some(Ordering::Less) => return Err(conflict(GONE_ON)),
            Some(Ordering::Greater) => {
                return Err(conflict(
                    "the turn has no such batch: `toolBatchId` is in its last `paused` event",
                ));
            }
        }
        let mut batches: Vec<Calling> = Vec::new();
        for number in 1..=progress.judged {
            let text = stored.record(&records::batch_name(number)).ok_or_else(foreign)?;
            let (calling, joins) =
                records::read_batch(text, record.options().dialect).ok_or_else(foreign)?;
            match batches.last_mut().filter(|_| joins) {
                Some(batch) => batch.join(calling),
                None => batches.push(calling),
            }
        }
        check_approvals(&approvals, &batches, &record.options().tools)?;
        let is_running = point == Point::Running;
        let mut revisions = Vec::new();
        if !results.is_empty() {
            // As the turn was told, so that the calls have the ids that its messages show.
            let mut told = record.fresh();
            told.restore(fresh.clone());
            replay(&mut told, batches.clone(), is_running, &|id, call| {
                kept_outcome(&stored, id, call)
            });
            let ids = (told.message_ids(), batch);
            revisions = self::revisions(&stored, &ids, results, record.options())?;
        }
        record.restore(fresh);
        let (running, recorded) = replay(record, batches, is_running, &|id, call| {
            let new = revisions.iter().find(|one| (one.batch, one.call.as_str()) == (id, call));
            new.map(|one| one.outcome.clone()).or_else(|| kept_outcome(&stored, id, call))
        });
        // The earlier owner has performed these effects.
        record.drain();
        for text in &events {
            catch_up(&mut progress, text);
        }
        if state.status == "running" && !state.keeps_text {
            // Text events were shown, but their number was not stored.
            progress.seq += UNCOUNTED;
        }
        let after = (stored.revision, progress.seq, state.kept_events);
        let keep = record.options().keep.clone();
        self.epoch = state.epoch + 1;
        self.journal = keep.map(|keep| Journal::new(keep, self.epoch, Some(after)));
        if let Some(journal) = &mut self.journal {
            journal.replace(stored.owner.clone());
        }
        if cancel.is_some() && point == Point::Ask {
            // What the interrupted inference has shown stays: nothing says it again.
            let streamed = progress.shown.get(settled..).unwrap_or_default().to_owned();
            drop(progress.phase.show(Delta::Text(streamed), false));
        }
        record.restore(progress);
        if cancel.is_none() && point == Point::Ask {
            record.void(settled);
        }
        self.recorded = recorded;
        for Revised { batch, call, outcome: (outcome, duration_ms) } in &revisions {
            if let Some(journal) = &mut self.journal {
                let name = records::revision_name(*batch, call, self.epoch);
                journal.record(name, records::outcome(outcome, *duration_ms));
            }
        }
        let all = self.turn.record().closed().iter().chain(running.as_deref());
        let revised = revised_views(all, &revisions);
        self.observed = self.mark();
        let closed = self.turn.record().closed();
        let batch = running.as_deref().or_else(|| closed.last());
        let (calls, complete) = batch.map(Calling::opened).unwrap_or_default();
        let batches = closed.len() + usize::from(running.is_some());
        self.kept = Seen { batches, calls, complete };
        let at = match cancel {
            Some(reason) => Err(End::Cancelled(reason)),
            None if point == Point::Running && running.is_none() => return Err(foreign()),
            None => Ok(point),
        };
        Ok(Entry { at, calling: running, approvals, revised })
    }
}

/// The outcome of a call and its duration in milliseconds, if it has settled.
type Settled = Option<(Outcome, u64)>;

const RUNS: &str = "another owner runs the turn: read it with `followTurn`, or resume it once its \
                    lease (`keep.leaseMs`) has expired";
const GONE_ON: &str = "the turn has continued after that batch, because it was resumed before: read it \
                       with `followTurn`";

fn conflict(why: &'static str) -> Failure {
    Failure::new("turn.conflict", why)
}

/// Replays the stored batches. Returns the last one, if it `is_running`, and the calls that have an
/// outcome, in order.
fn replay(
    record: &mut Record,
    batches: Vec<Calling>,
    is_running: bool,
    outcome: &dyn Fn(u32, &str) -> Settled,
) -> (Option<Box<Calling>>, Vec<u32>) {
    let (mut running, mut recorded) = (None, Vec::new());
    let last = batches.len();
    for (at, mut calling) in batches.into_iter().enumerate() {
        let is_settled = calling.restore(record, outcome);
        let settled = calling.batch().calls().iter().filter(|one| one.outcome().is_some());
        recorded.extend(settled.map(Call::number));
        if is_running && at + 1 == last {
            running = Some(Box::new(calling));
        } else if is_settled {
            calling.close(record);
            record.archive(calling);
        }
    }
    sort_numbers(&mut recorded);
    (running, recorded)
}

/// An approval of a call that never waited for one is a mistake. One that was given before is not:
/// whoever resumes again says it again. To approve a call whose tool is not there would spend the
/// approval.
fn check_approvals(
    approvals: &[Approval],
    batches: &[Calling],
    tools: &Registry,
) -> Result<(), Failure> {
    for Approval { signature, approved, .. } in approvals {
        let waited =
            |call: &&Call| call.fate() == Fate::Waiting && call.view().signature == *signature;
        let Some(call) = batches.iter().flat_map(|one| one.batch().calls()).find(waited) else {
            let message = format!("`approvals`: no call with the signature {signature} waits");
            return Err(Failure::new("tool.no_approval", message));
        };
        let name = plain_name(&call.view().name);
        if *approved && tools.find(&call.view().name).is_none() {
            let message = format!("`tools`: expected {name}, whose call is approved");
            return Err(Failure::new("tool.missing", message));
        }
    }
    Ok(())
}

/// A result that is to be revised.
struct Revised {
    batch: u32,
    call: String,
    /// What counts instead, and the duration of the call in milliseconds.
    outcome: (Outcome, u64),
}

/// Finds the results that are to be revised: by the ids that the turn's messages show, with the batch
/// and the id of each call; else by the provider's, in the last batch that has a result of it.
fn revisions(
    kept: &StoredTurn,
    (shown, last): &(Vec<(String, u32, String)>, u32),
    wanted: Vec<Revision>,
    options: &TurnOptions,
) -> Result<Vec<Revised>, Failure> {
    let mut all: Vec<Revised> = Vec::new();
    for Revision { tool_call_id: call, result, drop } in wanted {
        let stored = |at: u32, id: &str| {
            let text = kept.record(&records::outcome_name(at, id))?;
            Some((at, id.to_owned(), records::read_outcome(text)?.1))
        };
        let named = shown.iter().find(|(id, ..)| *id == call);
        let named = named.and_then(|(_, at, id)| stored(*at, id));
        let found = named.or_else(|| (1..=*last).rev().find_map(|at| stored(at, &call)));
        let new = |(at, id, _): &(u32, String, u64)| {
            !all.iter().any(|one| (one.batch, &one.call) == (*at, id))
        };
        let Some((at, id, duration_ms)) = found.filter(new) else {
            let message = format!(
                "`results`: the turn has no result of the call {}, or it is named twice",
                Json::from(call).to_text()
            );
            return Err(Failure::new("tool.no_result", message));
        };
        let outcome = if drop {
            Outcome::dropped()
        } else {
            let policy = &options.policy;
            let limits = ContentLimits {
                text_bytes: policy.max_tool_result_bytes,
                media_bytes: policy.max_media_bytes,
                // Who resumes the turn is the host, not the tool.
                urls: true,
            };
            let text = result.to_text();
            Outcome { revised: true, ..Outcome::returned_content(&text, 0, limits) }
        };
        all.push(Revised { batch: at, call: id, outcome: (outcome, duration_ms) });
    }
    Ok(all)
}

/// The results that these revisions change: those of the calls, and of their repeats.
fn revised_views<'a>(
    batches: impl Iterator<Item = &'a Calling>,
    revisions: &[Revised],
) -> Vec<(u32, ResultView)> {
    let mut all: Vec<(u32, ResultView)> = Vec::new();
    for (batch, view) in batches.flat_map(|one| one.results().map(|view| (one.place().id, view))) {
        let is_revision = |one: &Revised| one.batch == batch && one.call == view.tool_call_id;
        let repeats =
            |(_, one): &(u32, ResultView)| view.replayed && one.signature == view.signature;
        if revisions.iter().any(is_revision) || all.iter().any(repeats) {
            all.push((batch, view));
        }
    }
    all
}

/// The outcome of a call that counts, and its duration: the last revision, or what was recorded.
fn kept_outcome(kept: &StoredTurn, batch: u32, call: &str) -> Option<(Outcome, u64)> {
    let revised = kept
        .records
        .iter()
        .filter_map(|(name, text)| Some((records::revised_by(name, batch, call)?, text.as_str())));
    let last = revised.max_by_key(|(epoch, _)| *epoch).map(|(_, text)| text);
    records::read_outcome(last.or_else(|| kept.record(&records::outcome_name(batch, call)))?)
}

/// Applies events that were stored after the state: text of an inference that did not end.
fn catch_up(progress: &mut Progress, text: &str) {
    let Ok(events) = Json::parse_host(text.as_bytes(), text.len()) else { return };
    for event in events.as_array().into_iter().flatten() {
        let Some(seq) = event.get("seq").and_then(Json::as_u64) else { continue };
        if seq <= progress.seq {
            continue;
        }
        progress.seq = seq;
        if event.kind() == Some("text") {
            let chunk = event.get("chunk").and_then(Json::as_str).unwrap_or_default();
            progress.shown.push_str(chunk);
        }
    }
}
