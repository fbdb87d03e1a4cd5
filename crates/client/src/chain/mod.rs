//! A chain of steps for a complex query, for a page or a worker.

mod cache;
mod calls;
mod context;
mod learn;
mod options;
mod text;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;
use futures::stream::{FusedStream, Stream};

use super::clock;
use super::drive::{Facts, Task, drive, spawn};
use super::error::Error;
use super::feed::Feed;
use calls::Calls;
use options::Parts;
use turnlock::chain::{Chain, Failure, Input};

pub use cache::{CacheEntry, ChainCache, MemoryCache};
pub use context::{
    AnswerContext, AssessContext, CallContext, ClassifyContext, ConditionContext, PlanContext,
    ReplanContext, StepContext, SynthesisContext,
};
pub use learn::PatternStats;
pub use options::ChainOptions;
pub use text::{StepError, Text};
pub use turnlock::chain::{
    Budget, ChainEvent, ChainEventKind, ChainOutcome, ChainPath, ChainResult, ChainStatus,
    Classification, Classifier, ClassifierOptions, Complexity, Costs, Limits, MissingStep, Pattern,
    Plan, PlanRepair, PlanStep, Progress, Refinement, SkipReason, StepId, StepKind, StepOutcome,
    StepResult, StepStatus, Stop,
};

/// Answers a query: a simple one in one call, a complex one by a plan of steps.
///
/// It runs by itself, on the runtime's event loop; reading its events is optional. Dropping it
/// cancels it.
///
/// ```no_run
/// use futures::StreamExt;
/// use turnlock_client::Error;
/// use turnlock_client::chain::{
///     AnswerContext, ChainOptions, Limits, MemoryCache, PlanContext, StepContext, StepError,
///     SynthesisContext, run_chain,
/// };
///
/// # async fn ask(prompt: &str) -> Result<String, StepError> { Ok(prompt.to_owned()) }
/// # async fn look_up(words: &str) -> Result<Vec<String>, StepError> { Ok(vec![words.to_owned()]) }
/// # async fn page() -> Result<(), Error> {
/// let options = ChainOptions::new(
///     "Compare the Ashby lighthouse and the Corran lighthouse: which one is older?",
///     async |context: AnswerContext| ask(&context.query).await,
///     async |context: PlanContext| ask(&context.prompt).await,
///     async |context: StepContext| look_up(&context.query).await,
///     async |context: SynthesisContext| {
///         let found: Vec<_> = context.results.iter().map(|one| one.result.to_text()).collect();
///         context.spend(0.2);
///         ask(&format!("{}\n{}", context.query, found.join("\n"))).await
///     },
/// )
/// .limits(Limits::default().max_cost(Some(2.0)))
/// .cache(MemoryCache::new());
/// let mut chain = run_chain(options)?;
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
pub fn run_chain(options: ChainOptions) -> Result<RunningChain, Error> {
    let Parts { core, callbacks, cache, feedback } = options.parts();
    let mut machine = Chain::new(core)?;
    let (settle, result) = oneshot::channel();
    let (events, facts) = (Feed::new(), Facts::new());
    let calls = Calls {
        callbacks,
        cache,
        events: events.clone(),
        facts: facts.clone(),
        under_way: BTreeMap::new(),
    };
    let control = ChainControl {
        facts: facts.clone(),
        result: result.shared(),
        feedback,
        rated: Rc::default(),
    };
    let feed = events.clone();
    let task = spawn(async move {
        machine.handle(clock::whole_now(), Input::Start);
        let result = drive(machine, calls, facts).await;
        let _ = settle.send(Rc::new(result));
        events.end();
    });
    Ok(RunningChain { events: feed, control, task })
}

type Ended = Shared<oneshot::Receiver<Rc<ChainResult>>>;

/// A chain under way: a stream of its events, exactly one of them `complete`, the last. Dropping it
/// before its end cancels the chain: every callback's future is dropped.
#[derive(Debug)]
pub struct RunningChain {
    events: Feed<ChainEvent>,
    control: ChainControl,
    task: Task,
}

/// Ends or rates a chain from elsewhere, also behind its end. It does not keep the chain alive.
#[derive(Debug, Clone)]
pub struct ChainControl {
    facts: Facts<Chain>,
    result: Ended,
    feedback: Option<PatternStats>,
    rated: Rc<Cell<bool>>,
}

impl ChainControl {
    /// Ends the chain: every callback's future is dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.facts.tell(move |chain, now| chain.handle(now, Input::Cancel { reason }));
    }

    /// Tells the chain's [`PatternStats`] whether the user was satisfied, as soon as the chain is
    /// over. Counts once, for a chain that ran a plan.
    pub async fn feedback(&self, satisfied: bool) {
        let result = self.result.clone().await;
        let (Ok(result), Some(stats)) = (result, &self.feedback) else { return };
        let ChainOutcome { path, cost, duration_ms, .. } = result.outcome;
        let Some(plan) = result.plan.as_ref().filter(|_| path == ChainPath::Chain) else { return };
        if !self.rated.replace(true) {
            stats.record(plan.pattern, satisfied, cost, duration_ms);
        }
    }
}

impl RunningChain {
    /// Ends the chain: every callback's future is dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.control.cancel(reason);
    }

    /// As [`ChainControl::feedback`].
    pub async fn feedback(&self, satisfied: bool) {
        self.control.feedback(satisfied).await;
    }

    /// For whoever ends the chain, or rates it, while another reads it.
    #[must_use]
    pub fn control(&self) -> ChainControl {
        self.control.clone()
    }

    /// What the chain comes to. Events that were not read are dropped.
    pub async fn result(self) -> ChainResult {
        self.events.leave();
        // Only a runtime that is being torn down drops a driver.
        self.control.result.clone().await.map_or_else(|_| gone(), Rc::unwrap_or_clone)
    }
}

fn gone() -> ChainResult {
    ChainResult::failed(Failure::new("core.fault", "no answer"))
}

impl Stream for RunningChain {
    type Item = ChainEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChainEvent>> {
        self.events.poll_next(cx)
    }
}

impl FusedStream for RunningChain {
    fn is_terminated(&self) -> bool {
        self.events.is_over() && self.events.is_empty()
    }
}

impl Drop for RunningChain {
    fn drop(&mut self) {
        if !self.events.is_over() {
            self.events.leave();
            self.control.cancel("the reader left");
            self.task.hear();
        }
    }
}
