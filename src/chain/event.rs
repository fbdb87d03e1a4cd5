//! The events of a chain.

use super::calls::CallKind;
use super::classify::{Classification, Language};
use super::outcome::{ChainOutcome, Failure, StepOutcome};
use super::plan::{Plan, StepId, StepKind};
use super::stop::Stop;
use crate::json::table::{cases, envelope, names, record};

envelope! {
    /// An event of a chain. The last one is always `complete`.
    pub struct ChainEvent as "ChainEvent" of ChainEventKind {
        /// The number of the event within the chain, from 1.
        seq "seq": u64;
    }
}

impl ChainEvent {
    /// Returns the piece of the answer that it brings.
    #[must_use]
    pub fn chunk(&self) -> Option<&str> {
        match &self.kind {
            ChainEventKind::Text { chunk } => Some(chunk),
            _ => None,
        }
    }
}

cases! {
    /// What happened.
    pub enum ChainEventKind as "ChainEventKind" {
        /// The query was classified.
        Classified "classified" {
            /// The classification.
            classification "": Classification,
            /// Who decided.
            by "by": Classifier,
        }
        /// The planner's answer is a plan.
        PlanReady "plan_ready" {
            /// The plan.
            plan "plan": Plan,
        }
        /// A step starts.
        StepStarted "step_started" {
            /// The step.
            id "id": StepId,
            /// What it does.
            step_type "stepType": StepKind,
            /// The query with its placeholders filled in.
            query "query": String,
            /// What to look at in the results.
            focus "focus": String,
            /// The progress of the plan.
            progress "": Progress,
        }
        /// A step has settled.
        StepDone "step_done" {
            /// Its outcome.
            outcome "": StepOutcome,
            /// The progress of the plan.
            progress "": Progress,
        }
        /// The remaining steps were replaced.
        PlanRefined "plan_refined" {
            /// The plan from here on.
            plan "plan": Plan,
            /// Steps that are new.
            added "added": Vec<StepId>,
            /// Steps that are gone.
            removed "removed": Vec<StepId>,
        }
        /// The chain goes on without something: a rating of a result is missing and does not count
        /// (the code of its failure), the language of the query has no lexicon
        /// (`chain.language_uncovered`), a step is skipped because its query refers to an empty
        /// result (`chain.empty_reference`), or the steps that `replan` returned are no plan and the
        /// old ones go on (the `plan.*` code).
        Warning "warning" {
            /// The callback.
            call "call": CallKind,
            /// What went wrong: a code, and a message.
            failure "": Failure,
            /// The language, if the warning is about it.
            language "language?": Option<Language>,
        }
        /// No further step starts; the answer follows.
        ChainStopped "chain_stopped" {
            /// Why.
            reason "reason": Stop,
            /// Steps with a result.
            finished "finished": Vec<StepId>,
            /// Steps with an error.
            failed "failed": Vec<StepId>,
            /// Steps that were not run.
            skipped "skipped": Vec<StepId>,
            /// Cost so far.
            spent "spent": f64,
            /// The last rating of `assess`.
            completeness "completeness?": Option<f64>,
        }
        /// A piece of the answer.
        Text "text" {
            /// The piece.
            chunk "chunk": String,
        }
        /// The chain has ended.
        Complete "complete" {
            /// How.
            outcome "": ChainOutcome,
        }
    }
}

names! {
    /// Who classified a query.
    pub enum Classifier as "Classifier", "core or host" {
        /// The core, by the wording.
        Core "core",
        /// The host's callback `classify`.
        Host "host",
    }
}

record! {
    /// The progress of a plan.
    pub struct Progress as "ChainProgress" {
        /// Steps that have settled, of `total`.
        settled "settled": usize;
        /// Steps of the plan.
        total "total": usize;
        /// Cost so far.
        spent "spent": f64;
    }
}
