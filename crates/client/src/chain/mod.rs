//! A chain of steps for a complex query.

mod breaker;
mod cache;
mod callbacks;
mod calls;
mod context;
mod learn;
mod text;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;

use crate::clock;
use crate::drive::{Inputs, Machine};
use crate::error::Error;
use crate::running::{Running, stream_of_events};
use calls::Calls;
use turnlock::chain::{Chain, Failure, Input};

pub use breaker::ChainBreaker;
pub use cache::{CacheEntry, ChainCache, MemoryCache};
pub use callbacks::Callbacks;
pub use context::{
    AnswerContext, AssessContext, CallContext, ClassifyContext, ConditionContext, EnhanceContext,
    PlanContext, ReplanContext, ResultContext, StepContext, SynthesisContext,
};
pub use learn::PatternStats;
pub use text::{ChainText, StepError};
pub use turnlock::chain::{
    ChainEvent, ChainEventKind, ChainOptions, ChainOutcome, ChainPath, ChainResult, ChainStatus,
    Classification, Classifier, ClassifierOptions, Complexity, Costs, Limits, MissingStep, Pattern,
    Plan, PlanRepair, PlanStep, Progress, Refinement, SkipReason, StepId, StepKind, StepOutcome,
    StepResult, StepStatus, Stop,
};

/// Answers a query: a simple one in one call, a complex one by a plan of steps.
///
/// It runs by itself; reading its events is optional. Dropping it cancels it. `hooks` and `learned`
/// of the options are those of the callbacks.
///
/// ```no_run
/// use futures::StreamExt;
/// use turnlock_client::Error;
/// use turnlock_client::chain::{
///     AnswerContext, Callbacks, ChainOptions, Limits, MemoryCache, PlanContext, StepContext,
///     StepError, SynthesisContext, run_chain,
/// };
///
/// # async fn ask(prompt: &str) -> Result<String, StepError> { Ok(prompt.to_owned()) }
/// # async fn look_up(words: &str) -> Result<Vec<String>, StepError> { Ok(vec![words.to_owned()]) }
/// # async fn page() -> Result<(), Error> {
/// let query = "Compare the Ashby lighthouse and the Corran lighthouse: which one is older?";
/// let options = ChainOptions::new(query).limits(Limits::default().max_cost(Some(2.0)));
/// let callbacks = Callbacks::new(
///     async |context: AnswerContext| ask(&context.query).await,
///     async |context: PlanContext| ask(&context.prompt).await,
///     async |context: StepContext| look_up(&context.query).await,
///     async |context: SynthesisContext| {
///         let found: Vec<_> = context.results.iter().map(|one| one.result.to_text()).collect();
///         context.spend(0.2);
///         ask(&format!("{}\n{}", context.query, found.join("\n"))).await
///     },
/// )
/// .cache(MemoryCache::new());
/// let mut chain = run_chain(options, callbacks)?;
/// while let Some(event) = chain.next().await {
///     if let Some(chunk) = event.chunk() {
///         print!("{chunk}");
///     }
/// }
/// println!("{:?}", chain.result().await.outcome.stopped);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Misuse: `options.invalid`. Everything else is the chain's terminal event.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn run_chain(options: ChainOptions, callbacks: Callbacks) -> Result<RunningChain, Error> {
    let mut machine = Chain::new(callbacks.with_hooks(options))?;
    machine.handle(clock::whole_now(), Input::Start);
    let feedback = callbacks.feedback.clone();
    let callbacks = Arc::new(callbacks);
    let (running, result) = Running::launch(machine, |events, inputs| Calls {
        callbacks,
        events,
        inputs,
        under_way: BTreeMap::new(),
    });
    let (inputs, result) = (running.inputs.clone(), result.shared());
    Ok(RunningChain {
        running,
        control: ChainControl { inputs, result, feedback, rated: Arc::default() },
    })
}

type Ended = Shared<oneshot::Receiver<ChainResult>>;

/// A chain under way: a stream of its events, exactly one of them `complete`, the last. It derefs to
/// its [`ChainControl`]. Dropping it before its end cancels the chain: every callback's future is
/// dropped.
#[derive(Debug)]
pub struct RunningChain {
    running: Running<Chain, ChainEvent>,
    control: ChainControl,
}

/// Ends or rates a chain from elsewhere, also behind its end. It does not keep the chain alive.
#[derive(Debug, Clone)]
pub struct ChainControl {
    inputs: Inputs<<Chain as Machine>::Input>,
    result: Ended,
    feedback: Option<PatternStats>,
    rated: Arc<AtomicBool>,
}

impl ChainControl {
    /// Ends the chain: every callback's future is dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.inputs.tell(Chain::cancel(reason.into()));
    }

    /// Tells the chain's [`PatternStats`] whether the user was satisfied, as soon as the chain is
    /// over. Counts once, for a chain that ran a plan, also if its steps found nothing.
    pub async fn feedback(&self, satisfied: bool) {
        let result = self.result.clone().await;
        let (Ok(result), Some(stats)) = (result, &self.feedback) else { return };
        let ChainOutcome { cost, duration_ms, .. } = result.outcome;
        let Some(plan) = result.plan.as_ref() else { return };
        if !self.rated.swap(true, Ordering::Relaxed) {
            stats.record(plan.pattern, satisfied, cost, duration_ms);
        }
    }
}

impl Deref for RunningChain {
    type Target = ChainControl;

    fn deref(&self) -> &ChainControl {
        &self.control
    }
}

impl RunningChain {
    /// For whoever ends the chain, or rates it, while another reads it.
    #[must_use]
    pub fn control(&self) -> ChainControl {
        self.control.clone()
    }

    /// What the chain comes to. Events that were not read are dropped.
    pub async fn result(self) -> ChainResult {
        self.running.events.leave();
        // Only a runtime that is being torn down drops a driver.
        let no_answer = |_| ChainResult::failed(Failure::new("core.fault", "no answer"));
        self.control.result.clone().await.unwrap_or_else(no_answer)
    }
}

stream_of_events!(RunningChain, ChainEvent);
