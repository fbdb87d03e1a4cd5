//! Performs the effects of a bundle: runs replicates and cancels them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::AbortHandle;

use super::options::{Check, Replicates};
use super::record::{BundleRecording, Fact};
use super::redact::{Redact, before_cuts, redact_long, redacted};
use super::replicate::{Replicate, ReplicateContext, ReplicateError, tokens};
use super::run::{BundleControl, RunningBundle};
use crate::clock;
use crate::drive::{Inputs, Machine, Perform, Tasks};
use crate::error::Error;
use crate::feed::Feed;
use crate::lock::Lock;
use crate::platform::{Abort, MaybeSend, Signal};
use crate::running::Running;
use crate::schema::Validator;
use turnlock::Next;
use turnlock::evidence::{
    Bundle, BundleEvent, BundleOptions, Effect, Event, EvidenceBundle, Input, Outcome, Rendered,
    Strategy,
};
use turnlock::json::Json;
use turnlock::limits;

/// Errors of a schema that are reported for one replicate; the core's own cap.
///
/// Limit | errors of a replicate | errors | the others are not told
const ERRORS: usize = 20;

/// The inputs so far, if they are recorded.
pub(super) type Tape = Option<Arc<Lock<BundleRecording>>>;

/// The core's machine, on a clock that begins with it, as in its recording.
pub(super) struct Told {
    bundle: Bundle,
    origin: u64,
    tape: Tape,
    /// For the reason of the first cancel.
    redact: Option<Redact>,
}

impl Machine for Told {
    type Effect = Effect;
    type Input = Input;

    fn poll(&mut self) -> Next<Effect> {
        match self.bundle.poll() {
            Next::Wait { until } => {
                Next::Wait { until: until.map(|due| due.saturating_add(self.origin)) }
            }
            effect => effect,
        }
    }

    fn handle(&mut self, now_ms: u64, mut input: Input) {
        // A redaction may cancel the bundle whose reason it reads: only the first is read.
        if let Input::Cancel { reason } = &mut input
            && let Some(redact) = self.redact.take()
        {
            *reason = redact_long(reason, &redact);
        }
        let at = now_ms.saturating_sub(self.origin);
        if let Some(tape) = &self.tape {
            let data = input.data().map(|data| String::from_utf8_lossy(data).into_owned());
            let mut text = String::new();
            input.write_json(&mut text);
            tape.lock().facts.push(Fact(at, text, data));
        }
        self.bundle.handle(at, input);
    }

    fn due() -> Input {
        Input::Timer
    }

    fn cancel(reason: String) -> Input {
        Input::Cancel { reason }
    }
}

/// The machine, and every check of data.
///
/// # Errors
/// `options.invalid` with the option in its message.
pub(super) fn prepared(
    options: BundleOptions,
    replicates: &Replicates,
) -> Result<(Bundle, Arc<[Check]>), Error> {
    let validator = options.schema.as_ref().map_or(Ok(None), Validator::of);
    let bundle = Bundle::new(options)?;
    let wrong = |why: String| Error::new("options.invalid", format!("`schema`: {why}"));
    let by_schema =
        |schema: Validator| -> Check { Arc::new(move |data| schema.errors(data, ERRORS)) };
    // The schema's words are better than serde's: they come first.
    let first = validator.map_err(wrong)?.map(by_schema);
    Ok((bundle, first.into_iter().chain(replicates.checks.iter().cloned()).collect()))
}

/// Runs a bundle. `args` are those of a [`bundle_tool`](super::bundle_tool)'s call.
pub(super) fn launch(
    mut options: BundleOptions,
    replicates: Replicates,
    args: Json<'static>,
) -> Result<RunningBundle, Error> {
    let by_schema = cfg!(feature = "jsonschema") && options.schema.is_some();
    options.checked |= by_schema || !replicates.checks.is_empty();
    let recorded = || Arc::new(Lock::new(BundleRecording::new(options.to_json().to_text())));
    let tape = replicates.record.then(recorded);
    let cuts = options.limits.as_ref().is_some_and(|limits| limits.max_bytes.is_some());
    let (bundle, checks) = prepared(options, &replicates)?;
    let origin = clock::whole_now();
    let mut machine =
        Told { bundle, origin, tape: tape.clone(), redact: replicates.redact.clone() };
    machine.handle(origin, Input::Start);
    let (running, result) = Running::launch(machine, |events, inputs| Host {
        replicates,
        args: Arc::new(args),
        checks,
        events,
        inputs,
        cuts,
        running: BTreeMap::new(),
        ready: None,
    });
    let control = BundleControl { inputs: running.inputs.clone(), tape };
    Ok(RunningBundle { running, control, result })
}

struct Host {
    replicates: Replicates,
    args: Arc<Json<'static>>,
    checks: Arc<[Check]>,
    events: Feed<Event>,
    inputs: Inputs<<Told as Machine>::Input>,
    /// Whether the core may cut texts.
    cuts: bool,
    running: BTreeMap<usize, (AbortHandle, Signal)>,
    /// The bundle of the last event.
    ready: Option<Rendered<EvidenceBundle>>,
}

impl Perform<Told> for Host {
    /// The bundle.
    type End = Option<Rendered<EvidenceBundle>>;

    fn perform(&mut self, effect: Effect, tasks: &Tasks) -> Option<Self::End> {
        match effect {
            Effect::Emit(event) => {
                let event = redacted(event, self.replicates.redact.as_ref());
                if let BundleEvent::BundleReady { bundle, .. } = &event.kind {
                    self.ready = Some(bundle.clone());
                }
                self.events.push(event);
            }
            Effect::Run { replicate, seed, attempt, strategy } => {
                let signal = Signal::default();
                let attempt = self.attempt(replicate, seed, (attempt, strategy), signal.clone());
                self.running.insert(replicate, (tasks.start(attempt), signal));
            }
            Effect::Cancel { replicate, reason } => {
                if let Some((handle, signal)) = self.running.remove(&replicate) {
                    signal.abort(Some(reason.name()));
                    handle.abort();
                }
            }
            Effect::Done => return Some(self.ready.take()),
        }
        None
    }
}

impl Host {
    /// Runs one attempt at a replicate, and tells its outcome.
    fn attempt(
        &self,
        replicate: usize,
        seed: i64,
        (attempt, strategy): (u32, Option<Strategy>),
        signal: Signal,
    ) -> impl Future<Output = ()> + MaybeSend + use<> {
        let report = self.inputs.clone();
        let context = ReplicateContext {
            id: format!("r{}", replicate + 1),
            seed,
            strategy,
            attempt,
            signal,
            args: self.args.clone(),
            report: Arc::new(move |usage| {
                report.tell(Input::Usage { replicate, attempt, tokens: tokens(usage) });
            }),
            checks: self.checks.clone(),
        };
        let (run, checks) = (self.replicates.run.clone(), self.checks.clone());
        let redact = self.replicates.redact.clone().filter(|_| self.cuts);
        let inputs = self.inputs.clone();
        async move {
            let ended = run(context).await;
            let (data, usage, model, seed_unsent, repairs) = match ended {
                Ok(Replicate { data, usage, model, seed_unsent, repairs }) => {
                    (data.map_err(|error| error.to_string()), usage, model, seed_unsent, repairs)
                }
                Err(ReplicateError { message, usage, model, seed_unsent }) => {
                    (Err(message), usage, model, seed_unsent, Vec::new())
                }
            };
            let outcome = match data {
                Ok(text) => {
                    Outcome::Data { errors: checked(&text, &checks), json: text.into_bytes() }
                }
                Err(message) => Outcome::Failed { message },
            };
            let outcome = match &redact {
                Some(redact) => before_cuts(outcome, redact),
                None => outcome,
            };
            let tokens = usage.map(tokens);
            inputs.tell(Input::Settled {
                replicate,
                attempt,
                outcome,
                tokens,
                model,
                seed_unsent,
                repairs,
            });
        }
    }
}

/// The errors of the checks for a text. Of a text that the core refuses, the core says why.
fn checked(text: &str, checks: &[Check]) -> Vec<String> {
    if checks.is_empty() {
        return Vec::new();
    }
    let Ok(data) = Json::parse(text.as_bytes(), limits::REPLICATE_BYTES) else { return Vec::new() };
    let data = data.into_owned();
    checks.iter().flat_map(|check| check(&data)).collect()
}
