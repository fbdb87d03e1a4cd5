//! Bundles once more: from their recordings, and from their compact form.

use serde::{Deserialize, Serialize};

use super::redact::{Redact, redacted};
use crate::error::Error;
use crate::platform::{MaybeSend, MaybeSync};
use turnlock::Next;
use turnlock::bundle::{
    self, Bundle, BundleEvent, BundleOptions, Effect, Event, EvidenceBundle, Input, PatchOperation,
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
        let json = Json::parse_lossy(input.as_bytes(), limits::JSON_BYTES)
            .map_err(turnlock::Error::from)?;
        let data = data.clone().unwrap_or_default().into_bytes();
        bundle.handle(*at, Input::from_json(&json, data)?);
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
        one.data = Some(bundle::apply(base, &patch).ok_or_else(wrong)?);
    }
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn recorded(options: &Value, replicates: &[Value]) -> BundleRecording {
        let mut recording = BundleRecording::new(options.to_string());
        recording.facts.push(Fact(0, r#"{"type":"start"}"#.to_owned(), None));
        for (at, data) in replicates.iter().enumerate() {
            // As the npm package writes it.
            let usage = json!({ "inputTokens": 3, "outputTokens": 4, "reasoningTokens": 1 });
            let errors: &[&str] = if data["bad"] == true { &["it is bad"] } else { &[] };
            let fact = json!({
                "type": "settled", "replicate": at, "attempt": 1, "usage": usage, "model": "m",
                "errors": errors,
            });
            recording.facts.push(Fact(at as u64 + 5, fact.to_string(), Some(data.to_string())));
        }
        let cancel = r#"{"type":"cancel","reason":"behind the end"}"#;
        recording.facts.push(Fact(99, cancel.to_owned(), None));
        recording
    }

    /// What the core says of a recording, as it writes it.
    fn said(recording: &BundleRecording) -> Vec<String> {
        let options = BundleOptions::parse(recording.options.as_bytes()).unwrap();
        let mut bundle = Bundle::new(options).unwrap();
        let mut said = Vec::new();
        for Fact(at, input, data) in &recording.facts {
            let json = Json::parse_str(input).unwrap();
            let data = data.clone().unwrap_or_default().into_bytes();
            bundle.handle(*at, Input::from_json(&json, data).unwrap());
            while let Next::Effect(effect) = bundle.poll() {
                if let Effect::Emit(event) = effect {
                    said.push(event.to_text());
                }
            }
        }
        said
    }

    fn canonical(text: &str) -> String {
        Json::parse_str(text).unwrap().to_canonical()
    }

    fn list(label: &str) -> Value {
        let item = |id: u32, label: &str| json!({ "id": id, "label": label });
        json!([item(1, label), item(2, "spam")])
    }

    #[test]
    fn types_lose_nothing() {
        let label = json!({ "enum": ["spam", "ham"] });
        let items = json!({
            "type": "array", "x-key": "id",
            "items": { "type": "object", "properties": { "label": label } },
        });
        let properties = json!({ "list": items, "n": { "type": "number" } });
        let long = "long ".repeat(200);
        // The doubles of these digits; a reader that is nearly right has their neighbours.
        let (n, m) = (31.245_270_191_439_438, 121.487_919_511_619_45);
        let data = [
            json!({ "list": list("spam"), "n": n, "x": null, "why": long }),
            json!({ "list": list("ham"), "n": m, "why": "short" }),
            json!({ "bad": true, "list": [], "n": -0.1 }),
            json!({ "list": list("ham"), "n": n, "x": [null, { "y": 7 }], "why": long }),
        ];
        let mut seen = Vec::new();
        for own in [
            json!({ "stop": "never", "schema": { "type": "object", "properties": properties } }),
            json!({ "compact": true, "weights": [1, 2, 0.5, 1], "must_agree": ["/n"] }),
            json!({ "limits": { "max_bytes": 2500, "max_diffs": 1 }, "model": "m" }),
            json!({ "schemaUri": "urn:x", "prices": { "m": { "input": 5, "output": 7 } },
                "perReplicate": { "seconds": 2.5 }, "budget": { "tokens": 900 }, "seeds": [-4] }),
            json!({ "prices": { "other": { "input": 5, "cached_input": 1, "output": 7 } },
                "fields": ["/n"], "null_is_missing": true, "stop": "majority_lock" }),
            json!({ "budget": { "tokens": 10 }, "parallel": 3 }),
            json!({ "perReplicate": { "tokens": 1, "seconds": 0.004 }, "retries": 1 }),
            json!({ "budget": { "seconds": 0.006 } }),
        ] {
            let mut options = json!({ "task": "t", "k": 4 });
            options.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            let recording = recorded(&options, &data);
            let Ok(replayed) = replay_bundle(&recording) else { panic!("{options}") };
            let said = said(&recording);
            assert_eq!(said.len(), replayed.events.len());
            for (text, event) in said.iter().zip(&replayed.events) {
                assert_eq!(&event.to_text(), text);
                assert_eq!(canonical(&serde_json::to_string(event).unwrap()), canonical(text));
            }
            let last = Json::parse_str(said.last().unwrap()).unwrap();
            let bundle = last.get("bundle").unwrap().to_canonical();
            assert_eq!(replayed.result.to_json().to_canonical(), bundle);
            let file = serde_json::to_string(&replayed.result).unwrap();
            assert_eq!(serde_json::from_str::<EvidenceBundle>(&file).unwrap(), replayed.result);
            let file = serde_json::to_string(&recording).unwrap();
            assert_eq!(serde_json::from_str::<BundleRecording>(&file).unwrap(), recording);
            seen.extend(said);
        }
        let seen = seen.concat();
        for part in [
            "replicate_retried",
            "model_without_price",
            "truncated\":true",
            "\"delta\"",
            "\"base\"",
            "\"omitted\"",
            "fleiss_kappa",
            "confidence_weighted",
            "\"missing\":true",
            "\"invalid\":true",
            "\"scope\":\"bundle\",\"seconds\"",
            "\"scope\":\"replicate\",\"reason\"",
            "no_valid_replicate",
            "\"data\":",
        ] {
            assert!(seen.contains(part), "nothing of {part}");
        }
    }

    #[test]
    fn members_that_nobody_knows_change_nothing() {
        let text = said(&recorded(&json!({ "task": "t", "k": 1 }), &[json!(null)])).pop().unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        let mut bundle = event["bundle"].clone();
        let known: EvidenceBundle = serde_json::from_value(bundle.clone()).unwrap();
        bundle["new"] = json!({ "a": 1 });
        for part in ["meta", "summary"] {
            bundle[part]["new"] = json!([1]);
        }
        bundle["replicates"][0]["new"] = json!(true);
        assert_eq!(serde_json::from_value::<EvidenceBundle>(bundle).unwrap(), known);
        // `null` is data.
        assert_eq!(known.replicates.first().unwrap().data, Some(Json::Null));
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let whole = recorded(&json!({ "task": "t", "k": 1 }), &[json!(1)]);
        assert!(replay_bundle(&whole).is_ok());
        let other = BundleRecording { version: 2, ..whole.clone() };
        let half = BundleRecording { facts: vec![], ..whole.clone() };
        let no_options = BundleRecording { options: "{}".to_owned(), ..whole.clone() };
        let no_fact = Fact(1, "{}".to_owned(), None);
        let strange = BundleRecording { facts: vec![no_fact], ..whole };
        for wrong in [other, half, no_options, strange] {
            assert_eq!(replay_bundle(&wrong).unwrap_err().code, "options.invalid");
        }
    }

    #[test]
    fn compact_bundles_expand() {
        let data = |n: u32| {
            let items: Vec<String> = (0..100).map(|at| format!("item {at}")).collect();
            json!({ "list": items, "n": n, "none": null })
        };
        let data = [data(1), data(2), data(3)];
        let options = json!({ "task": "t", "compact": true, "stop": "never" });
        let compact = replay_bundle(&recorded(&options, &data)).unwrap().result;
        assert_eq!(compact.replicates.iter().filter(|one| one.delta.is_some()).count(), 2);
        let whole = expand_bundle(compact.clone()).unwrap();
        let said = whole.replicates.iter().map(|one| Value::from(one.data.clone().unwrap()));
        assert_eq!(said.collect::<Vec<_>>(), data);
        assert_eq!(expand_bundle(whole.clone()).unwrap(), whole);
        let mut broken = compact;
        for one in &mut broken.replicates {
            let patch = Json::from(json!({ "op": "remove", "path": "/nowhere" }));
            one.delta = one.delta.take().map(|_| vec![PatchOperation::from_json(patch).unwrap()]);
        }
        assert_eq!(expand_bundle(broken).unwrap_err().code, "options.invalid");
    }
}
