//! What the host brings to a bundle beside its options: what makes replicates, how they are checked,
//! what of them may be seen.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::record::BundleRecording;
use super::redact::Redact;
use super::replicate::{Replicate, ReplicateContext, ReplicateError};
use crate::guard::{called, guarded};
use crate::platform::{BoxFuture, Dyn, MaybeSend, MaybeSync};
use crate::tool::readable;
use turnlock::json::Json;

/// What an attempt comes to; the host's code is guarded in it.
pub(super) type Attempt = BoxFuture<'static, Result<Replicate, ReplicateError>>;
pub(super) type Run = Arc<Dyn![Fn(ReplicateContext) -> Attempt]>;
/// Returns the errors of a replicate's data.
pub(super) type Check = Arc<Dyn![Fn(&Json<'static>) -> Vec<String>]>;

/// What makes the replicates of a bundle, how their data is checked, and what of it may be seen.
#[derive(Clone)]
pub struct Replicates {
    pub(super) run: Run,
    /// Checks the arguments of a [`bundle_tool`](super::bundle_tool).
    pub(super) takes: fn(&Json<'static>) -> Result<(), String>,
    pub(super) checks: Vec<Check>,
    pub(super) redact: Option<Redact>,
    pub(super) record: bool,
    pub(super) recorded: Option<Recorded>,
}

/// Receives the recording of a call's bundle.
pub(super) type Recorded = Arc<Dyn![Fn(BundleRecording)]>;

impl fmt::Debug for Replicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replicates")
    }
}

impl Replicates {
    /// Replicates that are each run by an async closure. An error of the closure, a panic, and data
    /// without a JSON form are evidence: an invalid replicate. The future is dropped when its
    /// replicate is cancelled.
    pub fn new<F, Fut, E>(replicate: F) -> Self
    where
        F: Fn(ReplicateContext) -> Fut + MaybeSend + MaybeSync + 'static,
        Fut: Future<Output = Result<Replicate, E>> + MaybeSend + 'static,
        E: Into<ReplicateError> + 'static,
    {
        let replicate = Arc::new(replicate);
        let run: Run = Arc::new(move |context| {
            let replicate = replicate.clone();
            attempt(move || replicate(context))
        });
        let (takes, checks) = (readable::<serde::de::IgnoredAny>, Vec::new());
        Self { run, takes, checks, redact: None, record: false, recorded: None }
    }

    /// As [`Replicates::new`], for a [`bundle_tool`](super::bundle_tool): the closure also gets the
    /// arguments of the call. The tool refuses arguments that cannot be read as `A`.
    pub fn with_args<A, F, Fut, E>(replicate: F) -> Self
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, ReplicateContext) -> Fut + MaybeSend + MaybeSync + 'static,
        Fut: Future<Output = Result<Replicate, E>> + MaybeSend + 'static,
        E: Into<ReplicateError> + 'static,
    {
        let replicate = Arc::new(replicate);
        let of_context = move |context: ReplicateContext| {
            let replicate = replicate.clone();
            async move {
                let args: A = context.args.to().map_err(ReplicateError::from)?;
                replicate(args, context).await.map_err(Into::into)
            }
        };
        Self { takes: readable::<A>, ..Self::new::<_, _, ReplicateError>(of_context) }
    }

    /// Replicates whose data cannot be read as `T` are invalid.
    #[must_use]
    pub fn typed<T: DeserializeOwned>(self) -> Self {
        self.check(|_: T| Ok(()))
    }

    /// A check of a replicate's data. An error of it, a panic, and data that cannot be read as `T`
    /// make the replicate invalid.
    #[must_use]
    pub fn check<T: DeserializeOwned>(
        mut self,
        check: impl Fn(T) -> Result<(), String> + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.checks.push(Arc::new(move |data| {
            let read = || check(data.to::<T>().map_err(|error| error.to_string())?);
            guarded(read).unwrap_or_else(Err).err().into_iter().collect()
        }));
        self
    }

    /// Called with every text of replicates before an event or the bundle leaves, names of members
    /// included; returns what may be shown. Where it panics, the text is replaced. With
    /// `limits.max_bytes`, it is called with a text of more than 256 bytes before it is compared, too:
    /// the bundle may have a part of it.
    #[must_use]
    pub fn redact(
        mut self,
        redact: impl Fn(&str) -> String + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// Keeps what [`replay_bundle`](super::replay_bundle) needs; see
    /// [`BundleControl::recording`](super::BundleControl::recording). It holds the data before
    /// redaction.
    #[must_use]
    pub fn record(mut self) -> Self {
        self.record = true;
        self
    }
}

impl Replicates {
    /// For a [`bundle_tool`](super::bundle_tool): receives the recording of each call's bundle when
    /// it has ended, with data before redaction. A panic of it is ignored.
    #[must_use]
    pub fn on_recording(
        mut self,
        recorded: impl Fn(BundleRecording) + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.recorded = Some(Arc::new(recorded));
        self.record()
    }
}

/// An attempt of the host's: its panics, in making it, in running it and in wording its error, are
/// its errors.
pub(super) fn attempt<F, Fut, E>(make: F) -> Attempt
where
    F: FnOnce() -> Fut + MaybeSend + 'static,
    Fut: Future<Output = Result<Replicate, E>> + MaybeSend + 'static,
    E: Into<ReplicateError> + 'static,
{
    Box::pin(async move {
        match called(make).await {
            Ok(Ok(replicate)) => Ok(replicate),
            Ok(Err(error)) => Err(guarded(|| error.into()).unwrap_or_else(ReplicateError::new)),
            Err(panicked) => Err(ReplicateError::new(panicked)),
        }
    })
}
