//! A bundle under way.

use std::ops::Deref;

use futures::channel::oneshot;

use super::host::{Tape, Told, launch};
use super::options::Replicates;
use super::record::BundleRecording;
use crate::drive::{Inputs, Machine};
use crate::error::Error;
use crate::running::{Running, stream_of_events};
use turnlock::evidence::{BundleOptions, Event, EvidenceBundle, Rendered};
use turnlock::json::Json;

/// Runs replicates until they agree, all have run, or a budget is spent.
///
/// Two start at once; a third runs only when they differ (or one is invalid). They run side by
/// side; reading the events is optional. Dropping it cancels it. With the feature `jsonschema`,
/// replicates are also checked against the `schema` of the options.
///
/// ```no_run
/// use futures::StreamExt;
/// use serde_json::json;
/// use turnlock_client::evidence::{
///     BundleOptions, ModelReplicateOptions, Replicates, replicate_by_model, run_bundle,
/// };
/// use turnlock_client::{Error, Model};
///
/// # async fn page() -> Result<(), Error> {
/// let model = Model::openai_chat("/api/v1", "gpt-5-mini");
/// let judge = ModelReplicateOptions::new(model, "Is this spam? Answer as {\"spam\": …}: {{text}}")
///     .input(json!({ "text": "You have won a causeway." }));
/// let options = BundleOptions::new("spam").k(5).must_agree(vec!["/spam".to_owned()].into());
/// let mut running = run_bundle(options, Replicates::new(replicate_by_model(judge)?))?;
/// while let Some(event) = running.next().await {
///     println!("{:?}", event.kind);
/// }
/// let bundle = running.result().await?;
/// println!("{:?} {:?}", bundle.summary.consensus, bundle.summary.confidence);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Misuse: `options.invalid` with the option in its message, before anything is started.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn run_bundle(options: BundleOptions, replicates: Replicates) -> Result<RunningBundle, Error> {
    launch(options, replicates, Json::Null)
}

/// A bundle under way: a stream of its events, `bundle_ready` the last. It derefs to its
/// [`BundleControl`]. Dropping it before its end cancels it: the replicates are dropped, and their
/// connections close.
#[derive(Debug)]
pub struct RunningBundle {
    /// The events, redacted.
    pub(super) running: Running<Told, Event>,
    pub(super) control: BundleControl,
    pub(super) result: oneshot::Receiver<Option<Rendered<EvidenceBundle>>>,
}

/// Stops a bundle from elsewhere. It does not keep the bundle alive.
#[derive(Debug, Clone)]
pub struct BundleControl {
    pub(super) inputs: Inputs<<Told as Machine>::Input>,
    pub(super) tape: Tape,
}

impl BundleControl {
    /// Ends the bundle with what there is; running replicates are dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.inputs.tell(Told::cancel(reason.into()));
    }

    /// With [`Replicates::record`]: what was told so far; complete when the bundle is over.
    #[must_use]
    pub fn recording(&self) -> Option<BundleRecording> {
        self.tape.as_ref().map(|tape| tape.lock().clone())
    }
}

impl Deref for RunningBundle {
    type Target = BundleControl;

    fn deref(&self) -> &BundleControl {
        &self.control
    }
}

impl RunningBundle {
    /// For a task that stops the bundle while another reads it.
    #[must_use]
    pub fn control(&self) -> BundleControl {
        self.control.clone()
    }

    /// The bundle, whatever became of the replicates. Events that were not read are dropped.
    ///
    /// # Errors
    /// `core.fault` only: a runtime that is being torn down.
    pub async fn result(self) -> Result<EvidenceBundle, Error> {
        let bundle = self.rendered().await?;
        bundle.read().map_err(|why| Error::new("core.fault", why.to_string()))
    }

    /// The bundle as the core wrote it.
    pub(super) async fn rendered(mut self) -> Result<Rendered<EvidenceBundle>, Error> {
        self.running.events.leave();
        let bundle = (&mut self.result).await;
        // Only a runtime that is being torn down drops a driver.
        bundle.ok().flatten().ok_or_else(|| Error::new("core.fault", "no answer"))
    }
}

stream_of_events!(RunningBundle, Event);
