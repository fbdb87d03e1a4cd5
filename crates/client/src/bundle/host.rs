//! Does what the machine of a bundle asks for: runs replicates, cancels them, waits. Decides
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::channel::oneshot;
use futures::future::AbortHandle;

use super::options::{Check, Prepared, Run};
use super::record::{BundleRecording, Fact};
use super::redact::{Redact, redacted};
use super::replicate::{Replicate, ReplicateContext, ReplicateError, tokens};
use super::run::RunningBundle;
use crate::clock;
use crate::drive::{Inputs, Machine, Perform, Tasks, drive};
use crate::feed::Feed;
use crate::lock::Lock;
use crate::platform::{Abort, MaybeSend, Signal};
use crate::running::Running;
use turnlock::Next;
use turnlock::bundle::{
    Bundle, BundleEvent, Effect, Event, EvidenceBundle, Input, Outcome, Rendered,
};
use turnlock::json::Json;
use turnlock::limits;

/// What was told, if it is recorded.
pub(super) type Tape = Option<Arc<Lock<BundleRecording>>>;

/// The core's machine, on a clock that begins with it: a recording says exactly what it was told.
pub(super) struct Told {
    bundle: Bundle,
    origin: u64,
    tape: Tape,
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

    fn handle(&mut self, now_ms: u64, input: Input) {
        let at = now_ms.saturating_sub(self.origin);
        if let Some(tape) = &self.tape {
            let data = input.data().map(|data| String::from_utf8_lossy(data).into_owned());
            tape.lock().facts.push(Fact(at, input.to_json().to_text(), data));
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

/// Runs a bundle.
pub(super) fn launch(prepared: Prepared) -> RunningBundle {
    let Prepared { text, bundle, run, checks, redact, record } = prepared;
    let (settle, result) = oneshot::channel();
    let tape = record.then(|| Arc::new(Lock::new(BundleRecording::new(text))));
    let mut running = Running::new();
    let inputs = running.inputs.clone();
    let replicates = Replicates {
        run,
        checks,
        redact,
        events: running.events.clone(),
        inputs: inputs.clone(),
        running: BTreeMap::new(),
        ready: None,
    };
    let mut machine = Told { bundle, origin: clock::whole_now(), tape: tape.clone() };
    running.spawn(async move {
        machine.handle(clock::whole_now(), Input::Start);
        if let Some(bundle) = drive(machine, replicates, inputs).await {
            let _ = settle.send(bundle);
        }
    });
    RunningBundle { running, tape, result }
}

struct Replicates {
    run: Run,
    checks: Arc<[Check]>,
    redact: Option<Redact>,
    events: Feed<Event>,
    inputs: Inputs<Told>,
    running: BTreeMap<usize, (AbortHandle, Signal)>,
    /// The bundle, as its event brought it.
    ready: Option<Rendered<EvidenceBundle>>,
}

impl Perform<Told> for Replicates {
    /// The bundle.
    type End = Option<Rendered<EvidenceBundle>>;

    fn perform(&mut self, effect: Effect, tasks: &Tasks) -> Option<Self::End> {
        match effect {
            Effect::Emit(event) => self.show(event),
            Effect::Run { replicate, seed, attempt } => {
                let signal = Signal::default();
                let attempt = self.attempt(replicate, seed, attempt, signal.clone());
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

impl Replicates {
    fn show(&mut self, event: Event) {
        let event = redacted(event, self.redact.as_ref());
        if let BundleEvent::BundleReady { bundle, .. } = &event.kind {
            self.ready = Some(bundle.clone());
        }
        self.events.push(event);
    }

    /// One attempt at a replicate, and what it comes to.
    fn attempt(
        &self,
        replicate: usize,
        seed: i64,
        attempt: u32,
        signal: Signal,
    ) -> impl Future<Output = ()> + MaybeSend + use<> {
        let report = self.inputs.clone();
        let context = ReplicateContext {
            id: format!("r{}", replicate + 1),
            seed,
            attempt,
            signal,
            report: Arc::new(move |usage| {
                report.tell(Input::Usage { replicate, attempt, tokens: tokens(usage) });
            }),
        };
        let (run, checks, inputs) = (self.run.clone(), self.checks.clone(), self.inputs.clone());
        async move {
            let settled = Settled::of(run(context).await, &checks);
            inputs.tell(settled.input(replicate, attempt));
        }
    }
}

/// What an attempt came to, with its words.
struct Settled {
    data: Result<(String, Vec<String>), String>,
    usage: Option<turnlock::bundle::Tokens>,
    model: Option<String>,
}

impl Settled {
    fn of(ended: Result<Replicate, ReplicateError>, checks: &[Check]) -> Self {
        match ended {
            Ok(Replicate { data, usage, model }) => Self {
                data: match data {
                    Ok(text) => {
                        let errors = checked(&text, checks);
                        Ok((text, errors))
                    }
                    Err(error) => Err(error.to_string()),
                },
                usage: usage.map(tokens),
                model,
            },
            Err(ReplicateError { message, usage }) => {
                Self { data: Err(message), usage: usage.map(tokens), model: None }
            }
        }
    }

    fn input(self, replicate: usize, attempt: u32) -> Input {
        let outcome = match self.data {
            Ok((text, errors)) => Outcome::Data { json: text.into_bytes(), errors },
            Err(message) => Outcome::Failed { message },
        };
        let (tokens, model) = (self.usage, self.model);
        Input::Settled { replicate, attempt, outcome, tokens, model }
    }
}

/// What the checks say against a text; of one that the core refuses, the core says why.
fn checked(text: &str, checks: &[Check]) -> Vec<String> {
    if checks.is_empty() {
        return Vec::new();
    }
    let Ok(data) = Json::parse(text.as_bytes(), limits::REPLICATE_BYTES) else { return Vec::new() };
    let data = data.into_owned();
    checks.iter().flat_map(|check| check(&data)).collect()
}
