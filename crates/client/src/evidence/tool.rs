//! A bundle as a tool: the orchestrating model calls it, and reads all of the evidence at once.

use std::sync::Arc;

use futures::StreamExt;
use serde::Serialize;

use super::host::{launch, prepared};
use super::options::{Recorded, Replicates};
use super::run::RunningBundle;
use crate::error::Error;
use crate::guard::guarded;
use crate::tool::{Run, Tool, ToolContext, failed, text_of};
use turnlock::evidence::{BundleEvent, BundleLimits, BundleOptions, Event};
use turnlock::json::Json;
use turnlock::stream::Usage;
use turnlock::turn::Settled;

/// What the orchestrating model is told about bundles; ends the description of every bundle tool.
pub const BUNDLE_HINT: &str = "Use `replicates[]` as ground evidence; treat `summary` as statistics. If disagreements \
    exist, cite them by their `field` and justify your choice. Each replicate has an `id` \
    (`replicateIds` in disagreements). The one marked `base` has its `data` in full; the `delta` \
     of another is the JSON Patch that turns the base into it. `omitted` data was left \
    out for length; a text that ends with `… (n characters)` was cut; `counts` says how much is \
    shown.";

/// The most fields that the model reads.
///
/// Limit | fields of a bundle that is a tool | fields | the list is cut
const MAX_FIELDS: usize = 100;
/// The most differences that the model reads.
///
/// Limit | differences of a bundle that is a tool | entries | cut
const MAX_DIFFS: usize = 20;
/// The most bytes that the model reads.
///
/// Limit | a bundle that is a tool, without metadata | bytes | cut
const MAX_BYTES: usize = 32_768;

/// Under the 30 seconds that a tool has by default, so that it ends itself, with what there is.
///
/// Limit | a bundle that is a tool | s | it ends with what it has
const SECONDS: f64 = 25.0;

/// Milliseconds that a tool has beyond its bundle's.
///
/// Not a limit.
const GRACE_MS: f64 = 5_000.0;

/// Bytes that a result may have at least: the bundle keeps its own cap, which metadata and matrix
/// may exceed.
///
/// Not a limit.
const RESULT_BYTES: usize = 65_536;

/// A tool for `run_turn` whose result is one evidence bundle, in its compact form (replicates as
/// deltas, at most 100 fields, 20 disagreements and 32 KiB unless `limits` says otherwise, 25
/// seconds unless `budget` says otherwise). While it runs, its events are `tool_progress` events of
/// the turn; the model sees none of them.
///
/// `schema` is that of the arguments; the hint is added to the `description`. `settings` are those
/// of the bundle, whose task and source are the tool's name. The tool has five seconds more than
/// the bundle, unless [`Tool::timeout_ms`] says otherwise. Misuse is told when a turn begins with
/// it: `options.invalid`, `tool.invalid_schema`.
///
/// ```no_run
/// use serde::Deserialize;
/// use serde_json::json;
/// use turnlock_client::evidence::{Replicate, ReplicateError, Replicates, bundle_tool};
///
/// #[derive(Deserialize)]
/// struct Text { text: String }
///
/// let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
/// let replicates = Replicates::with_args(|Text { text }, context| async move {
///     let length = text.len() as i64 % context.seed;
///     Ok::<_, ReplicateError>(Replicate::new(json!({ "length": length })))
/// });
/// let judge = bundle_tool("judge", "Judges a text.", schema, replicates, |bundle| bundle.k(5));
/// ```
pub fn bundle_tool(
    name: impl Into<String>,
    description: impl Into<String>,
    schema: impl Serialize,
    replicates: Replicates,
    settings: impl FnOnce(BundleOptions) -> BundleOptions,
) -> Tool {
    let (name, description) = (name.into(), description.into());
    let options = settings(BundleOptions::new(name.as_str()).compact(true));
    let limits = visible_limits(options.limits.clone().unwrap_or_default());
    let budget = options.budget.clone().unwrap_or_default();
    let seconds = budget.seconds.unwrap_or(SECONDS);
    let most = limits.max_bytes.unwrap_or(MAX_BYTES);
    let options = options
        .source(Some(name.as_str().into()))
        .limits(Some(limits))
        .budget(Some(budget.seconds(Some(seconds))));
    // Misuse is told before a turn begins, not in the middle of it.
    let wrong = prepared(options.clone(), &replicates).err();
    let takes = replicates.takes;
    let recorded = replicates.recorded.clone();
    let run: Run = Arc::new(move |args, context| {
        let launched = launch(options.clone(), replicates.clone(), args);
        Box::pin(played(launched, recorded.clone(), context))
    });
    let described = if description.is_empty() {
        BUNDLE_HINT.to_owned()
    } else {
        format!("{description}\n\n{BUNDLE_HINT}")
    };
    let tool = Tool::of(name, described, &schema, run)
        .takes(takes)
        .timeout_ms(millis(seconds))
        .max_result_bytes(
            u64::try_from(RESULT_BYTES.max(most.saturating_mul(4))).unwrap_or(u64::MAX),
        );
    match wrong {
        Some(wrong) => tool.misused(wrong),
        None => tool,
    }
}

async fn played(
    launched: Result<RunningBundle, Error>,
    recorded: Option<Recorded>,
    context: ToolContext,
) -> Settled {
    let play = async {
        let mut running = launched?;
        while let Some(event) = running.next().await {
            if let BundleEvent::BundleReady { .. } = &event.kind {
                context.report_usage(used(&event));
            }
            (context.report)(progress(&event));
        }
        let control = running.control();
        let bundle = running.rendered().await?;
        if let (Some(recorded), Some(recording)) = (recorded, control.recording()) {
            let _ = guarded(|| recorded(recording));
        }
        Ok::<_, Error>(bundle)
    };
    match play.await {
        Ok(bundle) => text_of(bundle.into_json()),
        Err(error) => failed(&error.code, &error.message),
    }
}

/// The tokens of a bundle.
fn used(event: &Event) -> Usage {
    let event = event.to_json();
    let used = event.get("bundle").and_then(|bundle| bundle.get("meta")?.get("usage"));
    let tokens = |name| used.and_then(|used| used.get(name)?.as_u64());
    Usage {
        input_tokens: tokens("inputTokens"),
        output_tokens: tokens("outputTokens"),
        cached_input_tokens: tokens("cachedInputTokens"),
        cache_write_input_tokens: tokens("cacheWriteInputTokens"),
        reasoning_tokens: None,
    }
}

/// An event as text. The bundle itself is the tool's result; it need not travel twice.
fn progress(event: &Event) -> String {
    let BundleEvent::BundleReady { .. } = &event.kind else { return event.to_text() };
    let event = event.to_json();
    let meta = event.get("bundle").and_then(|bundle| bundle.get("meta"));
    let members = ["stopped", "usage", "cost"];
    let members = members.map(|name| {
        let value = meta.and_then(|meta| meta.get(name));
        (name.into(), value.cloned().unwrap_or_default())
    });
    let rest = event.as_object().unwrap_or_default().iter();
    let rest = rest.filter(|(name, _)| name != "bundle").cloned();
    Json::Object(rest.chain(members).collect()).to_text()
}

/// Adds the caps that are lacking.
fn visible_limits(limits: BundleLimits) -> BundleLimits {
    let (fields, diffs) =
        (limits.max_fields.or(Some(MAX_FIELDS)), limits.max_diffs.or(Some(MAX_DIFFS)));
    let bytes = limits.max_bytes.or(Some(MAX_BYTES));
    limits.max_fields(fields).max_diffs(diffs).max_bytes(bytes)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0 + GRACE_MS) as u64
}
