//! Recordings of bundles, as both drivers write them, and compact bundles.

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::evidence::{Bundle, BundleOptions, Effect, Input, PatchOperation};
use turnlock::json::Json;
use turnlock_client::TurnStatus;
use turnlock_client::evidence::{
    BundleRecording, EvidenceBundle, Replicate, ReplicateContext, ReplicateError, Replicates, Stop,
    bundle_tool, expand_bundle, replay_bundle,
};

use crate::callbacks::{any, outcome};
use crate::platform::{Seen, test};

/// A recording as the npm package writes it.
fn recorded(options: &Value, replicates: &[Value]) -> Value {
    let mut facts = vec![json!([0, r#"{"type":"start"}"#, null])];
    for (at, data) in replicates.iter().enumerate() {
        let usage = json!({ "inputTokens": 3, "outputTokens": 4, "reasoningTokens": 1 });
        let errors: &[&str] = if data["bad"] == true { &["it is bad"] } else { &[] };
        let fact = json!({
            "type": "settled", "replicate": at, "attempt": 1, "usage": usage, "model": "m",
            "errors": errors,
        });
        facts.push(json!([at + 5, fact.to_string(), data.to_string()]));
    }
    facts.push(json!([99, r#"{"type":"cancel","reason":"behind the end"}"#, null]));
    json!({ "version": 1, "options": options.to_string(), "facts": facts })
}

fn read(recording: &Value) -> BundleRecording {
    serde_json::from_value(recording.clone()).unwrap()
}

/// What the core says of a recording, as it writes it.
fn said(recording: &Value) -> Vec<String> {
    let options = recording["options"].as_str().unwrap();
    let options = BundleOptions::parse(options.as_bytes()).unwrap();
    let mut bundle = Bundle::new(options).unwrap();
    let mut said = Vec::new();
    for fact in recording["facts"].as_array().unwrap() {
        let json = Json::parse_str(fact[1].as_str().unwrap()).unwrap().into_owned();
        let data = fact[2].as_str().unwrap_or_default().as_bytes().to_vec();
        let input = Input::from_json(json).unwrap().with_data(data);
        bundle.handle(fact[0].as_u64().unwrap(), input);
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
async fn types_lose_nothing() {
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
        json!({ "compact": true, "weights": [1, 2, 0.5, 1], "mustAgree": ["/n"] }),
        json!({ "limits": { "maxBytes": 2500, "maxDiffs": 1 }, "model": "m" }),
        json!({ "schemaUri": "urn:x", "prices": { "m": { "input": 5, "output": 7 } },
            "perReplicate": { "seconds": 2.5 }, "budget": { "tokens": 900 }, "seeds": [-4] }),
        json!({ "prices": { "other": { "input": 5, "cachedInput": 1, "output": 7 } },
            "fields": ["/n"], "nullIsMissing": true, "stop": "majority_lock" }),
        json!({ "budget": { "tokens": 10 }, "parallel": 3 }),
        json!({ "perReplicate": { "tokens": 1, "seconds": 0.004 }, "retries": 1 }),
        json!({ "budget": { "seconds": 0.006 } }),
    ] {
        let mut options = json!({ "task": "t", "k": 4 });
        options.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let recording = recorded(&options, &data);
        let Ok(replayed) = replay_bundle(&read(&recording)) else { panic!("{options}") };
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
        assert_eq!(serde_json::to_value(read(&recording)).unwrap(), recording);
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
async fn members_that_nobody_knows_change_nothing() {
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
async fn what_is_no_recording_is_refused() {
    let whole = recorded(&json!({ "task": "t", "k": 1 }), &[json!(1)]);
    assert!(replay_bundle(&read(&whole)).is_ok());
    for (member, wrong) in [
        ("version", json!(2)),
        ("facts", json!([])),
        ("options", json!("{}")),
        ("facts", json!([[1, "{}", null]])),
    ] {
        let mut other = whole.clone();
        other[member] = wrong;
        assert_eq!(replay_bundle(&read(&other)).unwrap_err().code, "options.invalid");
    }
}

#[test]
async fn compact_bundles_expand() {
    let data = |n: u32| {
        let items: Vec<String> = (0..100).map(|at| format!("item {at}")).collect();
        json!({ "list": items, "n": n, "none": null })
    };
    let data = [data(1), data(2), data(3)];
    let options = json!({ "task": "t", "compact": true, "stop": "never" });
    let compact = replay_bundle(&read(&recorded(&options, &data))).unwrap().result;
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

#[test]
async fn a_bundle_tool_hands_out_the_recording_of_each_call() {
    let recordings = Seen::new(Vec::new());
    let kept = recordings.clone();
    let replicates = Replicates::new(|context: ReplicateContext| async move {
        Ok::<_, ReplicateError>(Replicate::new(json!({ "of": context.id })))
    });
    let replicates = replicates.on_recording(move |recording| {
        kept.lock().push(recording);
        panic!("a panic of it is ignored");
    });
    let judge = bundle_tool("tool", "", any(), replicates, |bundle| bundle.stop(Stop::Never));
    let result = outcome(judge).await;
    assert_eq!(result.status, TurnStatus::Complete, "{result:?}");
    let recordings = recordings.lock();
    let [recording] = recordings.as_slice() else { panic!("{recordings:?}") };
    let replayed = replay_bundle(recording).unwrap().result;
    let said = replayed.replicates.iter().map(|one| Value::from(one.data.clone().unwrap()));
    let want = ["r1", "r2", "r3"].map(|id| json!({ "of": id }));
    assert_eq!(said.collect::<Vec<_>>(), want);
}
