//! One phase of a turn: what it allows, what it has shown, and what follows it.

use super::action_tools::ActionTools;
use super::event::{EventKind, PhaseName};
use super::policy::{Policy, ReadMode, ResultsAs, ToolLimit};
use super::progress::Point;
use crate::guard::Rules;
use crate::inference::ARGUMENTS_STEP;
use crate::stream::Delta;

/// The counters and text of one phase of one cycle.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    name: PhaseName,
    /// Inferences made.
    inferences: u32,
    /// Tool calls executed.
    executed: u32,
    /// Tool phase: a call was received, so no more text is shown.
    frozen: bool,
    /// Action phase: the one extra inference after a refusal was used. It offers no tools.
    last_chance: bool,
    /// Text shown in this phase.
    text: String,
    /// An answer that must be valid before it is shown.
    draft: String,
    /// Where in `text` the answer begins, now and when the current inference began.
    answer_at: (usize, usize),
    /// Length of `text` in bytes when the current inference began.
    asked_at: usize,
    /// Text of the current inference was shown.
    spoke: bool,
    /// The calls of the current inference whose arguments arrive: their places, tools and bytes.
    writing: Vec<(u32, String, u64)>,
}

/// What a turn does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Makes the next inference of the phase.
    Ask,
    /// Begins the action phase.
    Act,
    /// Begins the tool phase of the next cycle.
    Cycle,
    /// Ends: the text of the phase is the answer.
    Complete,
    /// Ends with an answer that is composed from the results.
    Compose,
    /// Ends as paused. A resumed turn continues at this point.
    Pause(Point),
}

/// The calls of a response that are over, as far as they decide what follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSummary {
    /// Calls that were executed.
    pub(super) executed: u32,
    /// A refused call may run in a further tool phase ([`Phase::may_cycle`]).
    pub(super) elsewhere: bool,
    /// No call can succeed in this phase.
    pub(super) is_hopeless: bool,
    /// A call was refused for good in an earlier response, too.
    pub(super) is_refused_again: bool,
    /// A limit of the tool phase is used up, whatever is left of the others.
    pub(super) is_spent: bool,
}

impl Phase {
    pub(super) fn new(name: PhaseName) -> Self {
        Self {
            name,
            inferences: 0,
            executed: 0,
            frozen: false,
            last_chance: false,
            text: String::new(),
            draft: String::new(),
            answer_at: (0, 0),
            asked_at: 0,
            spoke: false,
            writing: Vec::new(),
        }
    }

    /// Restores a phase. `again`: its last inference is made again; else its calls are there.
    pub(super) fn restored(
        name: PhaseName,
        (inferences, executed): (u32, u32),
        (last_chance, again): (bool, bool),
        (text, draft): (String, String),
    ) -> Self {
        Self {
            inferences,
            executed,
            frozen: name == PhaseName::Tool && (inferences > 1 || !again),
            last_chance,
            asked_at: text.len(),
            text,
            draft,
            ..Self::new(name)
        }
    }

    pub(super) fn name(&self) -> PhaseName {
        self.name
    }

    pub(super) fn inferences(&self) -> u32 {
        self.inferences
    }

    pub(super) fn executed(&self) -> u32 {
        self.executed
    }

    pub(super) fn is_last_chance(&self) -> bool {
        self.last_chance
    }

    /// The answer: the text of the tool phase, or of the last inference that had any.
    pub(super) fn text(&self) -> &str {
        self.text.get(self.answer_at.0..).unwrap_or_default()
    }

    /// The answer without the current inference: a repeated inference starts anew.
    pub(super) fn settled_text(&self) -> &str {
        self.text.get(self.answer_at.1..self.asked_at).unwrap_or_default()
    }

    /// The draft without the current inference.
    pub(super) fn settled_draft(&self) -> &str {
        if self.spoke { "" } else { &self.draft }
    }

    /// Bytes of text that the current inference has shown.
    pub(super) fn unsettled(&self) -> usize {
        self.text.len().saturating_sub(self.asked_at)
    }

    /// The number of executions left.
    pub(super) fn budget(&self, policy: &Policy) -> u32 {
        match self.name {
            PhaseName::Tool => policy.max_tools.saturating_sub(self.executed),
            PhaseName::Action => policy.action_max_tools.saturating_sub(self.executed),
            PhaseName::Unified | PhaseName::Complete if self.is_last_step(policy) => 0,
            PhaseName::Unified | PhaseName::Complete => u32::MAX,
        }
    }

    /// How many calls are left in the tool phase, if the model is to be told.
    pub(super) fn warning(&self, policy: &Policy) -> Option<u32> {
        let remaining = self.budget(policy);
        let warns = policy.warn_at.is_some_and(|at| remaining <= at) && remaining > 0;
        (warns && self.name == PhaseName::Tool).then_some(remaining)
    }

    /// How many calls may still run. The unified loop has no such number.
    pub(super) fn granted(&self, policy: &Policy) -> Option<u32> {
        let granted = if self.has_tools(policy) { self.budget(policy) } else { 0 };
        (self.name != PhaseName::Unified).then_some(granted)
    }

    /// Whether the phase has tools at all.
    pub(super) fn has_tools(&self, policy: &Policy) -> bool {
        match self.name {
            PhaseName::Tool => policy.max_tools > 0,
            PhaseName::Action => {
                !policy.action_tools.is_none() && policy.action_max_tools > 0 && !self.last_chance
            }
            PhaseName::Unified | PhaseName::Complete => !self.last_chance,
        }
    }

    /// Whether the next request offers tools. The last step does not, unless it is the only one.
    pub(super) fn offers_tools(&self, policy: &Policy) -> bool {
        let is_only_step = self.name == PhaseName::Unified && policy.max_steps == 1;
        (is_only_step || self.budget(policy) > 0) && self.has_tools(policy)
    }

    pub(super) fn rules<'a>(&self, policy: &'a Policy) -> Rules<'a> {
        let action = (self.name == PhaseName::Action).then_some(&policy.action_tools);
        Rules {
            tools_on: self.has_tools(policy),
            allow: match action {
                Some(ActionTools::Named(names)) => Some(names),
                Some(ActionTools::ReadOnly | ActionTools::All) | None => None,
            },
            reads_only: action == Some(&ActionTools::ReadOnly),
            budget: self.budget(policy),
            asks_user: true,
        }
    }

    /// Whether a call that is refused here may run in a tool phase after this phase.
    pub(super) fn may_cycle(&self, policy: &Policy, cycle: u32) -> bool {
        self.name == PhaseName::Action && cycle < policy.max_cycles && policy.max_tools > 0
    }

    /// Whether the model receives results as boxes. Otherwise it receives the provider's messages.
    pub(super) fn is_boxed(&self, policy: &Policy) -> bool {
        self.name != PhaseName::Unified && policy.results_as == ResultsAs::Box
    }

    /// Whether a response is not read beyond its first complete call.
    pub(super) fn stops_at_call(&self, policy: &Policy) -> bool {
        policy.read_mode == ReadMode::FirstCall && self.name == PhaseName::Tool
    }

    /// Whether a call starts as soon as it is complete, while the rest of its response is read.
    pub(super) fn reads_on(&self, policy: &Policy) -> bool {
        policy.read_mode == ReadMode::Auto && self.name == PhaseName::Tool && policy.max_tools > 0
    }

    /// Whether the current inference is the last one of the unified loop that the policy allows.
    fn is_last_step(&self, policy: &Policy) -> bool {
        self.inferences >= policy.max_steps
    }

    /// Counts a new inference.
    pub(super) fn ask(&mut self) {
        self.inferences += 1;
        self.asked_at = self.text.len();
        self.answer_at.1 = self.answer_at.0;
        self.spoke = false;
        self.writing.clear();
    }

    /// The current inference is made again, of which nothing was shown.
    pub(super) fn restart(&mut self) {
        self.frozen = self.name == PhaseName::Tool && self.inferences > 1;
        self.writing.clear();
    }

    pub(super) fn execute(&mut self, calls: u32) {
        self.executed += calls;
    }

    /// Takes a delta of the current inference. Returns the event that shows it, if it is shown.
    /// `drafts`: text is not shown before it is valid.
    pub(super) fn show(&mut self, delta: Delta, drafts: bool) -> Option<EventKind> {
        match delta {
            Delta::Text(chunk) if drafts && !self.frozen && !chunk.is_empty() => {
                if !std::mem::replace(&mut self.spoke, true) {
                    self.draft.clear();
                }
                self.draft.push_str(&chunk);
                None
            }
            Delta::Text(chunk) if !self.frozen && !chunk.is_empty() => {
                if self.name != PhaseName::Tool && !self.spoke {
                    self.answer_at.0 = self.text.len();
                }
                self.spoke = true;
                self.text.push_str(&chunk);
                Some(EventKind::Text { chunk })
            }
            Delta::Reasoning { text, .. } if !self.frozen && !text.is_empty() => {
                Some(EventKind::Reasoning { chunk: text })
            }
            Delta::ProviderTool(tool) => Some(tool.into()),
            Delta::ToolCallStart { index, name, .. } => {
                self.frozen |= self.name == PhaseName::Tool;
                self.writing.push((index, name, 0));
                None
            }
            Delta::ToolCallArguments { index, text } => self.write(index, &text),
            _ => None,
        }
    }

    /// Counts a part of a call's arguments. Returns the event that shows it, if it is shown.
    fn write(&mut self, index: u32, text: &str) -> Option<EventKind> {
        let call = self.writing.iter_mut().rev().find(|call| call.0 == index)?;
        let before = call.2;
        call.2 = before.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        let name = call.1.clone();
        let step = u64::try_from(ARGUMENTS_STEP).unwrap_or(u64::MAX);
        (before / step < call.2 / step).then_some(EventKind::ToolArguments {
            index,
            name,
            bytes: call.2,
        })
    }

    /// Takes the text that waits to be shown.
    pub(super) fn take_draft(&mut self) -> String {
        std::mem::take(&mut self.draft)
    }

    /// The text that waits to be shown.
    pub(super) fn draft(&self) -> &str {
        &self.draft
    }

    /// The next inference is the last one of the phase, and has no tools.
    pub(super) fn close(&mut self) {
        self.last_chance = true;
    }

    /// Adds a text that the turn shows as a whole.
    pub(super) fn answer(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Removes the last bytes of the text, which were not shown after all.
    pub(super) fn retract(&mut self, bytes: usize) {
        retract(&mut self.text, bytes);
    }

    /// What follows a response without calls.
    pub(super) fn after_text(&mut self, policy: &Policy, cycle: u32, pause: bool) -> Step {
        match self.name {
            // The model requested no tool, so its text is the answer. In a second cycle this holds
            // only if there is text, because the results of the first cycle need an answer.
            PhaseName::Tool if self.inferences == 1 && (cycle == 1 || self.has_text()) => {
                Step::Complete
            }
            PhaseName::Tool => Self::after_tools(policy, pause),
            PhaseName::Action => self.after_action(false),
            PhaseName::Unified | PhaseName::Complete => self.answered(),
        }
    }

    /// Ends the unified loop, with an answer in any case.
    fn answered(&self) -> Step {
        if self.has_text() { Step::Complete } else { Step::Compose }
    }

    /// What follows a batch of calls.
    pub(super) fn after_calls(&mut self, calls: CallSummary, policy: &Policy, pause: bool) -> Step {
        // A model that repeats a call which cannot succeed would do so until the budget is spent.
        let is_over = calls.is_spent || calls.is_refused_again;
        match self.name {
            PhaseName::Tool
                if self.asks_again(policy) && !calls.is_hopeless && !is_over && !pause =>
            {
                Step::Ask
            }
            PhaseName::Tool => Self::after_tools(policy, pause),
            PhaseName::Action if calls.executed > 0 => {
                self.last_chance |= calls.is_refused_again;
                Step::Ask
            }
            PhaseName::Action if calls.elsewhere => Step::Cycle,
            PhaseName::Action => self.after_action(true),
            PhaseName::Unified | PhaseName::Complete
                if self.last_chance || self.is_last_step(policy) =>
            {
                self.answered()
            }
            PhaseName::Unified | PhaseName::Complete => {
                if is_over {
                    // The next inference is the last one.
                    self.inferences = self.inferences.max(policy.max_steps.saturating_sub(1));
                }
                if pause { Step::Pause(Point::Step) } else { Step::Ask }
            }
        }
    }

    /// The limit of calls or inferences that is used up.
    pub(super) fn used_up(&self, policy: &Policy) -> Option<ToolLimit> {
        match self.name {
            PhaseName::Tool => (!self.asks_again(policy)).then_some(ToolLimit::MaxTools),
            PhaseName::Unified => self.is_last_step(policy).then_some(ToolLimit::MaxSteps),
            PhaseName::Action | PhaseName::Complete => None,
        }
    }

    /// Whether the tool phase has budget and inferences left.
    fn asks_again(&self, policy: &Policy) -> bool {
        self.budget(policy) > 0 && self.inferences <= policy.max_tools
    }

    /// What follows the tool phase.
    pub(super) fn after_tools(policy: &Policy, pause: bool) -> Step {
        if policy.pause_after_tools || pause { Step::Pause(Point::Action) } else { Step::Act }
    }

    fn after_action(&mut self, refused: bool) -> Step {
        if self.has_text() {
            return Step::Complete;
        }
        if refused && !self.last_chance {
            self.last_chance = true;
            return Step::Ask;
        }
        Step::Compose
    }

    fn has_text(&self) -> bool {
        [self.text(), &self.draft].iter().any(|text| !crate::text::is_blank(text))
    }
}

/// Removes the last bytes of a text, down to a boundary of a character.
pub(super) fn retract(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(text.len().saturating_sub(bytes)));
}
