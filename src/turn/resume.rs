//! Resumes a turn in another process, isolate or tab.
//!
//! The stored batches are replayed by the code that handled them first, without showing events or
//! starting tools. Then the turn continues at the point where it stopped. A call with a claim but
//! without an outcome may have run. If its tool allows that, it runs again with the same
//! idempotency key; otherwise its outcome is `unknown`.

use sha2::{Digest, Sha256};

use super::batch::{BatchCall, Kind};
use super::candidates::Approval;
use super::journal::Journal;
use super::machine::{Phase, State, Turn};
use super::options::Options;
use super::read::invalid;
use super::records::{self, failure};
use super::settle;
use super::snapshot::{KeptState, Point};
use crate::error::Error;
use crate::json::Json;
use crate::limits;
use crate::planted::planted;
use crate::signature::{Signature, hex};
use crate::store::{self, Kept};
use crate::tool::{Outcome, Status, ToolSpec};
use crate::trace::{Failure, PhaseName};

/// Added to `seq` if the earlier owner may have shown events without storing them. It is larger
/// than their number, so no `seq` is used twice.
const UNCOUNTED: u64 = 1_000_000;

/// The first action of a resumed turn.
#[derive(Debug, Clone)]
pub(super) enum Resuming {
    /// The turn ends with an error.
    Refused(Failure),
    /// The turn is cancelled.
    Cancel(String),
    /// The turn continues, with the user's decisions on the calls that wait.
    Go { point: Point, approvals: Vec<(String, bool)> },
}

impl Turn {
    /// Makes a turn from its stored form:
    /// `{ dialect?, tools?, requestId, secret, maxRetries?, trace?, keep, resume }` with
    /// `resume: { kept, events?, toolBatchId?, approvals?, cancel? }`.
    ///
    /// - `kept`: the input of [`Kept::read`], or `null` for a turn that the store does not know;
    /// - `events`: the JSON texts of the groups of events that were stored after the state;
    /// - `approvals`: `[{ signature, approved }]`;
    /// - `cancel`: the reason, to cancel the turn instead of resuming it.
    ///
    /// A turn that cannot be resumed ends when it is started, with `turn.not_found`,
    /// `turn.conflict`, `turn.cancelled` or `store.version`.
    ///
    /// # Errors
    /// Those of [`Options::parse`].
    pub fn restore(text: &[u8]) -> Result<Self, Error> {
        Self::restore_json(Json::parse_lossy(text, limits::KEPT_BYTES)?.into_owned())
    }

    /// As [`Turn::restore`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`Turn::restore`], except `json.*`.
    pub fn restore_json(options: Json<'static>) -> Result<Self, Error> {
        let Json::Object(mut members) = options else {
            return Err(invalid("options", "an object"));
        };
        let at = members.iter().position(|(key, _)| key == "resume");
        let resume = at.map(|at| members.swap_remove(at).1);
        let resume = resume.ok_or_else(|| invalid("resume", "an object"))?;
        let kept = resume.get("kept").and_then(Kept::read);
        let given = kept.as_ref().and_then(given);
        let known = given.is_some();
        for (key, value) in given.unwrap_or_default() {
            match members.iter_mut().find(|(name, _)| *name == key) {
                Some((_, Json::Object(own))) if key == "keep" => {
                    if let Json::Object(more) = value {
                        own.extend(more);
                    }
                }
                // The stored options take precedence, except for the dialect: the resumed turn may
                // use another model.
                Some((_, own)) if own.is_null() || key != "dialect" => *own = value,
                Some(_) => {}
                None => members.push((key, value)),
            }
        }
        if !members.iter().any(|(key, value)| key == "dialect" && !value.is_null()) {
            // No request is sent: the turn is unknown or ends at once. Parsing needs a dialect.
            members.push(("dialect".into(), "openai-chat".into()));
        }
        let mut turn = Self::with(Options::read(members, true)?)?;
        turn.journal = None;
        let resuming = turn.reinstate(&resume, kept, known);
        // The turn stays idle until `Input::Start`, whatever its stored state.
        let state = std::mem::replace(&mut turn.state, State::Idle);
        turn.resuming = Some(match resuming {
            Ok(resuming) => (resuming, state),
            Err(failure) => {
                turn.phase.text.clear();
                (Resuming::Refused(failure), State::Idle)
            }
        });
        Ok(turn)
    }

    /// Restores the stored state. `known`: the original options of the host could be read.
    fn reinstate(
        &mut self,
        resume: &Json<'_>,
        kept: Option<Kept>,
        known: bool,
    ) -> Result<Resuming, Failure> {
        let unknown = || failure("turn.not_found", "no such turn is kept");
        let kept = kept.ok_or_else(unknown)?;
        let foreign = || failure("store.version", "the turn was kept by another version");
        let state = KeptState::read(&kept.state).filter(|_| known).ok_or_else(foreign)?;
        (self.record.seq, self.record.batch) = (state.seq, state.batch);
        self.phase = state.phase.clone();
        let cancel = resume.get("cancel").and_then(Json::as_str);
        let gone =
            kept.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms) || planted("no lease");
        match state.status.as_str() {
            "cancelled" if !planted("a stopped turn is a conflict") => {
                return Err(records::cancelled());
            }
            "paused" | "failed" if kept.open => {}
            "running" if cancel.is_some() || gone => {}
            _ => return Err(records::conflict()),
        }
        let batch = resume.get("toolBatchId").and_then(Json::as_u64);
        if batch.is_some_and(|batch| batch != u64::from(state.batch)) {
            return Err(failure("turn.conflict", "the turn has gone on behind that batch"));
        }
        self.record.batch = 0;
        for number in 1..=state.decided {
            let text = kept.record(&records::batch_name(number)).ok_or_else(foreign)?;
            let one = records::read_batch(text).ok_or_else(foreign)?;
            self.phase = Phase::new(one.phase);
            self.cycle = one.cycle;
            let id = self.record.batch + 1;
            let outcome =
                |call: &str| records::read_outcome(kept.record(&records::outcome_name(id, call))?);
            self.reopen(one.batch, outcome);
            let running = state.point == Point::Running && number == state.decided;
            if self.settle_known() && !running {
                self.close_batch();
            }
        }
        if state.point != Point::Running {
            self.state = State::Idle;
        }
        // The earlier owner has performed these effects.
        self.effects.clear();
        let record = &mut self.record;
        (record.seq, record.batch, record.decided) = (state.seq, state.batch, state.decided);
        (record.inferences, record.calls) = (state.inferences, state.calls);
        (record.tools_ms, record.usage) = (state.tools_ms, state.usage);
        record.epoch = state.epoch + 1;
        record.shown = state.shown;
        (self.cycle, self.phase) = (state.cycle, state.phase);
        for text in resume.get("events").and_then(Json::as_array).into_iter().flatten() {
            self.catch_up(text.as_str().unwrap_or_default());
        }
        let uncounted = state.status == "running" && !state.keeps_text;
        if uncounted && !planted("what was shown is not counted") {
            // Text events were shown, but their number was not stored.
            self.record.seq += UNCOUNTED;
        }
        let after = (kept.revision, self.record.seq, state.kept_events);
        self.journal = self.options.keep.clone().map(|keep| Journal::new(keep, Some(after)));
        Ok(match cancel {
            Some(reason) => Resuming::Cancel(reason.to_owned()),
            None => Resuming::Go { point: state.point, approvals: approvals(resume) },
        })
    }

    /// Applies events that were stored after the state: text of an inference that did not end.
    fn catch_up(&mut self, text: &str) {
        let Ok(events) = Json::parse_lossy(text.as_bytes(), text.len()) else { return };
        for event in events.as_array().into_iter().flatten() {
            let Some(seq) = event.get("seq").and_then(Json::as_u64) else { continue };
            if seq <= self.record.seq {
                continue;
            }
            self.record.seq = seq - u64::from(planted("a number is given twice"));
            if event.get("type").and_then(Json::as_str) == Some("text") {
                let chunk = event.get("chunk").and_then(Json::as_str).unwrap_or_default();
                if !planted("kept text is not part of the whole") {
                    self.record.shown.push_str(chunk);
                }
            }
        }
    }

    /// Performs the first action of a resumed turn.
    pub(super) fn resume(&mut self, resuming: Resuming) {
        let (point, approvals) = match resuming {
            Resuming::Refused(failure) => return self.fail(failure),
            Resuming::Cancel(reason) => {
                self.state = match std::mem::replace(&mut self.state, State::Idle) {
                    State::Running(mut batch) => {
                        // The tools may run in another process, which cannot be notified from here.
                        for one in &mut batch.calls {
                            if one.again {
                                settle(one, settle::cancelled());
                            } else {
                                give_up(one);
                            }
                        }
                        State::Running(batch)
                    }
                    state => state,
                };
                return self.cancel(&reason);
            }
            Resuming::Go { point, approvals } => (point, approvals),
        };
        if point != Point::Action {
            self.phase_started(true);
        }
        match point {
            Point::Action => {
                self.enter(PhaseName::Action);
                self.ask();
            }
            Point::Ask => self.ask_again(),
            Point::Awaiting => self.approve(&approvals),
            Point::Running => self.recover(),
            Point::Step => self.ask(),
        }
    }

    /// Runs or refuses the calls that the user has decided on. The others continue to wait.
    fn approve(&mut self, approvals: &[(String, bool)]) {
        let Some(awaiting) = &self.record.awaiting else { return self.end_tool_phase() };
        let (said, mut candidates) = (awaiting.said.clone(), awaiting.candidates.clone());
        let mut decided = false;
        for candidate in &mut candidates {
            let signature = self.signature_of(candidate);
            let about = approvals.iter().filter(|(one, _)| {
                one == signature.as_str() || planted("an approval fits any call")
            });
            // If the same call was both approved and denied, it is denied.
            if let Some(approved) = about.map(|(_, approved)| *approved).min() {
                decided = true;
                candidate.approval = if approved { Approval::Granted } else { Approval::Denied };
            }
        }
        if decided {
            self.decide(said, candidates);
        } else {
            self.await_approval();
        }
    }

    /// Settles a batch whose owner is gone.
    fn recover(&mut self) {
        let State::Running(mut batch) = std::mem::replace(&mut self.state, State::Idle) else {
            return;
        };
        let left = self.options.policy.tools_total_ms.saturating_sub(self.record.tools_ms);
        batch.since = self.now;
        batch.total_deadline = self.now.saturating_add(left);
        for (place, one) in batch.calls.iter_mut().enumerate() {
            let Kind::Run { signature, .. } = &one.kind else { continue };
            if one.settled.is_some() {
                continue;
            }
            let tool = self.options.tools.find(&one.view.name);
            // Run it again only if its tool allowed that when it was stored, and still does.
            let again = one.again && tool.is_some_and(ToolSpec::may_run_again);
            let again = again || (tool.is_some() && planted("a call without outcome runs again"));
            if again {
                one.kind = self.run(&one.view.name, signature.clone());
                one.since = self.now;
                self.start_tool(place, one);
            } else {
                give_up(one);
            }
        }
        self.state = State::Running(batch);
        self.settle_replays();
    }

    /// Returns a key that is the same each time this call is started, so that a tool can detect a
    /// repeated call.
    pub(super) fn idempotency_key(&self, place: usize, signature: &Signature) -> String {
        let tenant = self.options.keep.as_ref().map_or("", |keep| keep.tenant.as_str());
        let tenant =
            if planted("each start has its own key") { &self.options.secret } else { tenant };
        let parts = Json::Array(vec![
            tenant.to_owned().into(),
            self.options.request_id.to_string().into(),
            Json::integer(u64::from(self.record.batch)),
            Json::integer(u64::try_from(place).unwrap_or(u64::MAX)),
            signature.as_str().to_owned().into(),
        ]);
        hex(&Sha256::digest(parts.to_text().as_bytes()))
    }

    /// Returns the store key under which other turns find the outcome of a call.
    pub(super) fn reuse_key(&self, signature: &str) -> String {
        let tenant = self.options.keep.as_ref().map_or("", |keep| keep.tenant.as_str());
        store::reuse_key(tenant, signature)
    }
}

/// Settles a claimed call as `unknown`, because it may or may not have run.
fn give_up(call: &mut BatchCall) {
    let message = "the tool was started, and whether it finished is not known";
    settle(call, Outcome::failed(Status::Unknown, "tool.outcome_unknown", message));
}

fn settle(call: &mut BatchCall, outcome: Outcome) {
    if call.settled.is_none() && matches!(call.kind, Kind::Run { .. }) {
        call.settled = Some((outcome, call.since));
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

/// Returns the options that the host set when the turn began.
fn given(kept: &Kept) -> Option<Vec<(std::borrow::Cow<'static, str>, Json<'static>)>> {
    let text = kept.record("turn")?;
    let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?.into_owned();
    let Json::Object(members) = json else { return None };
    Some(members.into_iter().filter(|(key, _)| key != "v").collect())
}
