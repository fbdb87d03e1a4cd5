//! The tool-request pass.

mod audit;
mod options;
mod redact;
mod result;

use std::any::Any;
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use futures::channel::oneshot;
use serde::de::DeserializeOwned;

use crate::drive::{Inputs, drive};
use crate::effects::{Asked, OnTrace, UnderWay};
use crate::error::Error;
use crate::feed::Feed;
use crate::guard::{called, guarded};
use crate::platform::MaybeSend;
use crate::running::{Running, stream_of_events};
use options::OnRecord;
use redact::Redact;
use result::{Ended, ended};
use turnlock::planning::{Pass, PassEvent};
use turnlock::turn::Input;

pub use audit::{
    AuditedCall, AuditedInference, PlanAudit, RunAudit, audit_tool_use, inventory_tools,
};
pub use options::PassOptions;
pub use result::{PassError, Planned};

/// Asks a planner in two passes: what read-only data it needs, then, with the results, for the
/// plan. Whatever goes wrong before the plan pass, a tool, a request, the model itself, is recorded,
/// and the plan is made without it.
///
/// It runs by itself; reading its events is optional. Dropping it
/// cancels it.
///
/// ```no_run
/// use futures::StreamExt;
/// use serde::Deserialize;
/// use serde_json::{Value, json};
/// use turnlock_client::{Model, PassError, PassOptions, Tool, run_planning};
///
/// #[derive(Deserialize)]
/// struct Plan { action: String }
///
/// # async fn page() -> Result<(), PassError> {
/// let quote = Tool::new("quote", "The price of a symbol", json!({ "type": "object" }),
///     |_: Value, _| async move { Ok::<_, String>(json!({ "price": 42 })) })
/// .read_only();
/// let input = json!({ "symbol": "BTC", "global_context": { "regime": "calm" } });
/// let options = PassOptions::new(Model::openai_chat("/api/v1", "gpt-5-mini"), input).tool(quote);
/// let mut pass = run_planning(options)?;
/// while let Some(event) = pass.next().await {
///     println!("{} ms: {:?}", event.at_ms, event.kind);
/// }
/// let planned = pass.result_as::<Plan>().await?;
/// println!("{}, after {} calls", planned.plan.action, planned.pass.calls.len());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Misuse: `options.invalid`, `tool.invalid_name`, `tool.invalid_schema`, `json.*`. Everything else
/// is in the result.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn run_planning(options: PassOptions) -> Result<RunningPass, Error> {
    let begun = options.begin()?;
    let (settle, result) = oneshot::channel();
    let mut running = Running::<Pass, PassEvent>::new();
    let inputs = running.inputs.clone();
    let request_host = Asked {
        fallbacks: Vec::new(),
        model: Some(begun.model),
        tools: begun.tools.into(),
        store: None,
        request_id: begun.run_id.into(),
        project_id: None,
        conversation_id: None,
        events: Feed::new(),
        on_trace: Some(show(running.events.clone(), begun.redact, begun.most_reason)),
        answer: None,
        inputs: inputs.clone(),
        under_way: UnderWay::default(),
    };
    running.spawn(async move {
        // Behind whatever the host has said by now: a pass that is cancelled at once asks nobody.
        inputs.tell(Input::Start);
        let mut done = drive(begun.machine, request_host, inputs).await;
        done.cut(begun.most_reason);
        let mut ended = ended(done, begun.input, begun.plan_schema.as_ref());
        keep(&mut ended, begun.on_record.as_ref(), begun.in_result);
        let _ = settle.send(ended);
    });
    Ok(RunningPass { running, result })
}

fn show(events: Feed<PassEvent>, redact: Option<Redact>, most: u64) -> OnTrace<PassEvent> {
    Arc::new(move |event: &PassEvent| {
        let mut event = event.clone();
        if let Some(redact) = &redact {
            redact::redact(&mut event, redact);
            event.cut(most);
        }
        events.push(event);
    })
}

/// Hands the recorded results to whoever asked for them.
fn keep(ended: &mut Ended, on_record: Option<&OnRecord>, in_result: bool) {
    let recorded = match ended {
        Ok(planned) => &mut planned.pass.recorded,
        Err(error) => match &mut error.pass {
            Some(pass) => &mut pass.recorded,
            None => return,
        },
    };
    for call in recorded.iter().filter(|_| on_record.is_some()) {
        let call = call.clone();
        // A recorder that panics must not cost the plan.
        drop(guarded(|| on_record.map(|record| record(call))));
    }
    if !in_result {
        recorded.clear();
    }
}

/// A pass under way: a stream of its trace events. Dropping it before its end cancels the pass: the
/// request is aborted, tools are dropped.
#[derive(Debug)]
pub struct RunningPass {
    running: Running<Pass, PassEvent>,
    result: oneshot::Receiver<Ended>,
}

/// Stops a pass from elsewhere. It does not keep the pass alive.
#[derive(Debug, Clone)]
pub struct PassControl(Inputs<Input>);

impl PassControl {
    /// Ends the pass with `request.cancelled`.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.0.tell(Input::Cancel { reason: reason.into() });
    }
}

impl RunningPass {
    /// Ends the pass with `request.cancelled`: the request is aborted, tools are dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.running.cancel(reason);
    }

    /// For whoever stops the pass while another reads it.
    #[must_use]
    pub fn control(&self) -> PassControl {
        PassControl(self.running.inputs.clone())
    }

    /// What the pass comes to, its plan as JSON. Events that were not read are dropped.
    ///
    /// # Errors
    /// `model.*` where the plan pass failed; `plan.missing` where the model gave none;
    /// `plan.invalid` where it does not match [`PassOptions::plan_schema`]; `request.cancelled`.
    pub async fn result(self) -> Result<Planned, PassError> {
        self.result_as().await
    }

    /// As [`RunningPass::result`], with a plan of the host's own type. A text that is no JSON is
    /// read as a string.
    ///
    /// # Errors
    /// Those of [`RunningPass::result`]; `plan.invalid` for a plan of another form.
    pub async fn result_as<T: DeserializeOwned>(self) -> Result<Planned<T>, PassError> {
        let ended = self.ended().await?;
        let read = guarded(|| ended.plan.to::<T>().map_err(|error| error.to_string()));
        match read.unwrap_or_else(Err) {
            Ok(plan) => Ok(ended.with_plan(plan)),
            Err(why) => Err(ended.refused(&why)),
        }
    }

    /// As [`RunningPass::result`], with what `parse_plan` makes of the model's text, which is out
    /// of its fence if it was in one.
    ///
    /// # Errors
    /// Those of [`RunningPass::result`]; `plan.invalid` where `parse_plan` fails or panics. An
    /// [`Error`] or a [`PassError`] that it fails with is given back as it is.
    pub async fn result_with<T, E, F, Fut>(self, parse_plan: F) -> Result<Planned<T>, PassError>
    where
        T: 'static,
        E: Display + 'static,
        F: FnOnce(String) -> Fut,
        Fut: Future<Output = Result<T, E>> + MaybeSend + 'static,
    {
        let ended = self.ended().await?;
        let text = ended.pass.text.clone().unwrap_or_default();
        match called(|| parse_plan(text)).await {
            Ok(Ok(plan)) => Ok(ended.with_plan(plan)),
            Ok(Err(error)) => Err(own_error(&error).unwrap_or_else(|| {
                let words = guarded(|| error.to_string());
                ended.refused(&words.unwrap_or_else(|panicked| panicked))
            })),
            Err(panicked) => Err(ended.refused(&panicked)),
        }
    }

    async fn ended(mut self) -> Ended {
        self.running.events.leave();
        let ended = (&mut self.result).await;
        // Only a runtime that is being torn down drops a driver.
        ended.unwrap_or_else(|_| Err(Error::new("core.fault", "no answer").into()))
    }
}

/// An error with a code of its own.
fn own_error(error: &dyn Any) -> Option<PassError> {
    let pass = error.downcast_ref::<PassError>().cloned();
    pass.or_else(|| error.downcast_ref::<Error>().cloned().map(PassError::from))
}

stream_of_events!(RunningPass, PassEvent);
