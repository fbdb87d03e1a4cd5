//! What [`run_chain`](super::run_chain) takes.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::cache::ChainCache;
use super::calls::{Callbacks, texts, values};
use super::context::{
    AnswerContext, AssessContext, ClassifyContext, ConditionContext, PlanContext, ReplanContext,
    StepContext, SynthesisContext,
};
use super::learn::PatternStats;
use super::text::{StepError, Text};
use crate::platform::{MaybeSend, MaybeSync};
use turnlock::chain::{self, ClassifierOptions, Complexity, Costs, Hooks, Limits, Pattern};

/// What [`run_chain`](super::run_chain) takes. Callbacks do the I/O; the core decides which one is
/// called when.
///
/// What a callback fails with, and a panic in it, are the failure of that call: the core tries
/// again or goes on without. Its future is dropped when the call is no longer wanted.
#[derive(Clone)]
pub struct ChainOptions {
    core: chain::ChainOptions,
    callbacks: Callbacks,
    cache: Option<Arc<dyn ChainCache>>,
    feedback: Option<PatternStats>,
}

/// What a chain is made of.
pub(super) struct Parts {
    pub(super) core: chain::ChainOptions,
    pub(super) callbacks: Callbacks,
    pub(super) cache: Option<Arc<dyn ChainCache>>,
    pub(super) feedback: Option<PatternStats>,
}

impl fmt::Debug for ChainOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainOptions").field("core", &self.core).finish_non_exhaustive()
    }
}

impl ChainOptions {
    /// A chain for what the user asks, and the callbacks that every chain needs.
    ///
    /// - `answer`: the simple path, one call of the model with whatever context the host injects.
    /// - `plan`: asks a planner; its text, or the plan as a value
    ///   `{ pattern, steps: [{ id, type, query, focus, depends_on, when }] }`. A failure leads to
    ///   `answer`.
    /// - `search`: finds something out, any value. Items are counted in a list, or in the `items`
    ///   of an object.
    /// - `synthesize`: writes from results; see
    ///   [`is_final`](turnlock::chain::SynthesisCall::is_final).
    pub fn new<A, AE, AF, P, PE, PF, S, SE, SF, W, WE, WF>(
        query: impl Into<String>,
        answer: impl Fn(AnswerContext) -> AF + MaybeSend + MaybeSync + 'static,
        plan: impl Fn(PlanContext) -> PF + MaybeSend + MaybeSync + 'static,
        search: impl Fn(StepContext) -> SF + MaybeSend + MaybeSync + 'static,
        synthesize: impl Fn(SynthesisContext) -> WF + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        A: Into<Text>,
        AE: Into<StepError>,
        AF: Future<Output = Result<A, AE>> + MaybeSend + 'static,
        P: Serialize,
        PE: Into<StepError>,
        PF: Future<Output = Result<P, PE>> + MaybeSend + 'static,
        S: Serialize,
        SE: Into<StepError>,
        SF: Future<Output = Result<S, SE>> + MaybeSend + 'static,
        W: Into<Text>,
        WE: Into<StepError>,
        WF: Future<Output = Result<W, WE>> + MaybeSend + 'static,
    {
        Self {
            core: chain::ChainOptions::new(query),
            callbacks: Callbacks {
                answer: texts(answer),
                plan: values(plan),
                search: values(search),
                synthesize: texts(synthesize),
                refine: None,
                classify: None,
                assess: None,
                condition: None,
                replan: None,
            },
            cache: None,
            feedback: None,
        }
    }

    /// Condenses results, for steps of type `refine`. Default as `search`.
    #[must_use]
    pub fn refine<R, E, F>(
        mut self,
        refine: impl Fn(StepContext) -> F + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        R: Serialize,
        E: Into<StepError>,
        F: Future<Output = Result<R, E>> + MaybeSend + 'static,
    {
        self.callbacks.refine = Some(values(refine));
        self
    }

    /// Decides instead of the core's classifier; it gets what that says, and where it fails, that
    /// stands.
    #[must_use]
    pub fn classify<E, F>(
        mut self,
        classify: impl Fn(ClassifyContext) -> F + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        E: Into<StepError>,
        F: Future<Output = Result<Complexity, E>> + MaybeSend + 'static,
    {
        self.callbacks.classify = Some(values(classify));
        self
    }

    /// How complete the results are, 0 to 1. Asked after each step; nothing starts meanwhile.
    #[must_use]
    pub fn assess<E, F>(
        mut self,
        assess: impl Fn(AssessContext) -> F + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        E: Into<StepError>,
        F: Future<Output = Result<f64, E>> + MaybeSend + 'static,
    {
        self.callbacks.assess = Some(values(assess));
        self
    }

    /// Decides each `when`, instead of the core's expressions.
    #[must_use]
    pub fn condition<E, F>(
        mut self,
        condition: impl Fn(ConditionContext) -> F + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        E: Into<StepError>,
        F: Future<Output = Result<bool, E>> + MaybeSend + 'static,
    {
        self.callbacks.condition = Some(values(condition));
        self
    }

    /// After each wave: what is to be done instead of the `remaining` steps, as a planner writes
    /// it (a text, a list of steps, or `{ steps }`), or `None` to keep them. Steps that have
    /// started stay as they are.
    #[must_use]
    pub fn replan<P, E, F>(
        mut self,
        replan: impl Fn(ReplanContext) -> F + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        P: Serialize,
        E: Into<StepError>,
        F: Future<Output = Result<Option<P>, E>> + MaybeSend + 'static,
    {
        self.callbacks.replan = Some(values(replan));
        self
    }

    /// Limits of steps, cost and time.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.core.limits = limits;
        self
    }

    /// What calls cost at most; set aside before they start, so `max_cost` is never passed.
    #[must_use]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.core.costs = costs;
        self
    }

    /// Patterns that a plan may have. Default all three.
    #[must_use]
    pub fn patterns(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        self.core.patterns = patterns.into_iter().collect();
        self
    }

    /// The threshold of the core's classifier, and words of the host's own.
    #[must_use]
    pub fn classifier(mut self, classifier: ClassifierOptions) -> Self {
        self.core.classifier = classifier;
        self
    }

    /// Keeps results of searches and refinements, by what was asked.
    #[must_use]
    pub fn cache(mut self, cache: impl ChainCache + 'static) -> Self {
        self.cache = Some(Arc::new(cache));
        self
    }

    /// Part of every key in the cache, such as the name of the search index. Default empty.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.core.model = model.into();
        self
    }

    /// Gets what users say of chains; see [`ChainControl::feedback`](super::ChainControl).
    #[must_use]
    pub fn feedback(mut self, stats: PatternStats) -> Self {
        self.feedback = Some(stats);
        self
    }

    /// `false`: always the simple path. Default `true`.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.core.enabled = enabled;
        self
    }

    pub(super) fn parts(self) -> Parts {
        let Self { mut core, callbacks, cache, feedback } = self;
        core.hooks = Hooks::default()
            .assess(callbacks.assess.is_some())
            .cache(cache.is_some())
            .classify(callbacks.classify.is_some())
            .condition(callbacks.condition.is_some())
            .replan(callbacks.replan.is_some());
        core.learned = feedback.as_ref().and_then(PatternStats::learned);
        Parts { core, callbacks, cache, feedback }
    }
}
