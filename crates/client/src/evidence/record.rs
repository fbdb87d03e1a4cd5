//! Bundles once more: from their recordings, and from their compact form.

use serde::{Deserialize, Serialize};

use super::redact::{Redact, redacted};
use crate::error::Error;
use crate::platform::{MaybeSend, MaybeSync};
use turnlock::Next;
use turnlock::evidence::{
    self, Bundle, BundleEvent, BundleOptions, Citations, Effect, Event, EvidenceBundle, Input,
    PatchOperation,
};
use turnlock::json::Json;
use turnlock::limits;

/// All that the core was told, in the form of the npm package. Holds data before redaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleRecording {
    version: u32,
    options: String,
    pub(super) facts: Vec<Fact>,
}

/// Milliseconds since the start, a fact as JSON, data of a replicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fact(pub(super) u64, pub(super) String, pub(super) Option<String>);

impl BundleRecording {
    pub(super) fn new(options: String) -> Self {
        Self { version: 1, options, facts: Vec::new() }
    }
}

/// What a recorded bundle said.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedBundle {
    /// Its events.
    pub events: Vec<Event>,
    /// The bundle.
    pub result: EvidenceBundle,
}

/// Says again what a recorded bundle said: the same events, the same bundle, and no replicate is
/// run. What was redacted then is shown; see [`replay_bundle_redacted`].
///
/// # Errors
/// `options.invalid` for what is no recording of a bundle that ended.
pub fn replay_bundle(recording: &BundleRecording) -> Result<ReplayedBundle, Error> {
    replay(recording, None)
}

/// As [`replay_bundle`], with the `redact` of then, to get what was shown then.
///
/// # Errors
/// As [`replay_bundle`].
pub fn replay_bundle_redacted(
    recording: &BundleRecording,
    redact: impl Fn(&str) -> String + MaybeSend + MaybeSync + 'static,
) -> Result<ReplayedBundle, Error> {
    let redact: Redact = std::sync::Arc::new(redact);
    replay(recording, Some(&redact))
}

fn replay(recording: &BundleRecording, redact: Option<&Redact>) -> Result<ReplayedBundle, Error> {
    if recording.version != 1 {
        return Err(Error::option("recording", "one of version 1"));
    }
    let mut bundle = Bundle::new(BundleOptions::parse(recording.options.as_bytes())?)?;
    let mut events: Vec<Event> = Vec::new();
    for Fact(at, input, data) in &recording.facts {
        let json = Json::parse_host(input.as_bytes(), limits::JSON_BYTES)
            .map_err(turnlock::Error::from)?;
        let data = data.clone().unwrap_or_default().into_bytes();
        bundle.handle(*at, Input::from_json(json.into_owned())?.with_data(data));
        while let Next::Effect(effect) = bundle.poll() {
            if let Effect::Emit(event) = effect {
                events.push(redacted(event, redact));
            }
        }
    }
    match events.last().map(|event| &event.kind) {
        Some(BundleEvent::BundleReady { bundle, .. }) => {
            let result = bundle.read().map_err(|why| Error::new("core.fault", why.to_string()))?;
            Ok(ReplayedBundle { events, result })
        }
        _ => Err(Error::option("recording", "one of a bundle that ended")),
    }
}

/// Checks which disagreements of a bundle a decision cites: by their `field`, as JSON Pointers that
/// stand by themselves in its text, such as `/price/net`. See [`cite`](turnlock::evidence::cite).
#[must_use]
pub fn cited_disagreements(text: &str, bundle: &EvidenceBundle) -> Citations {
    let fields = bundle.summary.disagreements.iter().map(|one| one.field.clone());
    evidence::cite(text, &fields.collect::<Vec<_>>())
}

/// A bundle with every replicate's data in full: what a compact one leaves to its deltas.
///
/// # Errors
/// `options.invalid` for a delta that does not fit its base.
pub fn expand_bundle(mut bundle: EvidenceBundle) -> Result<EvidenceBundle, Error> {
    let base = bundle.replicates.iter().find(|one| one.base).and_then(|one| one.data.clone());
    for one in &mut bundle.replicates {
        one.base = false;
        // A base that was left out leaves its deltas as they are.
        let Some(base) = &base else { continue };
        let Some(delta) = one.delta.take() else { continue };
        let patch = Json::Array(delta.iter().map(PatchOperation::to_json).collect());
        let wrong = || Error::option("delta", "a patch that fits its base");
        one.data = Some(evidence::apply(base, &patch).ok_or_else(wrong)?);
    }
    Ok(bundle)
}
