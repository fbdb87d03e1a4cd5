//! The calls of a chain to its host: what each callback is told.

use super::classify::Classification;
use super::outcome::{Failure, StepStatus};
use super::plan::{Pattern, Plan, PlanStep, StepId, StepKind};
use super::stop::Stop;
use crate::json::Json;
use crate::json::table::{Append, Write, names, protocol, record};

names! {
    /// The kind of a call to the host, named as the host's callback.
    pub enum CallKind as "ChainCall", "a call of a chain" {
        /// Answer with one model call: the simple path. Streams.
        Answer "answer",
        /// Rate how complete the results are: a number from 0 to 1.
        Assess "assess",
        /// Classify the query: `simple` or `complex`.
        Classify "classify",
        /// Decide whether a conditional step runs: true or false.
        Condition "condition",
        /// Write the query of a search.
        Enhance "enhance",
        /// Make a plan.
        Plan "plan",
        /// Rate the result of a search: a number.
        Quality "quality",
        /// Look up a key in the cache: `{ value, ageMs }` or null.
        Recall "recall",
        /// Condense results.
        Refine "refine",
        /// Return new steps that replace the remaining ones, or null.
        Replan "replan",
        /// Search for information.
        Search "search",
        /// Make a short text of a result, for the queries of later steps.
        SummarizeResult "summarizeResult",
        /// Write a text from results. Streams.
        Synthesize "synthesize",
    }
}

protocol! {
    /// A call: its kind, and what the callback is told.
    pub enum CallBody as "ChainCallBody", write {
        /// Answer with one model call: the simple path. Streams; the value is its text, or null
        /// behind streamed text.
        Answer "answer" (context "context": AnswerCall)
        /// Rate how complete the results are. The value is a number from 0 to 1.
        Assess "assess" (context "context": AssessCall)
        /// Classify the query. The value is `simple` or `complex`.
        Classify "classify" (context "context": ClassifyCall)
        /// Decide whether a conditional step runs. The value is true or false.
        Condition "condition" (context "context": ConditionCall)
        /// Write the query of a search. The value is a text; anything else keeps the query.
        Enhance "enhance" (context "context": EnhanceCall)
        /// Make a plan. The value is the planner's text, or the plan as JSON.
        Plan "plan" (context "context": PlanCall)
        /// Rate the result of a search. The value is a number; more is better.
        Quality "quality" (context "context": StepResult)
        /// Look up a key in the cache. The value is `{ value, ageMs }` or null.
        Recall "recall" (context "context": RecallCall)
        /// Condense results. The value is any JSON.
        Refine "refine" (context "context": StepCall)
        /// Return steps that replace the remaining ones. The value has the form of a planner's
        /// answer; null keeps the plan.
        Replan "replan" (context "context": ReplanCall)
        /// Search for information. The value is any JSON.
        Search "search" (context "context": StepCall)
        /// Make a short text of a result. The value is the text.
        SummarizeResult "summarizeResult" (context "context": StepResult)
        /// Write a text from results. As `answer`.
        Synthesize "synthesize" (context "context": SynthesisCall)
    }
}

impl Append for CallBody {
    fn append(&self, out: &mut String) {
        self.write_json(out);
    }
}

impl CallBody {
    /// Returns the kind of the call.
    #[must_use]
    pub fn kind(&self) -> CallKind {
        match self {
            Self::Answer(_) => CallKind::Answer,
            Self::Assess(_) => CallKind::Assess,
            Self::Classify(_) => CallKind::Classify,
            Self::Condition(_) => CallKind::Condition,
            Self::Enhance(_) => CallKind::Enhance,
            Self::Plan(_) => CallKind::Plan,
            Self::Quality(_) => CallKind::Quality,
            Self::Recall(_) => CallKind::Recall,
            Self::Refine(_) => CallKind::Refine,
            Self::Replan(_) => CallKind::Replan,
            Self::Search(_) => CallKind::Search,
            Self::SummarizeResult(_) => CallKind::SummarizeResult,
            Self::Synthesize(_) => CallKind::Synthesize,
        }
    }

    /// Returns the JSON form of what the callback is told.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let told: &dyn Write = match self {
            Self::Answer(told) => told,
            Self::Assess(told) => told,
            Self::Classify(told) => told,
            Self::Condition(told) => told,
            Self::Enhance(told) => told,
            Self::Plan(told) => told,
            Self::Quality(told) | Self::SummarizeResult(told) => told,
            Self::Recall(told) => told,
            Self::Refine(told) | Self::Search(told) => told,
            Self::Replan(told) => told,
            Self::Synthesize(told) => told,
        };
        told.write()
    }
}

record! {
    /// What `answer` is told.
    pub struct AnswerCall as "AnswerCall" {
        /// The user's query.
        query "query": String;
        /// Why a complex query takes the simple path.
        fell_back "fellBack": Option<Failure>;
    }
}

record! {
    /// What `assess` is told.
    pub struct AssessCall as "AssessCall" {
        /// The user's query.
        query "query": String;
        /// The planner's words about when to stop.
        stopping_criteria "stopping_criteria": String;
        /// Results of the finished steps.
        results "results": Vec<StepResult>;
    }
}

record! {
    /// What `classify` is told.
    pub struct ClassifyCall as "ClassifyCall" {
        /// The user's query.
        query "query": String;
        /// The classification of the core.
        classification "classification": Classification;
    }
}

record! {
    /// What `condition` is told.
    pub struct ConditionCall as "ConditionCall" {
        /// The step.
        step "": StepCall;
        /// The condition, as the planner wrote it.
        when "when": String;
    }
}

record! {
    /// What `enhance` is told.
    pub struct EnhanceCall as "EnhanceCall" {
        /// The query with its placeholders filled in.
        query "query": String;
        /// The step.
        step "step": PlanStep;
        /// Results of the steps that it depends on.
        inputs "inputs": Vec<StepResult>;
    }
}

record! {
    /// What `plan` is told.
    pub struct PlanCall as "PlanCall" {
        /// The user's query.
        query "query": String;
        /// A prompt for the planner; a host may use its own.
        prompt "prompt": String;
        /// Patterns that the plan may have, or the most effective one.
        patterns "patterns": Vec<Pattern>;
        /// Maximum number of steps that run, not counting the last synthesis.
        max_steps "maxSteps": usize;
        /// The number of this call, from 1.
        attempt "attempt": u32;
        /// Why the planner is asked again.
        error "error": Option<Failure>;
    }
}

record! {
    /// A key to look up in the cache.
    pub struct RecallCall as "RecallCall" {
        /// The cache key. The host normalizes it to Unicode NFC.
        key "key": String;
    }
}

record! {
    /// What `replan` is told.
    pub struct ReplanCall as "ReplanCall" {
        /// The user's query.
        query "query": String;
        /// The present plan.
        plan "plan": Plan;
        /// Results of the finished steps.
        results "results": Vec<StepResult>;
        /// Steps that have not started.
        remaining "remaining": Vec<StepId>;
    }
}

record! {
    /// What `search` and `refine` are told.
    pub struct StepCall as "StepCall" {
        /// The step.
        id "id": StepId;
        /// What it does.
        kind "type": StepKind;
        /// The query with its placeholders filled in.
        query "query": String;
        /// The query as the planner wrote it.
        template "template": String;
        /// What to look at in the results.
        focus "focus": String;
        /// How many results the planner wants.
        num_results "num_results": Option<u64>;
        /// The user's query.
        user_query "userQuery": String;
        /// Results of the steps that this one depends on.
        inputs "inputs": Vec<StepResult>;
        /// The number of this call for the step, from 1.
        attempt "attempt": u32;
    }
}

record! {
    /// What `synthesize` is told.
    pub struct SynthesisCall as "SynthesisCall" {
        /// The step.
        id "id": StepId;
        /// The user's query.
        query "query": String;
        /// The query of the step itself, often empty.
        task "task": String;
        /// What to look at in the results.
        focus "focus": String;
        /// What to write from: all results, or those that the step depends on.
        results "results": Vec<StepResult>;
        /// Steps without a result.
        missing "missing": Vec<MissingStep>;
        /// Whether this text is the final answer.
        is_final "final": bool;
        /// Why the steps ended; `null` while they run.
        stopped "stopped": Option<Stop>;
    }
}

record! {
    /// A finished step, as passed to later steps and to the synthesis.
    pub struct StepResult as "StepResult" {
        /// The step.
        id "id": StepId;
        /// What it does.
        kind "type": StepKind;
        /// Its query with its placeholders filled in.
        query "query": String;
        /// What to look at in the results.
        focus "focus": String;
        /// What it found.
        result "result": Json<'static>;
    }
}

record! {
    /// A step without a result.
    pub struct MissingStep as "MissingStep" {
        /// The step.
        id "id": StepId;
        /// Its query, as the planner wrote it.
        query "query": String;
        /// Its status.
        status "status": StepStatus;
    }
}
