//! A turn that goes on in another process, isolate or tab.
//!
//! What was kept is judged again by the same code that judged it first, and nothing of it is
//! shown or started; then the turn goes on at the point where it stood. A call that was
//! claimed and has no outcome may have run: it runs once more only if its tool allows that,
//! with the same idempotency key, and is `unknown` otherwise.

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

/// More events than an owner shows without keeping them: behind it, `seq` still means one event.
const UNCOUNTED: u64 = 1_000_000;

/// What a resumed turn does first.
#[derive(Debug, Clone)]
pub(super) enum Resuming {
    /// It ends.
    Refused(Failure),
    /// It is stopped.
    Cancel(String),
    /// It goes on, with what the user said of the calls that wait.
    Go { point: Point, approvals: Vec<(String, bool)> },
}

impl Turn {
    /// Makes a turn out of what a store has:
    /// `{ dialect?, tools?, requestId, secret, maxRetries?, trace?, keep, resume }` with
    /// `resume: { kept, events?, toolBatchId?, approvals?, cancel? }`.
    ///
    /// - `kept`: what [`Kept::read`] reads, or `null` for a turn that the store does not know;
    /// - `events`: the texts of the kept groups of events behind the state;
    /// - `approvals`: `[{ signature, approved }]`;
    /// - `cancel`: the reason, to stop the turn instead.
    ///
    /// A turn that may not go on ends behind its start with `turn.not_found`, `turn.conflict`,
    /// `turn.cancelled` or `store.version`.
    ///
    /// # Errors
    /// Those of [`Options::parse`].
    pub fn restore(text: &[u8]) -> Result<Self, Error> {
        Self::restore_json(Json::parse_lossy(text, limits::KEPT_BYTES)?.into_owned())
    }

    /// As [`Turn::restore`], of JSON that has been read.
    ///
    /// # Errors
    /// Those of [`Turn::restore`] but `json.*`.
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
                // The model that answers now decides on its wire.
                Some((_, own)) if own.is_null() || key != "dialect" => *own = value,
                Some(_) => {}
                None => members.push((key, value)),
            }
        }
        if !members.iter().any(|(key, value)| key == "dialect" && !value.is_null()) {
            // Nobody is asked anything: the turn is unknown, or ends now.
            members.push(("dialect".into(), "openai-chat".into()));
        }
        let mut turn = Self::with(Options::read(members, true)?)?;
        turn.journal = None;
        let resuming = turn.reinstate(&resume, kept, known);
        // Nothing happens before the start, however the turn stood.
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

    /// `known`: what the host gave at first can be read.
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
        // All of this was shown and started before.
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
            // Text was shown that nobody counted.
            self.record.seq += UNCOUNTED;
        }
        let after = (kept.revision, self.record.seq, state.kept_events);
        self.journal = self.options.keep.clone().map(|keep| Journal::new(keep, Some(after)));
        Ok(match cancel {
            Some(reason) => Resuming::Cancel(reason.to_owned()),
            None => Resuming::Go { point: state.point, approvals: approvals(resume) },
        })
    }

    /// Events that were kept behind the state: text of an inference that did not end.
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

    /// Goes on.
    pub(super) fn resume(&mut self, resuming: Resuming) {
        let (point, approvals) = match resuming {
            Resuming::Refused(failure) => return self.fail(failure),
            Resuming::Cancel(reason) => {
                self.state = match std::mem::replace(&mut self.state, State::Idle) {
                    State::Running(mut batch) => {
                        // They run elsewhere, if at all: nobody here can be told.
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
            Point::Ask => self.ask_again(1),
            Point::Awaiting => self.approve(&approvals),
            Point::Running => self.recover(),
            Point::Step => self.ask(),
        }
    }

    /// Runs or refuses the calls that the user has decided on; the others wait on.
    fn approve(&mut self, approvals: &[(String, bool)]) {
        let Some(awaiting) = &self.record.awaiting else { return self.end_tool_phase() };
        let (said, mut candidates) = (awaiting.said.clone(), awaiting.candidates.clone());
        let mut decided = false;
        for candidate in &mut candidates {
            let signature = self.signature_of(candidate);
            let about = approvals.iter().filter(|(one, _)| {
                one == signature.as_str() || planted("an approval fits any call")
            });
            // Of a yes and a no to the same call the no counts.
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
            // It may once more only if its tool was one that may, and still is.
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

    /// The same whenever this call is started: what performs an effect can recognise it by it.
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

    /// The name of a call's outcome for other turns.
    pub(super) fn reuse_key(&self, signature: &str) -> String {
        let tenant = self.options.keep.as_ref().map_or("", |keep| keep.tenant.as_str());
        store::reuse_key(tenant, signature)
    }
}

/// It was claimed, and nobody knows whether it ran.
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

/// The members that the host gave when the turn began.
fn given(kept: &Kept) -> Option<Vec<(std::borrow::Cow<'static, str>, Json<'static>)>> {
    let text = kept.record("turn")?;
    let json = Json::parse_lossy(text.as_bytes(), text.len()).ok()?.into_owned();
    let Json::Object(members) = json else { return None };
    Some(members.into_iter().filter(|(key, _)| key != "v").collect())
}
