//! The callbacks of a chain.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use serde::Serialize;

use super::breaker::ChainBreaker;
use super::cache::ChainCache;
use super::context::{
    AnswerContext, AssessContext, Call, CallContext, ClassifyContext, ConditionContext,
    EnhanceContext, PlanContext, ReplanContext, ResultContext, StepContext, SynthesisContext,
};
use super::learn::PatternStats;
use super::text::{ChainText, StepError, Written};
use crate::platform::{Active, BoxFuture, Dyn, MaybeSend, MaybeSync, Platform};
use turnlock::chain::{
    AnswerCall, AssessCall, CallBody, ChainOptions, ClassifyCall, Complexity, ConditionCall,
    EnhanceCall, Hooks, PlanCall, ReplanCall, StepCall, StepResult, SynthesisCall,
};

/// What a callback returns: JSON text.
pub(super) type Given = BoxFuture<'static, Result<String, StepError>>;
/// Takes pieces of text.
pub(super) type Pieces = Arc<Dyn![Fn(String)]>;
type Callback<T> = Arc<Dyn![Fn(CallContext<T>, Pieces) -> Given]>;

/// The callbacks of a chain, which do its I/O; the core decides which one is called when.
///
/// An error of a callback, and a panic in it, are the failure of that call: the core tries again or
/// goes on without. Its future is dropped when the call is no longer wanted.
#[derive(Clone)]
pub struct Callbacks {
    answer: Callback<AnswerCall>,
    plan: Callback<PlanCall>,
    search: Callback<StepCall>,
    synthesize: Callback<SynthesisCall>,
    refine: Option<Callback<StepCall>>,
    classify: Option<Callback<ClassifyCall>>,
    assess: Option<Callback<AssessCall>>,
    condition: Option<Callback<ConditionCall>>,
    replan: Option<Callback<ReplanCall>>,
    enhance: Option<Callback<EnhanceCall>>,
    quality: Option<Callback<StepResult>>,
    summarize_result: Option<Callback<StepResult>>,
    pub(super) cache: Option<Arc<dyn ChainCache>>,
    pub(super) feedback: Option<PatternStats>,
    pub(super) breaker: Option<ChainBreaker>,
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callbacks")
    }
}

/// Declares the methods for callbacks that a chain may lack.
macro_rules! optional {
    ($($(#[$doc:meta])* $name:ident $(<$value:ident>)? ($context:ty) -> $returned:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name<$($value: Serialize,)? E, F>(
            mut self,
            $name: impl Fn($context) -> F + MaybeSend + MaybeSync + 'static,
        ) -> Self
        where
            E: Into<StepError>,
            F: Future<Output = Result<$returned, E>> + MaybeSend + 'static,
        {
            self.$name = Some(values($name));
            self
        }
    )*};
}

impl Callbacks {
    /// The callbacks that every chain needs.
    ///
    /// - `answer`: the simple path, one call of the model with whatever context the host injects.
    /// - `plan`: asks a planner; its text, or the plan as a value
    ///   `{ pattern, steps: [{ id, type, query, focus, depends_on, when }] }`. If it
    ///   fails it is asked again; if that fails, `answer` is called.
    /// - `search`: finds something out, any value. Items are counted in a list, or in the `items`
    ///   of an object.
    /// - `synthesize`: writes from results; see
    ///   [`is_final`](turnlock::chain::SynthesisCall::is_final).
    pub fn new<A, AE, AF, P, PE, PF, S, SE, SF, W, WE, WF>(
        answer: impl Fn(AnswerContext) -> AF + MaybeSend + MaybeSync + 'static,
        plan: impl Fn(PlanContext) -> PF + MaybeSend + MaybeSync + 'static,
        search: impl Fn(StepContext) -> SF + MaybeSend + MaybeSync + 'static,
        synthesize: impl Fn(SynthesisContext) -> WF + MaybeSend + MaybeSync + 'static,
    ) -> Self
    where
        A: Into<ChainText>,
        AE: Into<StepError>,
        AF: Future<Output = Result<A, AE>> + MaybeSend + 'static,
        P: Serialize,
        PE: Into<StepError>,
        PF: Future<Output = Result<P, PE>> + MaybeSend + 'static,
        S: Serialize,
        SE: Into<StepError>,
        SF: Future<Output = Result<S, SE>> + MaybeSend + 'static,
        W: Into<ChainText>,
        WE: Into<StepError>,
        WF: Future<Output = Result<W, WE>> + MaybeSend + 'static,
    {
        Self {
            answer: texts(answer),
            plan: values(plan),
            search: values(search),
            synthesize: texts(synthesize),
            refine: None,
            classify: None,
            assess: None,
            condition: None,
            replan: None,
            enhance: None,
            quality: None,
            summarize_result: None,
            cache: None,
            feedback: None,
            breaker: None,
        }
    }

    optional! {
        /// Condenses results, for steps of type `refine`. Default: as `search`; a step without a query
        /// passes its inputs on.
        refine<R>(StepContext) -> R;
        /// Decides instead of the core's classifier. It gets the classifier's decision, which stands
        /// if it fails.
        classify(ClassifyContext) -> Complexity;
        /// How complete the results are, 0 to 1. Asked after each step; nothing starts meanwhile.
        assess(AssessContext) -> f64;
        /// Writes the query of a search; `None` keeps the planner's.
        enhance(EnhanceContext) -> Option<String>;
        /// Rates the result of a search; more is better. With it, `diminishing` of the limits stops the
        /// chain.
        quality(ResultContext) -> f64;
        /// Makes the short text of a result that stands for it (`${1}`) in the queries of later steps.
        /// Default: its title, or its first 160 characters.
        summarize_result(ResultContext) -> String;
        /// Decides each `when`, instead of the core's expressions.
        condition(ConditionContext) -> bool;
        /// After each wave: what is to be done instead of the `remaining` steps, as a planner writes
        /// it (a text, a list of steps, or `{ steps }`), or `None` to keep them. Steps that have
        /// started stay as they are.
        replan<P>(ReplanContext) -> Option<P>;
    }

    /// Keeps results of searches and refinements, by what was asked.
    #[must_use]
    pub fn cache(mut self, cache: impl ChainCache + 'static) -> Self {
        self.cache = Some(Arc::new(cache));
        self
    }

    /// After too many failed chains, complex queries take the simple path for a while.
    #[must_use]
    pub fn breaker(mut self, breaker: ChainBreaker) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Gets what users say of chains; see [`ChainControl::feedback`](super::ChainControl::feedback).
    #[must_use]
    pub fn feedback(mut self, stats: PatternStats) -> Self {
        self.feedback = Some(stats);
        self
    }

    /// Tells the core which callbacks there are, and what chains were worth.
    pub(super) fn with_hooks(&self, options: ChainOptions) -> ChainOptions {
        let hooks = Hooks::default()
            .assess(self.assess.is_some())
            .cache(self.cache.is_some())
            .classify(self.classify.is_some())
            .condition(self.condition.is_some())
            .enhance(self.enhance.is_some())
            .quality(self.quality.is_some())
            .refine(self.refine.is_some())
            .replan(self.replan.is_some())
            .summarize_result(self.summarize_result.is_some());
        let broken = options.broken || self.breaker.as_ref().is_some_and(ChainBreaker::is_open);
        let options = options.broken(broken);
        options.hooks(hooks).learned(self.feedback.as_ref().and_then(PatternStats::learned))
    }

    /// Calls the callback for a call.
    pub(super) fn call(&self, body: CallBody, call: Call, show: Pieces) -> Given {
        fn to<T>(callback: Option<&Callback<T>>, told: T, (call, show): (Call, Pieces)) -> Given {
            match callback {
                Some(callback) => callback(CallContext::new(told, call), show),
                // The core was not told of one, so it asks for none.
                None => Box::pin(ready(Err(StepError::new("there is no callback").fatal()))),
            }
        }
        let with = (call, show);
        match body {
            CallBody::Answer(told) => to(Some(&self.answer), told, with),
            CallBody::Assess(told) => to(self.assess.as_ref(), told, with),
            CallBody::Classify(told) => to(self.classify.as_ref(), told, with),
            CallBody::Condition(told) => to(self.condition.as_ref(), told, with),
            CallBody::Enhance(told) => to(self.enhance.as_ref(), told, with),
            CallBody::Plan(told) => to(Some(&self.plan), told, with),
            CallBody::Quality(told) => to(self.quality.as_ref(), told, with),
            CallBody::Recall(told) => to(None, told, with),
            CallBody::Refine(told) => to(self.refine.as_ref().or(Some(&self.search)), told, with),
            CallBody::Replan(told) => to(self.replan.as_ref(), told, with),
            CallBody::Search(told) => to(Some(&self.search), told, with),
            CallBody::SummarizeResult(told) => to(self.summarize_result.as_ref(), told, with),
            CallBody::Synthesize(told) => to(Some(&self.synthesize), told, with),
        }
    }
}

/// A callback that returns a value.
fn values<T, R, E, F>(
    run: impl Fn(CallContext<T>) -> F + MaybeSend + MaybeSync + 'static,
) -> Callback<T>
where
    R: Serialize,
    E: Into<StepError>,
    F: Future<Output = Result<R, E>> + MaybeSend + 'static,
{
    Arc::new(move |context, _| {
        let text_of = run(context);
        Box::pin(async move { text(&text_of.await.map_err(Into::into)?) })
    })
}

/// A callback that writes.
fn texts<C, T, E, F>(
    run: impl Fn(CallContext<C>) -> F + MaybeSend + MaybeSync + 'static,
) -> Callback<C>
where
    T: Into<ChainText>,
    E: Into<StepError>,
    F: Future<Output = Result<T, E>> + MaybeSend + 'static,
{
    Arc::new(move |context, show| {
        let written_text = run(context);
        Box::pin(async move {
            let ChainText(written) = written_text.await.map_err(Into::into)?.into();
            let mut pieces = match written {
                Written::Whole(whole) => return text(&whole),
                Written::Pieces(pieces) => pieces,
            };
            while let Some(piece) = pieces.next().await {
                show(piece?);
                // Pieces may all be there at once: the core and the reader come first.
                Active::pass().await;
            }
            Ok("null".to_owned())
        })
    })
}

pub(super) fn text(value: &impl Serialize) -> Result<String, StepError> {
    serde_json::to_string(value)
        .map_err(|error| StepError::from(error).code("json.not_serializable").fatal())
}
