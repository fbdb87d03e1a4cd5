//! Does what the machine of a bundle asks for: runs replicates, cancels them, waits. Decides
//! nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::AbortHandle;

use super::options::{Check, Prepared, Run};
use super::record::{BundleRecording, Fact};
use super::redact::{Redact, redacted};
use super::replicate::{Replicate, ReplicateContext, ReplicateError, tokens};
use crate::clock;
use crate::drive::{self, Facts, Host, Machine, Tasks, drive};
use crate::feed::Feed;
use crate::tool::Abort;
use turnlock::Next;
use turnlock::bundle::{Bundle, Effect, Input, Outcome};
use turnlock::json::Json;
use turnlock::limits;

/// What was told, if it is recorded.
pub(super) type Tape = Option<Rc<RefCell<BundleRecording>>>;

/// The core's machine, on a clock that begins with it: a recording says exactly what it was told.
pub(super) struct Told {
    bundle: Bundle,
    origin: u64,
    tape: Tape,
}

impl Told {
    pub(super) fn tell(&mut self, now_ms: u64, input: Input<'_>) {
        let at = now_ms.saturating_sub(self.origin);
        if let Some(tape) = &self.tape {
            let data = input.data().map(|data| String::from_utf8_lossy(data).into_owned());
            tape.borrow_mut().facts.push(Fact(at, input.to_json().to_text(), data));
        }
        self.bundle.handle(at, input);
    }
}

impl Machine for Told {
    type Effect = Effect;
    type Fact = drive::Told<Self>;

    fn take(&mut self, now_ms: u64, fact: drive::Told<Self>) {
        fact(self, now_ms);
    }

    fn poll(&mut self) -> Next<Effect> {
        let until = |due: u64| due.saturating_add(self.origin);
        match self.bundle.poll() {
            Some(effect) => Next::Effect(effect),
            None => Next::Wait { until: self.bundle.next_deadline().map(until) },
        }
    }

    fn due(&mut self, now_ms: u64) {
        self.tell(now_ms, Input::Timer);
    }
}

/// A bundle that is about to run, and what the host gets of it.
#[derive(Debug)]
pub(super) struct Launched {
    /// The events, redacted.
    pub(super) events: Feed<Json<'static>>,
    pub(super) facts: Facts<Told>,
    pub(super) tape: Tape,
    pub(super) result: oneshot::Receiver<Json<'static>>,
}

/// Beside it what runs it.
pub(super) fn launch(prepared: Prepared) -> (Launched, impl Future<Output = ()> + 'static) {
    let Prepared { text, bundle, run, checks, redact, record } = prepared;
    let (settle, result) = oneshot::channel();
    let tape = record.then(|| Rc::new(RefCell::new(BundleRecording::new(text))));
    let launched = Launched { events: Feed::new(), facts: Facts::new(), tape, result };
    let replicates = Replicates {
        run,
        checks,
        redact,
        events: launched.events.clone(),
        facts: launched.facts.clone(),
        running: BTreeMap::new(),
        ready: Json::Null,
    };
    let mut machine = Told { bundle, origin: clock::whole_now(), tape: launched.tape.clone() };
    let (events, facts) = (launched.events.clone(), launched.facts.clone());
    let running = async move {
        machine.tell(clock::whole_now(), Input::Start);
        let _ = settle.send(drive(machine, replicates, facts).await);
        events.end();
    };
    (launched, running)
}

struct Replicates {
    run: Run,
    checks: Rc<[Check]>,
    redact: Option<Redact>,
    events: Feed<Json<'static>>,
    facts: Facts<Told>,
    running: BTreeMap<usize, (AbortHandle, Abort)>,
    /// The bundle, as its event brought it.
    ready: Json<'static>,
}

impl Host<Told> for Replicates {
    /// The bundle.
    type End = Json<'static>;

    fn perform(&mut self, effect: Effect, tasks: &mut Tasks) -> Option<Json<'static>> {
        match effect {
            Effect::Emit(text) => self.show(&text),
            Effect::Run { replicate, seed, attempt } => {
                let abort = Abort::default();
                let attempt = self.attempt(replicate, seed, attempt, abort.clone());
                self.running.insert(replicate, (tasks.start(attempt), abort));
            }
            Effect::Cancel { replicate, reason } => {
                if let Some((handle, abort)) = self.running.remove(&replicate) {
                    abort.abort_because(reason);
                    handle.abort();
                }
            }
            Effect::Done => return Some(std::mem::take(&mut self.ready)),
        }
        None
    }
}

impl Replicates {
    fn show(&mut self, text: &str) {
        // The core's own, of its own size; what it writes, it reads.
        let Ok(event) = Json::parse_lossy(text.as_bytes(), usize::MAX) else { return };
        let event = redacted(event.into_owned(), self.redact.as_ref());
        if let Some(bundle) = event.get("bundle") {
            self.ready = bundle.clone();
        }
        self.events.push(event);
    }

    /// One attempt at a replicate, and what it comes to.
    fn attempt(
        &self,
        replicate: usize,
        seed: i64,
        attempt: u32,
        abort: Abort,
    ) -> impl Future<Output = ()> + use<> {
        let report = self.facts.clone();
        let context = ReplicateContext {
            id: format!("r{}", replicate + 1),
            seed,
            attempt,
            abort,
            report: Rc::new(move |usage| {
                let tokens = tokens(usage);
                report.tell(move |told, now| {
                    told.tell(now, Input::Usage { replicate, attempt, tokens });
                });
            }),
        };
        let (run, checks, facts) = (self.run.clone(), self.checks.clone(), self.facts.clone());
        async move {
            let settled = Settled::of(run(context).await, &checks);
            facts.tell(move |told, now| told.tell(now, settled.input(replicate, attempt)));
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

    fn input(&self, replicate: usize, attempt: u32) -> Input<'_> {
        let outcome = match &self.data {
            Ok((text, errors)) => Outcome::Data { json: text.as_bytes(), errors: errors.clone() },
            Err(message) => Outcome::Failed { message: message.clone() },
        };
        let (tokens, model) = (self.usage, self.model.as_deref());
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
