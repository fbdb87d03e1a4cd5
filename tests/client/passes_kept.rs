//! What is kept of a pass: records and their replay, events and what is taken out of them, the
//! audit.

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::planning::{PassOutcome, Reason, Recorded};
use turnlock_client::planning::audit_tool_use;
use turnlock_client::{PassOptions, Tool, run_planning};

use crate::passes::{asks, events_of, reads, scripted, with};
use crate::platform::{Seen, test};

#[test]
async fn a_recorder_that_panics_costs_nothing() {
    let quote =
        vec![reads("quote", json!({ "b": 1, "a": [2.5, null] })), reads("other", Value::Null)];
    let texts = [&*asks(&[("quote", json!({ "s": 1 })), ("other", json!({}))]), "{\"plan\":1}"];
    let (options, _) = with(&texts, quote);
    let seen = Seen::new(Vec::new());
    let all = seen.clone();
    let options = options.plan_id("p").record_in_result().record(move |one| {
        all.lock().push(one);
        panic!("disk full");
    });
    let result = run_planning(options).unwrap().result().await.unwrap();
    assert_eq!(result.plan, json!({ "plan": 1 }));
    assert_eq!(*seen.lock(), result.pass.recorded);
    let mut first = serde_json::to_value(&seen.lock()[0]).unwrap();
    assert!(first["duration_ms"].is_u64());
    first.as_object_mut().unwrap().remove("duration_ms");
    let json = Json::parse_str("{\"s\":1}").unwrap();
    let signature = turnlock::Signature::new("quote", None, &json, None);
    let wanted = json!({
        "signature": signature.as_str(), "plan_id": "p", "tool_name": "quote",
        "params": { "s": 1 }, "status": "ok", "result": { "b": 1, "a": [2.5, null] },
        "truncated": false,
    });
    assert_eq!(first, wanted);
    // `null` is a result, here as well.
    let second = serde_json::to_string(&seen.lock()[1]).unwrap();
    assert!(second.contains("\"result\":null"), "{second}");
    let back: Recorded = serde_json::from_str(&second).unwrap();
    assert_eq!(back, seen.lock()[1]);
}

#[test]
async fn a_replay_uses_the_records_of_its_own_plan() {
    let signature = turnlock::Signature::of_text("quote", None, b"{}", None).unwrap();
    let entry = |plan: &str, result: u32| -> Recorded {
        let entry = json!({
            "signature": signature.as_str(), "plan_id": plan, "result": result,
            "status": "ok", "duration_ms": 9, "truncated": false,
        });
        serde_json::from_value(entry).unwrap()
    };
    let all =
        [entry("a", 1), entry("b", 2), entry("c", 3), entry("c", 4), entry("d", 5), entry("d", 5)];
    for (plan, wanted) in
        [("a", Ok(1)), ("b", Ok(2)), ("c", Err("different")), ("d", Ok(5_u64)), ("z", Err("other"))]
    {
        let calls = [("quote", json!({})), ("miss", json!({}))];
        let live = Tool::new("miss", "miss", json!({ "type": "object" }), |_: Value, _| async {
            panic!("a live call");
            #[allow(unreachable_code)]
            Ok::<(), String>(())
        });
        let tools = vec![reads("quote", json!(0)), live.read_only()];
        let (options, _) = with(&[&asks(&calls), "{}"], tools);
        let mut pass = run_planning(options.plan_id(plan).replay(all.clone())).unwrap();
        let mut events = Vec::new();
        while let Some(event) = pass.next().await {
            events.push(event);
        }
        let result = pass.result().await.unwrap();
        match (wanted, &result.pass.tool_results[0].outcome) {
            (Ok(wanted), result) => assert_eq!(result, &PassOutcome::Result(Json::integer(wanted))),
            (Err(why), PassOutcome::Error(error)) => {
                assert_eq!((&*error.code, error.message.contains(why)), ("replay.miss", true));
            }
            (Err(_), result) => panic!("{plan}: {result:?}"),
        }
        let replayed: Vec<_> = result.pass.calls.iter().map(|call| call.replayed).collect();
        assert_eq!(replayed, [wanted.is_ok(), false]);
        let PassOutcome::Error(error) = &result.pass.tool_results[1].outcome else { panic!() };
        assert_eq!(error.code, "replay.miss");
        let last = events.last().unwrap();
        let ms = if wanted.is_ok() { 9 } else { 0 };
        assert_eq!((last.at, &last.source), (ms, &None), "no source is guessed");
    }
}

/// Each bar of a backtest gets what was recorded of it, also without a plan's id.
#[test]
async fn a_recorded_pass_has_the_ids_of_its_replay() {
    let bars = [json!({ "bar": 1 }), json!({ "bar": 2 })];
    let mut recorded = Vec::new();
    let mut ids = Vec::new();
    for (price, bar) in bars.iter().enumerate() {
        let (model, _) = scripted(&[&asks(&[("quote", json!({}))]), "{}"]);
        let options = PassOptions::new(model, bar).tool(reads("quote", json!(price)));
        let result = run_planning(options.record_in_result()).unwrap().result().await.unwrap();
        ids.push((result.pass.plan_id, result.pass.run_id));
        recorded.extend(result.pass.recorded);
    }
    for (price, bar) in bars.iter().enumerate() {
        let (model, _) = scripted(&[&asks(&[("quote", json!({}))]), "{}"]);
        let options = PassOptions::new(model, bar).tool(reads("quote", json!("live")));
        let options = options.replay(recorded.clone()).strict(true);
        let result = run_planning(options).unwrap().result().await.unwrap();
        let price = PassOutcome::Result(Json::integer(price as u64));
        assert_eq!(result.pass.tool_results[0].outcome, price);
        assert!(ids.contains(&(result.pass.plan_id, result.pass.run_id)));
    }
}

const CANARY: &str = "sk-live-4f9a";

async fn traced(redact: Option<fn(&str) -> String>) -> String {
    let call = json!({ "key": CANARY, CANARY: [CANARY] });
    let reason = format!("use {CANARY}");
    let request =
        json!({ "tool_calls": [{ "tool_name": "quote", "params": call, "reason": reason }] });
    let quote = vec![reads("quote", json!({ CANARY: CANARY, "body": CANARY }))];
    let (options, _) = with(&[&request.to_string(), "{}"], quote);
    let options = match redact {
        Some(redact) => options.redact(redact),
        None => options,
    };
    let mut pass = run_planning(options).unwrap();
    let mut events = Vec::new();
    while let Some(event) = pass.next().await {
        events.push(event);
    }
    let result = pass.result().await.unwrap();
    let PassOutcome::Result(quoted) = &result.pass.tool_results[0].outcome else { panic!() };
    assert_eq!(quoted.get("body").unwrap(), &CANARY.into(), "the plan has the result as it is");
    assert_eq!(events.len(), 4);
    serde_json::to_string(&events).unwrap()
}

#[test]
async fn no_canary_reaches_the_events_and_where_redaction_panics_nothing_does() {
    let plain = traced(None).await;
    assert!(plain.contains(CANARY) && !plain.contains("\"body\":"), "{plain}");
    let redacted = traced(Some(|text| text.replace(CANARY, "[key]"))).await;
    assert!(!redacted.contains(CANARY) && redacted.contains("use [key]"), "{redacted}");
    assert!(redacted.contains("\"[key]\":[\"[key]\"]"), "{redacted}");
    let dropped = traced(Some(|_| panic!("on purpose"))).await;
    assert!(!dropped.contains(CANARY) && dropped.contains("[redaction failed]"), "{dropped}");
}

#[test]
async fn rejections_are_redacted() {
    // The name of an unknown member is the model's word.
    let request = json!({ "tool_calls": [], CANARY: 1 }).to_string();
    for (redact, found) in [(false, true), (true, false)] {
        let (options, _) = with(&[&request, "{}"], vec![]);
        let options =
            if redact { options.redact(|text| text.replace(CANARY, "[key]")) } else { options };
        let text = serde_json::to_string(&events_of(options).await).unwrap();
        assert_eq!(text.contains(CANARY), found, "{text}");
    }
}

#[test]
async fn the_audit_says_which_tool_when_why_and_with_what() {
    let mut kept = Vec::new();
    for plan in ["p1", "p2"] {
        let quote = ("quote", json!({ "s": "BTC" }));
        let calls = asks(&[quote.clone(), ("order", json!({})), quote]);
        let order = Tool::new("order", "order", json!({ "type": "object" }), |_: Value, _| async {
            Ok::<_, String>(1)
        });
        let tools = vec![reads("quote", json!({ "price": 42 })), order];
        let (options, _) = with(&[if plan == "p1" { &calls } else { "no" }, "{}"], tools);
        let options = options.plan_id(plan).run_id("r").source("nightly").started_at(5000);
        kept.extend(events_of(options).await);
    }
    let audit = audit_tool_use(&kept, "p1");
    assert_eq!((audit.run_id.as_deref(), audit.source.as_deref()), (Some("r"), Some("nightly")));
    assert!(audit.rejected.is_empty());
    let [used, blocked, again] = &audit.calls[..] else { panic!("{audit:?}") };
    assert_eq!(
        (&*used.tool_name, used.params.get("s"), &*used.reason),
        ("quote", Some(&"BTC".into()), "why")
    );
    assert_eq!(used.status, "ok");
    assert_eq!(used.result_summary.as_deref(), Some("object of 1 member (price), 12 bytes"));
    assert!(used.requested_at >= 5000 && used.settled_at.unwrap() >= used.requested_at);
    assert_eq!((blocked.status, blocked.refusal), ("blocked", Some(Reason::NotReadOnly)));
    assert_eq!((again.status, again.duration_ms), ("skipped", None));
    assert_eq!(audit.inferences.len(), 2);
    let second = audit_tool_use(&kept, "p2");
    assert_eq!((second.calls.len(), second.rejected[0].reason), (0, Reason::NoJson));
    assert_eq!(audit_tool_use(&kept, "p3").run_id, None);
}

#[test]
async fn the_audit_keeps_two_runs_of_one_plan_apart() {
    let mut kept = Vec::new();
    for (run, price) in [("r1", json!(1)), ("r2", json!("twenty"))] {
        let texts = [&*asks(&[("quote", json!({}))]), "{}"];
        let (options, _) = with(&texts, vec![reads("quote", price)]);
        kept.extend(events_of(options.plan_id("p").run_id(run).source(run)).await);
    }
    let (first, second) = kept.split_at(kept.len() / 2);
    let zipped: Vec<_> =
        first.iter().zip(second).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    let (one, two) = ("number, 1 byte", "text of 6 characters, 8 bytes");
    for events in [&kept, &zipped] {
        let audit = audit_tool_use(events, "p");
        let said: Vec<_> =
            audit.calls.iter().map(|call| call.result_summary.as_deref().unwrap()).collect();
        assert_eq!(said, [one, two]);
        assert_eq!((&audit.run_id, &audit.source, audit.inferences.len()), (&None, &None, 4));
        let run = audit.run("r2").unwrap();
        assert_eq!((run.calls.len(), run.calls[0].result_summary.as_deref()), (1, Some(two)));
        assert_eq!((audit.runs.len(), audit.run("r3")), (2, None));
    }
}
