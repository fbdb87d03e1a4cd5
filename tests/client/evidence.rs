//! Bundles of the host's own replicates: what the tables leave open.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::future::pending;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::stream::{Delta, FinishReason, Usage};
use turnlock_client::evidence::{
    BundleControl, BundleEvent, BundleLimits, BundleOptions, BundleStopReason, EvidenceBundle,
    ModelReplicateOptions, ReadAnswer, Replicate, ReplicateContext, ReplicateError,
    ReplicateLimits, ReplicateStatus, Replicates, Stop, bundle_tool, replay_bundle_redacted,
    replicate_by_model, replicate_by_turn, run_bundle,
};
use turnlock_client::{Model, TokenUsage, TurnOptions, run_turn};

use crate::bundles::model;
use crate::platform::{Seen, sleep, test};
use crate::site;

async fn ended(options: BundleOptions, replicates: Replicates) -> EvidenceBundle {
    run_bundle(options, replicates).unwrap().result().await.unwrap()
}

fn options() -> BundleOptions {
    BundleOptions::new("t")
}

fn number(context: &ReplicateContext) -> usize {
    context.id[1..].parse().unwrap()
}

/// Whose connection hangs, before and behind its head.
const HANGS: [&str; 2] = ["r2", "r3"];

fn hanging(session: &'static str) -> Replicates {
    Replicates::new(move |context| {
        let model = model(
            &format!("{session}-{}", context.id),
            "the host cancels",
            HANGS[number(&context) % 2],
        );
        replicate_by_model(ModelReplicateOptions::new(model, "go")).unwrap()(context)
    })
}

fn sessions(session: &str) -> Vec<String> {
    (1..=3).map(|at| format!("{session}-r{at}-{}", HANGS[at % 2])).collect()
}

#[test]
async fn dropping_a_bundle_closes_every_connection() {
    let mut running = run_bundle(options().stop(Stop::Never), hanging("rust-bundle-drop")).unwrap();
    assert!(running.next().await.is_some());
    for session in sessions("rust-bundle-drop") {
        site::asked(&session).await;
    }
    drop(running);
    for session in sessions("rust-bundle-drop") {
        site::closes(&session).await;
    }
}

#[test]
async fn cancelling_the_turn_closes_those_of_its_bundle() {
    let judge = bundle_tool(
        "judge",
        "",
        json!({ "type": "object" }),
        hanging("rust-bundle-turn"),
        |bundle| bundle.stop(Stop::Never),
    );
    let own = model("rust-bundle-turn", "a tool of a turn", "turn");
    let messages = json!([{ "role": "user", "content": "go" }]);
    let turn = run_turn(TurnOptions::new(own, messages).tool(judge)).unwrap();
    for session in sessions("rust-bundle-turn") {
        site::asked(&session).await;
    }
    turn.cancel("user");
    for session in sessions("rust-bundle-turn") {
        site::closes(&session).await;
    }
}

/// Its words and its JSON panic.
struct Hostile;

impl fmt::Display for Hostile {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl Serialize for Hostile {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("no JSON")
    }
}

#[test]
async fn what_gives_no_json_is_evidence_and_the_bundle_goes_on() {
    let said = [
        ("it panicked", ReplicateStatus::Error),
        ("it panicked", ReplicateStatus::Error),
        ("it panicked", ReplicateStatus::Error),
        ("it panicked", ReplicateStatus::Error),
        ("it panicked", ReplicateStatus::Invalid),
        ("json.not_serializable: the value has no JSON: NaN", ReplicateStatus::Error),
        ("json.not_serializable", ReplicateStatus::Error),
        ("json.too_deep", ReplicateStatus::Invalid),
        ("json.too_large", ReplicateStatus::Invalid),
        ("refused", ReplicateStatus::Error),
    ];
    let replicates = Replicates::new(|context: ReplicateContext| {
        let number = number(&context);
        assert!(number != 1, "in making it");
        async move {
            assert!(number != 2, "in running it");
            sleep(1).await;
            Ok(Replicate::new(match number {
                3 => return Ok(Replicate::new(Hostile)),
                4 => return Err(ReplicateError::from(Hostile)),
                6 => return Ok(Replicate::new([f64::NAN])),
                7 => return Ok(Replicate::new(std::collections::BTreeMap::from([((), 1)]))),
                8 => (0..200).fold(json!(1), |deep, _| json!([deep])),
                9 => json!("x".repeat(5_000_000)),
                10 => return Err(ReplicateError::new("refused")),
                _ => json!({ "a": number / 6 }),
            }))
        }
    });
    let replicates = replicates.check(|data: Value| {
        assert!(data["a"] != 0, "in checking it");
        Ok(())
    });
    let bundle = ended(options().k(12).stop(Stop::Never), replicates).await;
    for (at, (words, status)) in said.iter().enumerate() {
        let one = &bundle.replicates[at];
        assert!(one.quality.errors[0].starts_with(words), "{at}: {:?}", one.quality);
        assert_eq!(bundle.meta.per_replicate[at].status, *status, "{at}");
    }
    assert_eq!((bundle.summary.valid_count, bundle.summary.confidence), (2, Some(0.5)));
    assert_eq!(bundle.meta.stopped, BundleStopReason::Full);
}

#[derive(Deserialize)]
struct Labelled {
    n: i64,
}

#[test]
async fn data_that_does_not_fit_is_kept_with_what_speaks_against_it() {
    let replicates = || {
        Replicates::new(|context: ReplicateContext| async move {
            let n = if context.id == "r1" { json!("one") } else { json!(1) };
            Ok::<_, ReplicateError>(Replicate::new(json!({ "n": n })))
        })
    };
    let schema = json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let one = |one: Labelled| if one.n == 1 { Ok(()) } else { Err("n".to_owned()) };
    for (options, replicates) in [
        (options().schema(Some(schema.into())), replicates()),
        (options(), replicates().typed::<Labelled>()),
        (options(), replicates().check(one)),
    ] {
        let EvidenceBundle { replicates, summary, .. } = ended(options, replicates).await;
        assert_eq!(replicates[0].data, Some(json!({ "n": "one" }).into()));
        assert!(!replicates[0].quality.valid && !replicates[0].quality.errors.is_empty());
        assert_eq!(summary.consensus["/n"].as_u64(), Some(1));
        let last = summary.disagreements[0].values.last().unwrap();
        assert!(
            last.invalid && last.value.as_str() == Some("one") && last.replicates == [0],
            "{last:?}"
        );
    }
}

#[test]
async fn misuse_is_told_before_any_replicate_starts() {
    let replicates = || Replicates::new(|_| async { Ok::<_, ReplicateError>(Replicate::new(1)) });
    for (options, option) in [
        (options().k(0), "k"),
        (options().epsilon(f64::NAN), "epsilon"),
        (options().weights(Some(vec![0.0; 3])), "weights"),
        (options().seeds(vec![1, 1]), "seeds"),
        (options().schema(Some(json!(7).into())), "schema"),
        (options().schema(Some(json!({ "type": "nonsense" }).into())), "schema"),
        (options().must_agree(vec!["label".to_owned()].into()), "mustAgree"),
        (options().limits(Some(BundleLimits::default())).task("".into()), "task"),
        (
            options().per_replicate(Some(ReplicateLimits::default().tokens(Some(0)))),
            "perReplicate.tokens",
        ),
    ] {
        let error = run_bundle(options, replicates()).unwrap_err();
        let named = error.message.contains(&format!("`{option}`"));
        assert!(error.code == "options.invalid" && named, "{error}");
    }
    let asked = Model::openai_chat("", "m");
    assert!(replicate_by_model(ModelReplicateOptions::new(asked, "go")).is_err());
    let tool =
        bundle_tool("judge", "", json!({ "type": "object" }), replicates(), |bundle| bundle.k(0));
    let model = Model::openai_chat("/v1", "m");
    let error = run_turn(TurnOptions::new(model, json!([])).tool(tool)).unwrap_err();
    assert!(error.message.contains("`k`"), "{error}");
}

#[test]
async fn redaction_runs_before_anything_leaves() {
    let secret = |text: &str| text.contains("sk-");
    let redact = |text: &str| text.replace("sk-", "[key]");
    let replicates = || {
        Replicates::new(|context: ReplicateContext| async move {
            if context.id == "r3" {
                return Err("refused sk-12345");
            }
            let id = context.id;
            Ok(Replicate::new(json!({ "sk-name": format!("sk-{id}"), "tokens": ["sk-x"], "n": 1 })))
        })
    };
    let mut running = run_bundle(options(), replicates().redact(redact).record()).unwrap();
    let control = running.control();
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    assert!(!secret(&serde_json::to_string(&events).unwrap()));
    let bundle = running.result().await.unwrap();
    assert_eq!(
        bundle.replicates[0].data,
        Some(json!({ "[key]name": "[key]r1", "tokens": ["[key]x"], "n": 1 }).into())
    );
    // The numbers are those of the data as it came: the two texts differ.
    assert!(bundle.summary.confidence < Some(1.0));
    let recording = control.recording().unwrap();
    assert!(secret(&serde_json::to_string(&recording).unwrap()));
    let again = replay_bundle_redacted(&recording, redact).unwrap();
    assert_eq!((again.events, again.result), (events, bundle));
    let failing = ended(options(), replicates().redact(|_| panic!("no"))).await;
    let text = serde_json::to_string(&failing.replicates).unwrap();
    assert!(!secret(&text) && text.contains("[redaction failed]"), "{text}");
}

#[test]
async fn a_secret_that_a_cut_divides_is_redacted_whole() {
    let redact = |text: &str| text.replace("sk-abcdefab", "[key]");
    // Wherever the core cuts, a secret is there.
    let long = "sk-abcdefab ".repeat(200);
    let replicates = Replicates::new(move |context: ReplicateContext| {
        let (id, long) = (context.id, long.clone());
        async move {
            if id == "r3" {
                return Err(long);
            }
            Ok(Replicate::new(json!({ "text": long + &id })))
        }
    });
    let limits = BundleLimits::default().max_bytes(Some(4000));
    let options = options().stop(Stop::Never).limits(Some(limits));
    let mut running = run_bundle(options, replicates.redact(redact)).unwrap();
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    let text = serde_json::to_string(&events).unwrap();
    assert!(text.contains(" characters)"), "{text}");
    assert!(!text.contains("sk-") && !text.contains("abcdef"), "{text}");
}

#[test]
async fn the_reason_of_a_cancel_is_redacted_whole_by_a_redaction_that_cancels() {
    let control = Arc::new(Mutex::new(None::<BundleControl>));
    let inner = control.clone();
    let never = Replicates::new(|_: ReplicateContext| pending::<Result<Replicate, String>>());
    let replicates = never.redact(move |text| {
        if let Some(control) = inner.lock().unwrap().as_ref() {
            control.cancel("from inside ".repeat(100));
        }
        text.replace("sk-abcdefab", "[key]")
    });
    let mut running = run_bundle(options(), replicates).unwrap();
    *control.lock().unwrap() = Some(running.control());
    running.cancel("sk-abcdefab ".repeat(200));
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    let text = serde_json::to_string(&events).unwrap();
    assert!(text.contains("[key] [key]"), "{text}");
    assert!(!text.contains("sk-") && !text.contains("inside"), "{text}");
}

/// Says when it is dropped.
struct Dropped(Seen<bool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
async fn a_straggler_is_dropped() {
    let dropped = Seen::new(false);
    let gone = dropped.clone();
    let replicates = Replicates::new(move |context: ReplicateContext| {
        let gone = gone.clone();
        async move {
            if context.id != "r3" {
                return Ok::<_, ReplicateError>(Replicate::new(1));
            }
            let _gone = Dropped(gone);
            pending().await
        }
    });
    let bundle = ended(options().parallel(Some(3)), replicates).await;
    assert_eq!(bundle.meta.stopped, BundleStopReason::Early);
    assert!(dropped.get(), "its future is dropped");
}

#[test]
async fn one_that_takes_too_long_is_dropped_while_others_run() {
    let dropped = Seen::new(false);
    let gone = dropped.clone();
    let replicates = Replicates::new(move |context: ReplicateContext| {
        let gone = gone.clone();
        async move {
            match context.id.as_str() {
                "r1" => {
                    let _gone = Dropped(gone);
                    pending().await
                }
                // Started when the first one's time was up.
                "r3" => {
                    sleep(1).await;
                    Ok::<_, ReplicateError>(Replicate::new(gone.get()))
                }
                _ => Ok(Replicate::new(true)),
            }
        }
    });
    let limits = ReplicateLimits::default().seconds(Some(2.0));
    let bundle = ended(options().per_replicate(Some(limits)), replicates).await;
    let status: Vec<_> = bundle.meta.per_replicate.iter().map(|one| one.status).collect();
    assert_eq!(status, [ReplicateStatus::Timeout, ReplicateStatus::Valid, ReplicateStatus::Valid]);
    assert_eq!(bundle.replicates[2].data, Some(json!(true).into()));
}

#[test]
async fn a_ceiling_of_tokens_holds_while_a_replicate_runs() {
    let total = |total_tokens| {
        let mut usage = TokenUsage::default();
        usage.total_tokens = total_tokens;
        usage
    };
    let replicates = Replicates::new(move |context: ReplicateContext| async move {
        if context.id != "r1" {
            return Ok::<_, ReplicateError>(Replicate::new(1).usage(total(5)));
        }
        context.report(total(50));
        context.report(total(101));
        pending().await
    });
    let limits = ReplicateLimits::default().tokens(Some(100));
    let bundle = ended(options().k(2).per_replicate(Some(limits)), replicates).await;
    let used: Vec<_> = bundle.meta.per_replicate.iter().collect();
    assert_eq!(used[0].status, ReplicateStatus::TokenLimit);
    assert_eq!(used.iter().map(|one| one.usage.unwrap().total).collect::<Vec<_>>(), [101, 5]);
}

#[test]
async fn replicates_by_model_and_by_turn() {
    let requests = Seen::new(Vec::<Value>::new());
    let seen = requests.clone();
    let model = Model::custom(move |request| {
        let request: Value = request.to().unwrap();
        let text = format!("{{\"seed\":{}}}", request["seed"]);
        seen.lock().push(request);
        let usage = Usage { input_tokens: Some(7), output_tokens: Some(2), ..Usage::default() };
        let finish = Delta::Finish { reason: FinishReason::Stop, raw: "stop".to_owned() };
        futures::stream::iter([Ok(Delta::Text(text)), Ok(Delta::Usage(usage)), Ok(finish)])
    });
    let by_model = ModelReplicateOptions::new(model, "Judge {{text}} by {{ rules }}.")
        .system("You are {{who}}.")
        .input(json!({ "text": "it", "rules": [1], "who": "strict" }));
    let by_model = replicate_by_model(by_model).unwrap();
    let bundle = ended(options().k(2).stop(Stop::Never), Replicates::new(by_model)).await;
    let data: Vec<_> = bundle.replicates.iter().map(|one| one.data.clone().unwrap()).collect();
    assert_eq!(data, [json!({ "seed": 11 }), json!({ "seed": 23 })].map(Json::from));
    assert_eq!(bundle.meta.usage.total, 18);
    let messages = requests.lock()[0]["messages"].clone();
    let wanted = json!([
        { "role": "system", "content": "You are strict." },
        { "role": "user", "content": "Judge it by [1]." },
    ]);
    assert_eq!(messages, wanted);
    let failing = Model::custom(|_| futures::stream::iter([Err("no model".to_owned())]));
    let each = move |context: &ReplicateContext| {
        let messages = json!([{ "role": "user", "content": context.id }]);
        TurnOptions::new(failing.clone(), messages)
    };
    let by_turn = Replicates::new(replicate_by_turn(each, ReadAnswer::Auto));
    let mut running = run_bundle(options().k(1), by_turn).unwrap();
    let mut why = String::new();
    while let Some(event) = running.next().await {
        if let BundleEvent::ReplicateDone { quality, .. } = event.kind {
            why = quality.errors[0].clone();
        }
    }
    assert!(why.starts_with("model.") && why.contains("no model"), "{why}");
}
