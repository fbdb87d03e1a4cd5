//! What [`run_bundle`](super::run_bundle) takes.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::redact::Redact;
use super::replicate::{Replicate, ReplicateContext, ReplicateError};
use super::strict::strict_text;
use crate::error::Error;
use crate::guard::{called, guarded};
use crate::platform::{BoxFuture, Dyn, MaybeSend, MaybeSync};
use crate::schema::Validator;
use turnlock::bundle::{self, Bundle, BundleBudget, BundleLimits, Price, ReplicateLimits, Stop};
use turnlock::json::Json;
use turnlock::limits;

/// What an attempt comes to; the host's code is guarded in it.
pub(super) type Attempt = BoxFuture<'static, Result<Replicate, ReplicateError>>;
pub(super) type Run = Arc<Dyn![Fn(ReplicateContext) -> Attempt]>;
/// What speaks against a replicate, in words.
pub(super) type Check = Arc<Dyn![Fn(&Json<'static>) -> Vec<String>]>;

/// Things that a schema says against one replicate, at most; the core's own cap.
const ERRORS: usize = 20;

/// The settings of a bundle. What is not said has the core's default.
#[derive(Clone)]
pub struct BundleOptions {
    /// The core's options.
    pub(super) own: bundle::BundleOptions,
    wrong: Option<Error>,
    run: Run,
    checks: Vec<Check>,
    pub(super) redact: Option<Redact>,
    pub(super) record: bool,
}

impl fmt::Debug for BundleOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleOptions").field("own", &self.own).finish_non_exhaustive()
    }
}

/// What can be run.
pub(super) struct Prepared {
    /// The core's options, as they are recorded.
    pub(super) text: String,
    pub(super) bundle: Bundle,
    pub(super) run: Run,
    pub(super) checks: Arc<[Check]>,
    pub(super) redact: Option<Redact>,
    pub(super) record: bool,
}

impl BundleOptions {
    /// Replicates of a task, each run by an async closure. What the closure fails with, in its own
    /// words, a panic, and data that has no JSON are evidence: an invalid replicate. Its future is
    /// dropped when nobody waits any longer.
    pub fn new<F, Fut, E>(task: impl Into<String>, replicate: F) -> Self
    where
        F: Fn(ReplicateContext) -> Fut + MaybeSend + MaybeSync + 'static,
        Fut: Future<Output = Result<Replicate, E>> + MaybeSend + 'static,
        E: Into<ReplicateError> + 'static,
    {
        let replicate = Arc::new(replicate);
        Self::of(task, move |context| {
            let replicate = replicate.clone();
            attempt(move || replicate(context))
        })
    }

    /// As [`BundleOptions::new`], with attempts that are guarded already.
    pub(super) fn of(
        task: impl Into<String>,
        run: impl Fn(ReplicateContext) -> Attempt + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        Self {
            own: bundle::BundleOptions::new(task.into()),
            wrong: None,
            run: Arc::new(run),
            checks: Vec::new(),
            redact: None,
            record: false,
        }
    }

    /// With other replicates.
    pub(super) fn running(mut self, run: Run) -> Self {
        self.run = run;
        self
    }

    /// With other options of the core.
    pub(super) fn with(
        mut self,
        own: impl FnOnce(bundle::BundleOptions) -> bundle::BundleOptions,
    ) -> Self {
        self.own = own(self.own);
        self
    }

    /// What the replicates are about.
    #[must_use]
    pub fn task(self, task: impl Into<String>) -> Self {
        self.with(|own| own.task(task.into().into()))
    }

    /// Replicates at most, 1 to 128. Default 3.
    #[must_use]
    pub fn k(self, replicates: usize) -> Self {
        self.with(|own| own.k(replicates))
    }

    /// Mean distance up to which replicates agree, 0 to 1. Default 0.2.
    #[must_use]
    pub fn epsilon(self, distance: f64) -> Self {
        self.with(|own| own.epsilon(distance))
    }

    /// Fields, as JSON Pointers, that must be of one class before it stops early. Default none.
    #[must_use]
    pub fn must_agree<T: Into<String>>(self, fields: impl IntoIterator<Item = T>) -> Self {
        self.with(|own| own.must_agree(texts(fields)))
    }

    /// When it is enough. Default [`Stop::Agreement`].
    #[must_use]
    pub fn stop(self, rule: Stop) -> Self {
        self.with(|own| own.stop(rule))
    }

    /// All different; further ones count on from the largest. Default 11, 23, 47.
    #[must_use]
    pub fn seeds(self, seeds: impl IntoIterator<Item = i64>) -> Self {
        self.with(|own| own.seeds(seeds.into_iter().collect()))
    }

    /// Replicates started at once. Default 2; with [`Stop::Never`], all.
    #[must_use]
    pub fn parallel(self, replicates: usize) -> Self {
        self.with(|own| own.parallel(Some(replicates)))
    }

    /// Replicates running at the same time; the rest wait. Default 6, what edge runtimes allow.
    #[must_use]
    pub fn concurrency(self, replicates: usize) -> Self {
        self.with(|own| own.concurrency(replicates))
    }

    /// Further attempts at a replicate that failed or is invalid. Default 0.
    #[must_use]
    pub fn retries(self, attempts: u32) -> Self {
        self.with(|own| own.retries(attempts))
    }

    /// JSON Schema with `x-compare`, `x-range`, `x-weight`, `x-key`, `ignore`, by which replicates
    /// are compared; with the feature `jsonschema` they are checked against it as well.
    #[must_use]
    pub fn schema(mut self, schema: impl Serialize) -> Self {
        let read = strict_text(&schema).and_then(|text| {
            let json = Json::parse_lossy(text.as_bytes(), limits::BUNDLE_BYTES);
            Ok(json.map_err(turnlock::Error::from)?.into_owned())
        });
        match read {
            Ok(schema) => return self.with(|own| own.schema(Some(schema))),
            Err(error) => {
                let why = format!("`schema`: {}", error.message);
                self.wrong.get_or_insert_with(|| Error::new("options.invalid", why));
            }
        }
        self
    }

    /// Where the schema is, for `meta`.
    #[must_use]
    pub fn schema_uri(self, uri: impl Into<String>) -> Self {
        self.with(|own| own.schema_uri(Some(uri.into())))
    }

    /// Which schema it is, for `meta`.
    #[must_use]
    pub fn schema_version(self, version: impl Into<String>) -> Self {
        self.with(|own| own.schema_version(Some(version.into())))
    }

    /// Whether a member that is `null` counts as absent. Default not.
    #[must_use]
    pub fn null_is_missing(self, missing: bool) -> Self {
        self.with(|own| own.null_is_missing(missing))
    }

    /// One for each of the `k` replicates; gives `confidence_weighted`.
    #[must_use]
    pub fn weights(self, weights: impl IntoIterator<Item = f64>) -> Self {
        self.with(|own| own.weights(Some(weights.into_iter().collect())))
    }

    /// Caps on what is shown. Default none.
    #[must_use]
    pub fn limits(self, limits: BundleLimits) -> Self {
        self.with(|own| own.limits(Some(limits)))
    }

    /// Ceilings of one replicate. Default none.
    #[must_use]
    pub fn per_replicate(self, limits: ReplicateLimits) -> Self {
        self.with(|own| own.per_replicate(Some(limits)))
    }

    /// Ceilings of all replicates together. Default none.
    #[must_use]
    pub fn budget(self, budget: BundleBudget) -> Self {
        self.with(|own| own.budget(Some(budget)))
    }

    /// By name of the model; `*` stands for every other.
    #[must_use]
    pub fn prices<T: Into<String>>(self, prices: impl IntoIterator<Item = (T, Price)>) -> Self {
        let prices = prices.into_iter().map(|(model, price)| (model.into(), price));
        let sorted: std::collections::BTreeMap<String, Price> = prices.collect();
        self.with(|own| own.prices(Some(sorted.into_iter().collect())))
    }

    /// JSON Pointers of members to show; all are computed with. Default everything.
    #[must_use]
    pub fn fields<T: Into<String>>(self, fields: impl IntoIterator<Item = T>) -> Self {
        self.with(|own| own.fields(Some(texts(fields))))
    }

    /// `provider:model@version`, for `meta` and prices.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        self.with(|own| own.model(Some(model.into())))
    }

    /// `metadata.source` of every event. Default the task.
    #[must_use]
    pub fn source(self, source: impl Into<String>) -> Self {
        self.with(|own| own.source(Some(source.into().into())))
    }

    /// Replicates as deltas, numbers with six decimals. Default not; of a
    /// [`bundle_tool`](super::bundle_tool) it is.
    #[must_use]
    pub fn compact(self, compact: bool) -> Self {
        self.with(|own| own.compact(compact))
    }

    /// Gets every text of replicates before an event or the bundle leaves, names of members
    /// included, and gives back what may be shown. A panic of it lets nothing through.
    #[must_use]
    pub fn redact(
        mut self,
        redact: impl Fn(&str) -> String + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// Replicates whose data cannot be read as `T` are invalid.
    #[must_use]
    pub fn typed<T: DeserializeOwned>(self) -> Self {
        self.check(|_: T| Ok(()))
    }

    /// A check of a replicate's data; what it says, and that the data cannot be read as `T`, makes
    /// the replicate invalid. Its panic does so, too.
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

    /// Keeps what [`replay_bundle`](super::replay_bundle) needs, replicates' data as they came:
    /// before redaction.
    #[must_use]
    pub fn record(mut self) -> Self {
        self.record = true;
        self
    }

    /// The bundle as the core makes it.
    ///
    /// # Errors
    /// `options.invalid` with the option in its message.
    pub(super) fn prepare(self) -> Result<Prepared, Error> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let schema = self.own.schema.as_ref();
        let validator = schema.map_or(Ok(None), Validator::of);
        let text = self.own.to_json().to_text();
        let bundle = Bundle::new(self.own)?;
        let validator = validator
            .map_err(|why| Error::new("options.invalid", format!("`schema`: {why}")))?
            .map(|schema| {
                Arc::new(move |data: &Json<'static>| schema.errors(data, ERRORS)) as Check
            });
        // The schema's words are better than serde's: they come first.
        let checks = validator.into_iter().chain(self.checks).collect();
        let Self { run, redact, record, .. } = self;
        Ok(Prepared { text, bundle, run, checks, redact, record })
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

fn texts<T: Into<String>>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    all.into_iter().map(Into::into).collect()
}
