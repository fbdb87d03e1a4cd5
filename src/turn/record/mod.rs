//! Everything that a turn knows and tells, except its state.
//!
//! The [machine](super::machine) decides which state follows; what happens on the way is done here.

mod calls;
mod emit;
mod messages;
mod outcomes;

pub(super) use calls::{Calling, Place, reuse_key};
pub(super) use outcomes::compose;

use std::collections::VecDeque;

use super::answer::{Answer, Candidates};
use super::event::{EventKind, PhaseName};
use super::options::{Mode, TurnOptions};
use super::phase::{CallSummary, Phase, Step, retract};
use super::policy::{Stagnation, ToolLimit};
use super::progress::Progress;
use super::prompt::Conversation;
use super::protocol::Effect;
use super::result::TurnStatus;
use crate::error::{Error, Failure};
use crate::guard::Guard;
use crate::history::Repair;
use crate::inference::{Inference, MarkupRules, Rules};
use crate::json::Json;
use crate::provider::Request;
use crate::reply::Dropped;
use crate::secret::Secret;
use crate::stream::{Delta, FinishReason, Reasoning, Response, TextToolCalls};
use crate::tool::Outcome;

/// Bytes of what is wrong with an answer that the model is told.
///
/// Limit | what is wrong with an answer, as the model is told | bytes | cut
const ANSWER_ERRORS: usize = 1_000;

/// What a turn knows and tells.
#[derive(Debug, Clone)]
pub(super) struct Record {
    options: TurnOptions,
    secret: Secret,
    /// Milliseconds on the host's clock; never decreases.
    now: u64,
    started: u64,
    progress: Progress,
    conversation: Conversation,
    guard: Guard<Outcome>,
    /// Signatures of all refused and replayed calls, each once.
    blocked: Vec<String>,
    /// How often a call came again that did not run again, by signature.
    repeats: Vec<(String, u32)>,
    /// The signatures of all calls, with the number of the first call.
    seen: Vec<(String, u32)>,
    /// The judged batches that have ended, in order.
    closed: Vec<Calling>,
    /// Text that a resume has made void, and the `seq` of the event that says so.
    void: (u64, String),
    /// A phase has begun and not ended.
    in_phase: bool,
    /// What ended the tools of the phase.
    ended: Option<ToolLimit>,
    /// The answer of a turn with a schema.
    object: Option<Json<'static>>,
    /// What was dropped around it.
    dropped: Vec<Dropped>,
    /// Changes that fitted arguments to the schemas of their tools.
    arguments: Vec<Repair>,
    /// The number of elements of the host's history.
    given: usize,
    /// Whether the answer was composed of results.
    composed: bool,
    /// The host wants a pause.
    pause: bool,
    /// What the provider said when it refused requests for their history, and what was repaired
    /// after that.
    refusals: String,
    refused: Vec<Repair>,
    /// The turn began with fallbacks, so it says which model answers.
    has_fallbacks: bool,
    /// The effects that the host has not polled yet.
    effects: VecDeque<Effect>,
}

impl Record {
    pub(super) fn new(mut options: TurnOptions) -> Result<Self, Error> {
        let given = options.messages.len();
        let conversation = Conversation::new(&mut options)?;
        Ok(Self::of(options, conversation, given))
    }

    /// As [`Record::new`], for a plain history; `None` if it is not one.
    pub(super) fn plain(mut options: TurnOptions) -> Option<Self> {
        let given = options.messages.len();
        let conversation = Conversation::plain(&mut options)?;
        Some(Self::of(options, conversation, given))
    }

    /// One of the same options and messages, of which nothing is told yet.
    pub(super) fn fresh(&self) -> Self {
        Self::of(self.options.clone(), self.conversation.clone(), self.given)
    }

    fn of(options: TurnOptions, conversation: Conversation, given: usize) -> Self {
        let phase = match options.mode {
            Mode::TwoStage => PhaseName::Tool,
            Mode::Unified => PhaseName::Unified,
        };
        Self {
            conversation,
            secret: options.secret.clone(),
            now: 0,
            started: 0,
            progress: Progress::new(phase),
            guard: Guard::default(),
            blocked: Vec::new(),
            repeats: Vec::new(),
            seen: Vec::new(),
            closed: Vec::new(),
            void: (0, String::new()),
            in_phase: false,
            ended: None,
            object: None,
            dropped: Vec::new(),
            arguments: Vec::new(),
            given,
            composed: false,
            pause: false,
            effects: VecDeque::new(),
            refusals: String::new(),
            refused: Vec::new(),
            has_fallbacks: !options.fallbacks.is_empty(),
            options,
        }
    }

    pub(super) fn options(&self) -> &TurnOptions {
        &self.options
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Sets the clock.
    pub(super) fn advance(&mut self, now_ms: u64) {
        self.now = self.now.max(now_ms);
    }

    /// When the time of the turn is over.
    pub(super) fn end_of_time(&self) -> u64 {
        self.started.saturating_add(self.options.policy.turn_ms)
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Restores the values that the batches do not contain.
    pub(super) fn restore(&mut self, progress: Progress) {
        self.progress = progress;
        if self.progress.heard > 0 {
            self.conversation.mark_sent(self.progress.heard);
        }
    }

    /// Makes the text void that was shown behind the first `settled` bytes: its inference is made
    /// again. The next event says so.
    pub(super) fn void(&mut self, settled: usize) {
        let text = &mut self.progress.shown;
        self.void = (self.progress.seq + 1, text.split_off(text.floor_char_boundary(settled)));
    }

    pub(super) fn closed(&self) -> &[Calling] {
        &self.closed
    }

    /// Takes a judged batch that has ended.
    pub(super) fn archive(&mut self, calling: Calling) {
        self.closed.push(calling);
    }

    pub(super) fn pause(&mut self) {
        self.pause = true;
    }

    /// Begins the turn.
    pub(super) fn start(&mut self) {
        self.started = self.now;
        self.trace_tools();
    }

    /// Begins a phase.
    pub(super) fn begin_phase(&mut self, name: PhaseName) {
        self.progress.phase = Phase::new(name);
        if self.progress.rejected.is_some() {
            self.progress.phase.close();
        }
        self.phase_started();
    }

    /// Begins the tool phase of the next cycle.
    pub(super) fn begin_cycle(&mut self) {
        self.progress.cycle += 1;
        self.begin_phase(PhaseName::Tool);
    }

    /// The inference that continues a response that the provider has paused; `None` if it is over.
    pub(super) fn go_on_after(
        &mut self,
        paused: &Inference,
        response: &Response,
    ) -> Option<Inference> {
        let is_paused = matches!(response.finish, Some((FinishReason::Paused, _)));
        let goes_on = is_paused && response.calls.is_empty();
        (goes_on && self.conversation.pause(response.clone()))
            .then(|| self.inference().after(paused))
    }

    /// Begins the next inference of the phase.
    pub(super) fn count_inference(&mut self) {
        self.conversation.end_pause();
        self.progress.inferences += 1;
        self.progress.asked_seq = self.progress.seq + 1;
        self.progress.phase.ask();
    }

    /// Makes the current inference.
    pub(super) fn inference(&self) -> Inference {
        let policy = &self.options.policy;
        let rules = Rules {
            first_byte_ms: policy.model_first_byte_ms,
            idle_ms: policy.model_idle_ms,
            max_retries: self.options.max_retries,
            secret: self.secret.clone(),
            end: self.end_of_time(),
            discards_output: false,
            stops_at_call: self.progress.phase.stops_at_call(policy),
            starts_calls: self.reads_on(),
            early: self.early_tools(),
            // Later, an answer can be composed of the results.
            needs_output: self.progress.inferences == 1,
            markup: Some(self.markup()),
        };
        let wire = self.conversation.wire();
        Inference::new(self.progress.inferences, wire, rules, self.now)
    }

    /// Sends the request of an inference; after a refusal, the host first repairs its history.
    pub(super) fn send(&mut self, inference: &mut Inference) {
        let request = self.request();
        let refusal = self.refusals.clone();
        if refusal.is_empty() {
            return self.fetch(inference, request);
        }
        inference.awaits_repair();
        let (inference, attempt) = (inference.number(), inference.attempt());
        let (model, body) = (self.progress.model, request.body);
        self.push(Effect::Repair { inference, attempt, model, body, refusal });
    }

    /// Sends the request of an inference with the body that the host has repaired, if it has.
    pub(super) fn send_repaired(
        &mut self,
        inference: &Inference,
        body: Json<'static>,
        repairs: Vec<Repair>,
    ) {
        let mut request = self.request();
        if !repairs.is_empty() {
            request.body = body;
        }
        if inference.is_repair() {
            self.repaired(repairs);
        }
        self.fetch(inference, request);
    }

    fn request(&mut self) -> Request<'static> {
        let (phase, rejected) = (&self.progress.phase, self.progress.rejected.as_deref());
        self.conversation.request(&self.options, phase, rejected)
    }

    fn fetch(&mut self, inference: &Inference, request: Request<'static>) {
        let (inference, attempt) = (inference.number(), inference.attempt());
        let model = self.progress.model;
        self.push(Effect::Fetch { inference, attempt, model, request });
    }

    /// How the model's text is read. No call runs from the text of a phase without tools.
    fn markup(&self) -> MarkupRules {
        let runs = self.progress.phase.offers_tools(&self.options.policy);
        let all = self.options.tools.all().iter();
        MarkupRules {
            think_tags: self.options.think_tags,
            text_tool_calls: if runs {
                self.options.text_tool_calls
            } else {
                TextToolCalls::Report
            },
            tools: all.map(|tool| tool.name.clone()).collect(),
        }
    }

    /// The tools whose calls may start before their end is received, because they may run again.
    fn early_tools(&self) -> Vec<String> {
        let tools = self.options.tools.all().iter();
        tools.filter(|tool| tool.may_run_again()).map(|tool| tool.name.clone()).collect()
    }

    /// Counts the tokens of an attempt that failed, of which nothing was shown.
    pub(super) fn attempt_failed(&mut self, failed: &Inference) {
        self.count_usage(failed.response(), false);
        self.progress.phase.restart();
    }

    /// The same inference with a repaired history, in the place of one that the provider refused as
    /// invalid; `None` if it is not repaired. Each inference is repaired once, and its attempts count
    /// anew. A provider that keeps the conversation is first sent the whole history.
    pub(super) fn repair(&mut self, failed: &Inference, failure: &Failure) -> Option<Inference> {
        let refusal = failed.refusal().filter(|_| self.options.repair_on_error)?;
        let goes_on = self.conversation.is_continued();
        if failed.is_repair() || goes_on || !failed.is_repeatable() {
            return None;
        }
        self.refusals.push_str(refusal);
        self.refusals.push('\n');
        Some(self.inference().repairing(failed, failure.clone()))
    }

    /// Reports what the host has repaired in a request that the provider had refused.
    fn repaired(&mut self, mut repairs: Vec<Repair>) {
        repairs.retain(|repair| !self.refused.contains(repair));
        if !repairs.is_empty() {
            self.trace_repair(&repairs);
            self.refused.extend(repairs);
        }
    }

    /// The inference of the next model, in the place of one that failed before anything of its
    /// response arrived; `None` if there is no other model.
    pub(super) fn fall_back(&mut self, failed: &Inference, failure: &Failure) -> Option<Inference> {
        let status = failure.details.as_ref().and_then(|details| details.status);
        // What the provider says of a response that it no longer has differs from gateway to gateway.
        let lost = matches!(status, Some(400 | 404)) && self.conversation.forget();
        if !failed.is_repeatable() || !lost && self.options.fallbacks.is_empty() {
            return None;
        }
        if failed.is_heard() {
            self.count_usage(failed.response(), true);
        }
        self.trace_llm_call(failed.response(), TurnStatus::Failed);
        self.progress.phase.restart();
        (lost || self.next_model()).then(|| self.inference().after(failed))
    }

    /// Turns to the next model; `false` if there is none.
    pub(super) fn next_model(&mut self) -> bool {
        if self.options.fallbacks.is_empty() {
            return false;
        }
        let next = self.options.fallbacks.remove(0);
        let same = next.dialect == self.options.dialect;
        let options = &mut self.options;
        (options.dialect, options.model, options.body) = (next.dialect, next.model, next.body);
        (options.max_retries, options.history) = (next.max_retries, next.history);
        (options.think_tags, options.text_tool_calls) = (next.think_tags, next.text_tool_calls);
        self.progress.model += 1;
        // Another provider has other rules.
        self.refusals.clear();
        // What the model before has recorded is of no use to this one.
        self.closed.iter_mut().for_each(Calling::forget_reasoning);
        same || self.conversation.translate(options)
    }

    /// Shows a part of a response, if the phase allows it.
    pub(super) fn show(&mut self, delta: Delta) {
        let drafts = self.options.has_schema();
        let Some(kind) = self.progress.phase.show(delta, drafts) else { return };
        if let EventKind::Text { chunk } = &kind {
            self.progress.shown.push_str(chunk);
        }
        self.emit(kind);
    }

    /// Shows the text before the calls of the tool phase, which is no answer.
    pub(super) fn show_draft(&mut self) {
        if self.progress.phase.name() == PhaseName::Tool {
            let text = self.progress.phase.take_draft();
            if !text.is_empty() {
                self.answer(text);
            }
        }
    }

    /// Reads the answer of a turn with a schema, which is not shown yet.
    pub(super) fn drafted(&self) -> Result<Candidates, String> {
        Candidates::read(self.progress.phase.draft())
    }

    /// Shows the answer, which is valid, without what stood around it.
    pub(super) fn accept(&mut self, answer: Answer) {
        drop(self.progress.phase.take_draft());
        self.object = Some(answer.json);
        self.dropped = answer.dropped;
        self.answer(answer.text);
    }

    /// Drops the answer, which is not valid. Returns how the model answers once more; `None` if it
    /// has done so.
    pub(super) fn reject(&mut self, mut errors: String) -> Option<Step> {
        drop(self.progress.phase.take_draft());
        if self.progress.rejected.is_some() {
            return None;
        }
        errors.truncate(errors.floor_char_boundary(ANSWER_ERRORS));
        self.progress.rejected = Some(errors);
        if self.progress.phase.name() == PhaseName::Tool {
            return Some(Step::Act);
        }
        self.progress.phase.close();
        Some(Step::Ask)
    }

    /// Shows an answer, or another text, as a whole.
    pub(super) fn answer(&mut self, text: String) {
        self.progress.phase.answer(&text);
        self.progress.shown.push_str(&text);
        self.emit(EventKind::Text { chunk: text });
    }

    /// Returns to the last event that was shown, without the last bytes of text.
    pub(super) fn retract(&mut self, seq: u64, bytes: usize) {
        self.progress.phase.retract(bytes);
        retract(&mut self.progress.shown, bytes);
        if seq < self.void.0 {
            // Nobody was told that it is void.
            self.progress.shown.push_str(&self.void.1);
        }
        self.progress.seq = seq;
    }

    /// Counts the tokens of a response. `cut`: it was not read to its end.
    pub(super) fn count_usage(&mut self, response: &Response, cut: bool) {
        if let Some(usage) = response.usage {
            self.progress.usage.add(usage);
        }
        self.progress.is_cut |= cut && (response.finish.is_none() || response.usage.is_none());
    }

    /// Counts and traces a response that is complete, or that is not read further (`cut`).
    pub(super) fn response_done(&mut self, response: &Response, cut: bool, status: TurnStatus) {
        self.count_usage(response, cut);
        let (blocks, before) = (response.reasoning.iter(), self.closed.len());
        self.progress.hosted.extend(blocks.filter_map(Reasoning::block).map(|one| (before, one)));
        self.progress.finish.clone_from(&response.finish);
        if self.conversation.is_kept() {
            let answer = response.id.as_ref().filter(|_| response.calls.is_empty());
            self.progress.response = answer.cloned();
        }
        self.trace_llm_call(response, status);
        if self.conversation.is_thread() {
            self.progress.heard = self.conversation.elements();
            self.conversation.mark_sent(self.progress.heard);
        }
    }

    /// The answer is not a response's.
    pub(super) fn forget_answer(&mut self) {
        self.progress.response = None;
    }

    /// What follows a response without calls.
    pub(super) fn after_text(&mut self) -> Step {
        let Progress { phase, cycle, .. } = &mut self.progress;
        phase.after_text(&self.options.policy, *cycle, self.pause)
    }

    /// All calls of the response of a batch: those that were settled while others waited for an
    /// approval are in batches of their own.
    fn response_of<'a>(&'a self, calling: &'a Calling) -> Vec<&'a Calling> {
        let mut all = vec![calling];
        for before in self.closed.iter().rev() {
            if !all.last().is_some_and(|one| one.place().is_approved) {
                break;
            }
            all.push(before);
        }
        all
    }

    /// Whether a call of the response of these batches was refused in an earlier response, too.
    fn is_refused_again(&self, response: &[&Calling]) -> bool {
        let earlier = self.closed.len().saturating_sub(response.len().saturating_sub(1));
        let earlier = self.closed.iter().take(earlier).flat_map(Calling::lasting_refusals);
        let now = || response.iter().flat_map(|one| one.lasting_refusals());
        earlier.into_iter().any(|before| now().any(|call| call.is_same_refusal(before)))
    }

    /// What follows a batch of calls.
    pub(super) fn after_calls(&mut self, calling: &Calling) -> Step {
        let all = self.response_of(calling);
        let executed = all.iter().map(|one| one.batch().executed()).sum();
        let elsewhere = all.iter().any(|one| one.place().elsewhere);
        let is_hopeless = all.iter().all(|one| one.is_hopeless());
        let is_refused_again = self.is_refused_again(&all);
        let policy = &self.options.policy;
        let stagnates = policy.stagnation == Stagnation::Stop && calling.is_stagnant(&all, self);
        let spent = policy.spent(self.progress.usage);
        let spent = spent.or_else(|| stagnates.then_some(ToolLimit::Stagnation));
        let is_spent = spent.is_some();
        let calls = CallSummary { executed, elsewhere, is_hopeless, is_refused_again, is_spent };
        let phase = &mut self.progress.phase;
        let ended = spent.filter(|_| phase.name() != PhaseName::Action);
        self.ended = ended.or_else(|| phase.used_up(policy));
        phase.after_calls(calls, &self.options.policy, self.pause)
    }

    /// Whether calls are taken from a response while it is read.
    pub(super) fn reads_on(&self) -> bool {
        self.progress.phase.reads_on(&self.options.policy)
    }

    /// Counts a record of a batch, and returns its number.
    pub(super) fn count_batch(&mut self) -> u32 {
        self.progress.judged += 1;
        self.progress.judged
    }

    /// What follows the tool phase.
    pub(super) fn after_tools(&self) -> Step {
        Phase::after_tools(&self.options.policy, self.pause)
    }
}
