//! The calls of a turn: what it adds to a [`CallBatch`].

mod settle;

use super::super::event::{EventKind, PhaseName, ResultView};
use super::super::ids::unique;
use super::super::options::TurnOptions;
use super::super::phase::Phase;
use super::super::progress::Progress;
use super::super::prompt::Exchange;
use super::super::protocol::Effect;
use super::Record;
use super::outcomes::soft_stop;
use crate::error::Failure;
use crate::guard::Refusal;
use crate::history::{Action, Code, Repair};
use crate::json::{Json, JsonError};
use crate::limits;
use crate::store;
use crate::stream::{self, FinishReason, Response};
use crate::tool::CallView;
use crate::tool::{
    CUT_BY_LIMIT, Call, CallBatch, Decision, Fate, INCOMPLETE, Need, Outcome, Replays, Status,
    Terms, ToolSpec, Verdict, fit_arguments,
};

/// The calls of one response, with the rest of it.
#[derive(Debug, Clone)]
pub(crate) struct Calling {
    batch: CallBatch,
    /// What the model said with the calls. If calls wait for the user's approval, also the answers
    /// to the others.
    exchange: Exchange,
    place: Place,
    /// The ids of the calls of the turn so far.
    ids: Vec<String>,
    /// Calls whose rulings are performed, from the first on.
    opened: usize,
    /// The response is still read, so that more calls may come.
    reading: bool,
    /// Bytes of the response that were read when the budget was spent.
    spent_at: Option<usize>,
    /// All calls are judged and no more come; the refused ones were told.
    complete: bool,
    /// What broke the response.
    broken: Option<Failure>,
}

/// The place of a batch in its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) phase: PhaseName,
    pub(crate) cycle: u32,
    /// `toolBatchId`, from the first accepted call on.
    pub(crate) id: u32,
    /// The calls waited for the user's approval before.
    pub(crate) is_approved: bool,
    /// A refused call would run in a tool phase. The action phase uses this after the batch.
    pub(crate) elsewhere: bool,
    /// Bytes of text that the turn had shown with the calls.
    pub(crate) shown: usize,
}

/// Calls before they run.
impl Calling {
    /// Begins the calls of a response.
    pub(crate) fn new(record: &Record) -> Self {
        let exchange = Exchange::default();
        let place = Place::of(record.progress());
        Self { ids: record.call_ids(), ..Self::of(CallBatch::default(), exchange, place, true) }
    }

    fn of(batch: CallBatch, exchange: Exchange, place: Place, reading: bool) -> Self {
        let (ids, spent_at, broken) = (Vec::new(), None, None);
        let (opened, complete) = (0, false);
        Self { batch, exchange, place, ids, opened, reading, spent_at, complete, broken }
    }

    /// Takes the calls of a response that may be judged, as far as it is received. Returns whether
    /// there are any. Once the budget is spent, no call starts, so that none is waited for.
    pub(crate) fn take_calls(&mut self, response: &Response, record: &mut Record) -> bool {
        if self.batch.further() >= limits::FURTHER_CALLS {
            return false;
        }
        let call_count = self.batch.calls().len();
        let is_spent = self.is_spent(record);
        for call in response.calls.iter().skip(call_count) {
            if !(record.takes(call) || is_spent && call.ready) {
                break;
            }
            self.add(call.clone(), None, record);
            self.update_exchange(response);
        }
        self.batch.calls().len() > call_count
    }

    fn update_exchange(&mut self, response: &Response) {
        self.exchange.text.clone_from(&response.text);
        self.exchange.reasoning.clone_from(&response.reasoning);
    }

    /// Drops the reasoning of the response, as another model goes on.
    pub(crate) fn forget_reasoning(&mut self) {
        self.exchange.reasoning.clear();
    }

    /// Takes the rest of a response that is complete.
    pub(crate) fn finish(&mut self, response: Response, record: &mut Record) {
        let (known, mut same) = (self.batch.calls().len(), true);
        for (at, call) in response.calls.into_iter().enumerate() {
            let id = call.id.clone();
            if at >= known {
                let lacks = (!record.takes(&call)).then(|| missing_end(response.finish.as_ref()));
                self.add(call, lacks, record);
            }
            same &= self.batch.calls().get(at).is_some_and(|call| call.view().id == id);
        }
        (self.exchange.text, self.exchange.reasoning) = (response.text, response.reasoning);
        // The provider knows a call by the id that it gave.
        self.exchange.response = response.id.filter(|_| same);
        if matches!(response.finish, Some((FinishReason::Length, _))) {
            self.batch.cut_by_limit();
        }
        self.reading = false;
    }

    /// Ends the reading of the response. `broken`: it failed.
    pub(crate) fn stop_reading(&mut self, response: &Response, broken: Option<Failure>) {
        self.update_exchange(response);
        self.reading = false;
        self.broken = broken;
    }

    /// Adds a call, and requests the inputs that it needs. `lacks`: why it cannot be judged as a
    /// complete call.
    fn add(&mut self, mut call: stream::Call, lacks: Option<&str>, record: &mut Record) {
        call.ended = lacks.is_none();
        let (options, progress) = (&record.options, &mut record.progress);
        progress.calls += 1;
        let (ids, project) = (&mut self.ids, options.project_id.as_deref());
        let schema = options.tools.find(&call.name).map(|tool| &tool.input_schema);
        let (call, changes) = read(call, progress.calls, ids, project, schema);
        record.arguments.extend(changes.into_iter().map(|detail| Repair {
            code: Code::ToolArgsType,
            action: Action::Converted,
            index: record.given,
            tool_call_id: Some(call.view().id.clone()),
            detail,
        }));
        let call = match lacks {
            Some(why) => call.because(why.to_owned()),
            None => call,
        };
        let (policy, phase) = (&options.policy, &progress.phase);
        let tool = options.tools.find(&call.view().name);
        // What stands in a text may be quoted: from another text, or from a tool's result.
        let is_risky = call.is_text() && tool.is_some_and(|tool| !tool.read_only);
        let call = if is_risky { call.unapproved() } else { call };
        let is_known = phase
            .rules(policy)
            .by_name(&call.view().name, tool.map(|tool| tool.read_only))
            .is_none();
        let judged_on = is_known || phase.may_cycle(policy, progress.cycle);
        let checks = judged_on && tool.is_some_and(|tool| tool.checks);
        let deadline = record.now.saturating_add(policy.tool_timeout_ms);
        let need = if checks { Some(Need::Verdict) } else { record.recalls(&call) };
        self.batch.add(call, deadline, need);
        if let Some(call) = self.batch.calls().last() {
            record.request_input(call);
        }
    }

    /// Makes a batch from its stored form.
    pub(crate) fn stored(calls: Vec<Call>, exchange: Exchange, place: Place) -> Self {
        Self::of(CallBatch::stored(calls), exchange, place, false)
    }

    /// Adds a later part of the same batch, from its stored form.
    pub(crate) fn join(&mut self, part: Self) {
        let mut calls = std::mem::take(&mut self.batch).into_calls();
        calls.extend(part.batch.into_calls());
        *self = Self { batch: CallBatch::stored(calls), ..part };
    }

    /// Makes a batch of the calls that wait for the user's approval. `decision` returns the user's
    /// decision on a signature.
    pub(crate) fn approved<'d>(
        &self,
        record: &Record,
        decision: impl Fn(&str) -> Option<Decision<'d>>,
    ) -> Self {
        let batch = CallBatch::approved(self.waiting(), |call| decision(&call.view().signature));
        let place = Place { is_approved: true, ..Place::of(record.progress()) };
        Self::of(batch, self.exchange.clone(), place, false)
    }

    /// Takes a verdict.
    pub(crate) fn check(&mut self, call: u32, verdict: Verdict, record: &mut Record) {
        let project = record.options.project_id.as_deref();
        let checked = self.batch.checked(call, verdict, project, |call| record.recalls(call));
        if let Some(call) = checked {
            record.request_input(call);
        }
    }

    /// Takes the stored outcome of another turn, and its age in milliseconds.
    pub(crate) fn recall(&mut self, call: u32, found: Option<(Outcome, u64)>, record: &Record) {
        self.batch.recalled(call, found, &record.options.tools);
    }

    /// Judges the calls for which no input is missing, and starts the accepted ones: one by one where
    /// they start while the response is read, otherwise all of them together.
    pub(crate) fn judge(&mut self, record: &mut Record) {
        if !self.complete && (record.reads_on() || self.batch.is_checked()) {
            let terms = terms(&record.options, &record.progress);
            self.place.elsewhere |= self.batch.judge(record.now, &terms, &mut record.guard);
            if !self.has_failed() {
                self.open(record);
            }
        }
    }

    /// Whether the rest of the response is of no more use. `read`: the bytes that were read of it.
    pub(crate) fn has_enough(&mut self, read: usize, record: &Record) -> bool {
        if !self.is_spent(record) {
            return false;
        }
        let from = *self.spent_at.get_or_insert(read);
        self.batch.further() >= limits::FURTHER_CALLS
            || read.saturating_sub(from) >= limits::FURTHER_BYTES
            || self.is_waiting()
            || record.pause
            || self.reads_until(record).is_some_and(|until| record.now >= until)
    }

    /// When the reading of the response ends, because the budget is spent and all tools settled.
    pub(crate) fn reads_until(&self, record: &Record) -> Option<u64> {
        let settled_at = self.batch.settled_at().filter(|_| self.reading && self.is_spent(record));
        settled_at.map(|at| at.saturating_add(limits::FURTHER_MS))
    }

    /// Whether calls of the batch have used up the budget.
    fn is_spent(&self, record: &Record) -> bool {
        let waiting = u32::try_from(self.waiting().count()).unwrap_or(u32::MAX);
        self.is_begun() && record.progress.phase.budget(&record.options.policy) <= waiting
    }

    /// What broke the response, if none of its calls was accepted.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        if self.has_failed() { self.broken.take() } else { None }
    }

    fn has_failed(&self) -> bool {
        let accepted = || self.batch.calls().iter().any(is_accepted);
        self.broken.is_some() && self.batch.is_judged() && !accepted()
    }

    /// Restores a stored batch, with the outcomes that are stored. This has the same effects as when
    /// the calls were judged; the caller drops them. Returns whether all calls have settled.
    pub(crate) fn restore(
        &mut self,
        record: &mut Record,
        outcome: impl Fn(u32, &str) -> Option<(Outcome, u64)>,
    ) -> bool {
        record.progress.phase = Phase::new(self.place.phase);
        record.progress.cycle = self.place.cycle;
        if let Some(before) = record.closed.last().filter(|_| self.place.is_approved) {
            self.exchange.calls.clone_from(&before.exchange.calls);
        }
        let id = record.progress.batch + 1;
        self.batch.restore(&mut record.guard, |call| outcome(id, call));
        self.open(record);
        self.show_settled(record);
        self.batch.is_settled()
    }

    /// Emits the events of the new rulings, and starts the tools. The refused calls of a response
    /// are told together, once it is read and all its calls are judged.
    fn open(&mut self, record: &mut Record) {
        let new = self.opened..self.batch.judged();
        self.opened = new.end;
        self.complete = !self.reading && self.batch.is_judged();
        if self.place.phase == PhaseName::Unified {
            let has_results = self.has_results(record);
            self.batch.answer_refused(|call, refusal| soft_stop(call, refusal, has_results));
        }
        let mut started = Vec::new();
        for (at, call) in self.batch.calls().iter().enumerate().filter(|(at, _)| new.contains(at)) {
            let runs = matches!(call.fate(), Fate::Run(_));
            record.progress.phase.execute(u32::from(runs));
            if call.has_result() {
                started.push(at);
            }
        }
        if !started.is_empty() && self.place.id == 0 {
            record.progress.batch += 1;
            self.place.id = record.progress.batch;
        }
        for at in &started {
            let Some(call) = self.batch.calls().get(*at) else { continue };
            if is_accepted(call) {
                record.count(call);
            }
            record.emit(EventKind::ToolCalls { calls: vec![call.view().clone()] });
        }
        if self.complete {
            self.tell_refused(record);
        }
        for at in started {
            self.start(at, record);
        }
    }

    /// Whether the turn has results, of this batch or of an earlier one.
    fn has_results(&self, record: &Record) -> bool {
        let mut all = record.closed.iter().chain([self]).flat_map(|one| one.batch.calls());
        all.any(Call::is_outcome_given)
    }

    /// Whether no call may have a result that the model asks for in another way. Of a call that waits,
    /// a later batch says so.
    pub(crate) fn is_hopeless(&self) -> bool {
        let hopeless = |refusal| {
            matches!(refusal, Refusal::Budget | Refusal::NotAllowed | Refusal::NotApproved)
        };
        let mut calls = self.batch.calls().iter().filter(|call| call.fate() != Fate::Waiting);
        calls.all(|call| matches!(call.fate(), Fate::Refused(refusal) if hopeless(refusal)))
    }

    fn tell_refused(&self, record: &mut Record) {
        let refused = self.batch.refused();
        let has_results = self.has_results(record);
        for call in self.batch.calls().iter().filter(|call| !is_accepted(call)) {
            record.count(call);
        }
        for (reason, calls) in refused {
            let notice = Call::notice(reason, &calls, has_results);
            if record.is_boxed() {
                record.conversation.add_notice(notice.clone());
            }
            record.trace_refused(reason, &calls);
            let calls = calls.into_iter().map(|call| call.view().clone()).collect();
            let blocked = record.blocked.clone();
            record.emit(EventKind::Refused { calls, reason, notice, blocked });
        }
    }
}

/// Whether a call has a result of its own, or waits for the user's approval.
fn is_accepted(call: &Call) -> bool {
    call.is_outcome_given() || matches!(call.fate(), Fate::Replay | Fate::Waiting)
}

/// A call with the model's own arguments, for its history.
fn model_view(call: &Call) -> CallView {
    CallView { args: call.raw_args().clone(), ..call.view().clone() }
}

/// Whether a call was executed, and its tool returned.
fn has_run(call: &Call) -> bool {
    let is_ok = |(outcome, _): (&Outcome, u64)| outcome.status == Status::Ok;
    matches!(call.fate(), Fate::Run(_)) && call.outcome().is_some_and(is_ok)
}

fn view(call: &Call, outcome: &Outcome, duration_ms: u64) -> ResultView {
    ResultView {
        tool_call_id: call.view().id.clone(),
        name: call.view().name.clone(),
        args: call.view().args.clone(),
        signature: call.view().signature.clone(),
        outcome: outcome.clone(),
        duration_ms,
        replayed: call.is_replayed(),
    }
}

/// Why a call of a response that is complete has no end.
fn missing_end(finish: Option<&(FinishReason, String)>) -> &'static str {
    match finish.map(|(reason, _)| *reason) {
        Some(FinishReason::Length) => CUT_BY_LIMIT,
        Some(FinishReason::ContentFilter) => "a content filter cut the response before its end",
        Some(FinishReason::Error) => "the provider failed before the end of the response",
        Some(
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::TextToolCall
            | FinishReason::Paused
            | FinishReason::Other,
        )
        | None => "the arguments are incomplete, or cannot be told from those of another call",
    }
}

/// Reads a call of a response. Its arguments become a string if they are no complete JSON object.
/// They are fitted to the schema; also returns how.
fn read(
    call: stream::Call,
    number: u32,
    ids: &mut Vec<String>,
    project: Option<&str>,
    schema: Option<&Json<'static>>,
) -> (Call, Vec<String>) {
    let empty = call.ended && call.arguments.trim().is_empty();
    let text = if empty { "{}" } else { call.arguments.as_str() };
    let parsed = Json::parse_arguments(text.as_bytes(), limits::ARGUMENTS_BYTES);
    let mut changes = Vec::new();
    let parsed = parsed.map(|json| {
        let mut json = json.into_owned();
        changes = fit_arguments(&mut json, schema);
        json
    });
    let read = match parsed {
        _ if !call.ended => Err(INCOMPLETE.to_owned()),
        Ok(json) if json.as_object().is_some() => Ok(json),
        Ok(_) => Err("the arguments are not a JSON object".to_owned()),
        Err(JsonError::Syntax { offset }) if ends_early(text, offset) => Err(INCOMPLETE.to_owned()),
        Err(JsonError::DuplicateKey { .. }) => {
            Err("the arguments have a key twice, with different values".to_owned())
        }
        Err(error) => Err(format!("the arguments cannot be read: {error}")),
    };
    let id = if call.id.is_empty() { "call".to_owned() } else { call.id };
    let named = (unique(id, ids), call.name);
    match read {
        Ok(args) => (Call::new(number, named, args, true, project), changes),
        Err(why) => {
            let args = Json::String(call.arguments.into());
            let call = Call::new(number, named, args, false, project);
            (call.shortened().because(why), Vec::new())
        }
    }
}

/// Whether a JSON text, which cannot be read at an offset, may be the beginning of a longer one.
fn ends_early(text: &str, offset: usize) -> bool {
    let rest = text.get(offset..).unwrap_or_default();
    ["true", "false", "null"].iter().any(|literal| literal.starts_with(rest))
}

impl Record {
    /// Whether a call of a response may be judged: its end was received, or it may run twice.
    pub(crate) fn takes(&self, call: &stream::Call) -> bool {
        let tool = self.options.tools.find(&call.name);
        call.ended || call.ready && tool.is_some_and(ToolSpec::may_run_again)
    }

    /// Counts a call as repeated if this turn has seen its signature and it does not run again, and
    /// lists it as blocked if it was refused or replayed.
    fn count(&mut self, call: &Call) {
        let (signature, fate) = (&call.view().signature, call.fate());
        let is_blocked = matches!(fate, Fate::Refused(_) | Fate::Replay);
        let is_same = |one: &str| call.signatures().any(|own| own.as_str() == one);
        let before = self.seen.iter().find(|(one, _)| is_same(one));
        match before.map(|(_, number)| *number) {
            None => {
                let signatures =
                    call.signatures().map(|own| (own.as_str().to_owned(), call.number()));
                self.seen.extend(signatures);
            }
            // A call that waited for an approval comes twice.
            Some(number) if number == call.number() || !is_blocked => {}
            Some(_) => match self.repeats.iter_mut().find(|(one, _)| one == signature) {
                Some((_, times)) => *times += 1,
                None => self.repeats.push((signature.clone(), 1)),
            },
        }
        if is_blocked && !self.blocked.contains(signature) {
            self.blocked.push(signature.clone());
        }
    }

    /// Requests the input that a call needs before it is judged.
    fn request_input(&mut self, call: &Call) {
        let number = call.number();
        match call.fate() {
            Fate::Unjudged(Some(Need::Verdict)) => {
                let (name, args) = (call.view().name.clone(), call.view().args.clone());
                self.push(Effect::Check { call: number, name, args });
            }
            Fate::Unjudged(Some(Need::Outcome)) => {
                let key = reuse_key(&self.options, call);
                self.push(Effect::Recall { call: number, key });
            }
            _ => {}
        }
    }

    /// Whether the outcome of another turn must be looked up for a call, because its tool allows
    /// the reuse.
    fn recalls(&self, call: &Call) -> Option<Need> {
        let tool =
            self.options.tools.find(&call.view().name).filter(|_| self.options.keep.is_some());
        let reuses = tool.is_some_and(|tool| tool.reuse_ms.is_some());
        let is_new = || self.guard.call(&call.signature_texts()).is_none();
        (reuses && is_new()).then_some(Need::Outcome)
    }

    /// Whether the model receives results as boxes. Otherwise it receives the provider's messages.
    fn is_boxed(&self) -> bool {
        self.conversation.is_thread() || self.progress.phase.is_boxed(&self.options.policy)
    }
}

impl Place {
    fn of(progress: &Progress) -> Self {
        let (phase, cycle) = (progress.phase.name(), progress.cycle);
        let shown_bytes = progress.shown.len();
        Self { phase, cycle, id: 0, is_approved: false, elsewhere: false, shown: shown_bytes }
    }
}

fn terms<'a>(options: &'a TurnOptions, progress: &Progress) -> Terms<'a> {
    let policy = &options.policy;
    Terms {
        tools: &options.tools,
        rules: progress.phase.rules(policy),
        replays: match progress.phase.name() {
            PhaseName::Unified => Replays::IfSet,
            PhaseName::Tool | PhaseName::Action | PhaseName::Complete => Replays::Usual,
        },
        further: if progress.phase.reads_on(policy) { limits::FURTHER_CALLS } else { u32::MAX },
        has_other_phase: progress.phase.may_cycle(policy, progress.cycle),
        timeout_ms: policy.tool_timeout_ms,
        result_bytes: policy.max_tool_result_bytes,
        media_bytes: policy.max_media_bytes,
        caps: false,
        error_bytes: None,
        total_ms: policy.tools_total_ms.saturating_sub(progress.tools_ms),
        total_option: "toolsTotalMs",
    }
}

/// Returns the store key under which other turns find the outcome of a call.
pub(in super::super) fn reuse_key(options: &TurnOptions, call: &Call) -> String {
    store::reuse_key(tenant(options), &call.view().signature)
}

fn tenant(options: &TurnOptions) -> &str {
    options.keep.as_ref().map_or("", |keep| keep.tenant.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(arguments: &str, ended: bool) -> String {
        let (id, name) = ("c".to_owned(), "write".to_owned());
        let arguments = arguments.to_owned();
        let call = stream::Call { id, name, arguments, ready: ended, ended };
        read(call, 1, &mut Vec::new(), None, None).0.why().to_owned()
    }

    #[test]
    fn unreadable_arguments_say_why_and_nothing_of_their_text() {
        let valid = r#" {"path": "a\u00e9.md", "deep": [{"n": [1.5e3, true, null]}]}"#;
        assert_eq!(why(valid, true), "");
        assert_eq!(why(r#"{"a": {"b": 1, "c": 2}, "a": {"c": 2.0, "b": 1}}"#, true), "");
        assert_eq!(why(valid, false), INCOMPLETE, "its end was not seen");
        for at in 2..valid.len() {
            let Some(cut) = valid.get(..at) else { continue };
            assert_eq!(why(cut, true), INCOMPLETE, "{cut}");
        }
        for (text, expected) in [
            ("NOPE", "cannot be read: not JSON at byte 0"),
            (r#"{"a": secret}"#, "cannot be read: not JSON"),
            (r#"{"secret": 1, "secret": 2}"#, "a key twice, with different values"),
            (r#"{"a": 1} secret"#, "cannot be read"),
            (r#"["secret"]"#, "not a JSON object"),
            ("\"secret\"", "not a JSON object"),
        ] {
            let why = why(text, true);
            assert!(why.contains(expected) && !why.contains("secret"), "{text}: {why}");
        }
    }
}
