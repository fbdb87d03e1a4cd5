//! The bundle tables: see tests/bundles/README.md. One play at a time: a bundle holds several
//! connections at once, of which Chromium has six.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock::json::number_text;
use turnlock_client::evidence::{
    BUNDLE_HINT, BundleOptions, Encoding, EvidenceBundle, ModelReplicateOptions, Replicate,
    ReplicateContext, ReplicateError, Replicates, bundle_tool, expand_bundle, replay_bundle,
    replicate_by_model, run_bundle,
};
use turnlock_client::{BoxFuture, MaybeSend, MaybeSync, TurnOptions, TurnStatus, run_turn};

use crate::platform::{Seen, say, test};
use crate::site;

type Attempt = BoxFuture<'static, Result<Replicate, ReplicateError>>;
type Seeds = Seen<BTreeMap<String, i64>>;

#[test]
async fn tables() {
    let mut failures = Vec::new();
    let scenarios = site::tables("bundles").await;
    for (at, scenario) in scenarios.iter().enumerate() {
        if let Err(why) = play(scenario, &format!("rust-bundle-{at}")).await {
            failures.push(format!("{}\n  {why}", scenario["name"]));
        }
    }
    let failed = failures.len();
    assert!(failed == 0, "\n\n{}\n{failed} of {} failed", failures.join("\n\n"), scenarios.len());
    say!("{} plays", scenarios.len());
}

/// Settles in the order of places, or as the table says.
#[derive(Clone, Default)]
struct Order(Seen<(BTreeSet<String>, Vec<Waker>)>);

impl Order {
    fn done(&self, id: &str) {
        let mut inner = self.0.lock();
        inner.0.insert(id.to_owned());
        inner.1.drain(..).for_each(Waker::wake);
    }

    async fn after(self, id: String, entry: Value) {
        let number: u32 = id[1..].parse().unwrap();
        let wanted = match entry.get("after") {
            None if number > 1 => format!("r{}", number - 1),
            Some(Value::String(after)) => after.clone(),
            _ => return,
        };
        poll_fn(move |cx| {
            let mut inner = self.0.lock();
            if inner.0.contains(&wanted) {
                return Poll::Ready(());
            }
            inner.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// What a scenario is played with, and what is seen of it.
struct Player {
    scenario: Value,
    session: String,
    order: Order,
    seeds: Seeds,
    events: Vec<Value>,
}

impl Player {
    fn text(&self, key: &str) -> &str {
        self.scenario[key].as_str().unwrap()
    }

    /// Every replicate a model call to the provider.
    fn replicate(
        &self,
    ) -> impl Fn(ReplicateContext) -> Attempt + MaybeSend + MaybeSync + 'static + use<> {
        let (scenario, session) = (self.scenario.clone(), self.session.clone());
        let (order, seeds) = (self.order.clone(), self.seeds.clone());
        move |context: ReplicateContext| {
            let id = context.id.clone();
            seeds.lock().insert(id.clone(), context.seed);
            let attempt = usize::try_from(context.attempt).unwrap() - 1;
            let entry = scenario["replicates"][&id][attempt].clone();
            let model = model(&session, scenario["name"].as_str().unwrap(), &id);
            let model = site::up_to_the_cut(model, &scenario["replicates"][&id]);
            let options = ModelReplicateOptions::new(model, "Judge {{text}}.")
                .input(json!({ "text": "this" }));
            let run = replicate_by_model(options).unwrap();
            let order = order.clone();
            let others: Vec<_> = closed(&scenario["expect"]).filter(|one| *one != id).collect();
            let others: Vec<_> = others.into_iter().map(str::to_owned).collect();
            let session = session.clone();
            Box::pin(async move {
                let settled = run(context).await;
                order.after(id.clone(), entry).await;
                // A connection that is to be seen closing has to be there first.
                for other in others {
                    site::asked(&format!("{session}-{other}")).await;
                }
                settled
            })
        }
    }

    fn take(&mut self, event: Value) -> String {
        if event["type"] == "replicate_done" {
            self.order.done(event["id"].as_str().unwrap());
        }
        let line = line(&event);
        self.events.push(event);
        line
    }

    async fn alone(&mut self) -> Result<EvidenceBundle, String> {
        let replicate = self.replicate();
        let options = given(BundleOptions::new(self.text("name")), &self.scenario["options"]);
        let mut running = run_bundle(options, Replicates::new(replicate).record()).unwrap();
        let cancel = self.scenario["cancel"].clone();
        let mut events = Vec::new();
        while let Some(event) = running.next().await {
            let line = self.take(serde_json::to_value(&event).unwrap());
            events.push(event);
            if cancel["after"] == line.as_str() {
                running.cancel(cancel["reason"].as_str().unwrap());
            }
        }
        let recording = running.recording().unwrap();
        let bundle = running.result().await.unwrap();
        let again = replay_bundle(&recording).map_err(|error| error.to_string())?;
        let same = |a: String, b: String| {
            if a == b { Ok(()) } else { Err(format!("the replay gives {b}\n  for {a}")) }
        };
        let text = |events| serde_json::to_string(events).unwrap();
        same(text(&events), text(&again.events))?;
        same(
            serde_json::to_string(&bundle).unwrap(),
            serde_json::to_string(&again.result).unwrap(),
        )?;
        Ok(bundle)
    }

    /// The bundle as a tool: progress as events of the turn, one result for the model.
    async fn in_turn(&mut self) -> Result<EvidenceBundle, String> {
        let replicate = self.replicate();
        let table = self.scenario["options"].clone();
        let judge = bundle_tool(
            "judge",
            "Judges.",
            json!({ "type": "object" }),
            Replicates::with_args(move |args: Value, context| {
                assert_eq!(args, json!({ "text": "x" }), "the arguments reach the replicate");
                replicate(context)
            }),
            |options| given(options, &table),
        );
        let model = model(&self.session, self.text("name"), "turn");
        let messages = json!([{ "role": "user", "content": "go" }]);
        let mut turn = run_turn(TurnOptions::new(model, messages).tool(judge)).unwrap();
        let (mut seq, mut results) = (0, Value::Null);
        while let Some(event) = turn.next().await {
            let event: Value = event.to_json().to().unwrap();
            seq += 1;
            check(event["seq"] == seq, "seq of the turn")?;
            if event["type"] == "tool_progress" {
                check(event["toolCallId"] == "c1" && event["name"] == "judge", "whose progress")?;
                self.take(event["data"].clone());
            }
            if event["type"] == "tool_results" {
                results = event["toolResults"].clone();
            }
        }
        let turn = turn.result().await;
        let answered = turn.status == TurnStatus::Complete && turn.text == "Both say spam.";
        check(answered, &format!("{turn:?}"))?;
        let whole = results[0]["truncated"] != true;
        let result: EvidenceBundle = serde_json::from_value(results[0]["result"].clone()).unwrap();
        check(whole && result.meta.encoding == Encoding::Delta, "compact, and whole")?;
        let requests = site::requests(&format!("{}-turn", self.session)).await;
        let tool = requests[0]["body"]["tools"][0]["function"]["description"].as_str().unwrap();
        check(tool == format!("Judges.\n\n{BUNDLE_HINT}"), "the hint ships with the tool")?;
        let read = requests[1]["body"]["messages"].to_string();
        check(read.contains("pairwise_distance"), "the model reads the bundle")?;
        check(!read.contains("replicate_started"), "and none of the progress")?;
        Ok(expand_bundle(result).unwrap())
    }
}

pub fn model(session: &str, name: &str, id: &str) -> turnlock_client::Model {
    site::model(&format!("{session}-{id}"), &format!("bundle:{name}|{id}"), "openai-chat")
}

async fn play(scenario: &Value, session: &str) -> Result<(), String> {
    let mut player = Player {
        scenario: scenario.clone(),
        session: session.to_owned(),
        order: Order::default(),
        seeds: Seeds::default(),
        events: Vec::new(),
    };
    let in_turn = !scenario["turn"].is_null();
    let bundle = if in_turn { player.in_turn().await? } else { player.alone().await? };
    met(scenario, &player, &bundle, if in_turn { "judge" } else { player.text("name") })?;
    let replicates = scenario["replicates"].as_object().unwrap();
    for id in replicates.keys() {
        let session = format!("{session}-{id}");
        let seed = player.seeds.lock().get(id).copied();
        // The seed goes along where the wire has a field for it.
        for request in site::requests(&session).await {
            let sent = request["body"]["seed"].as_i64();
            check(sent.is_some() && sent == seed, &format!("seed of {id}: {sent:?}"))?;
            let strategies = scenario["options"]["strategies"].as_array();
            let at: usize = id[1..].parse().unwrap();
            let own = strategies.map_or(Value::Null, |all| all[(at - 1) % all.len()].clone());
            let said = |name: &str, else_: &str| own[name].as_str().unwrap_or(else_).to_owned();
            let prompt = said("prompt", "Judge {{text}}.").replace("{{text}}", "this");
            let model = said("model", "scripted");
            check(request["body"]["model"] == model, &format!("model of {id}"))?;
            let last = request["body"]["messages"].as_array().unwrap().last().unwrap();
            check(last["content"] == prompt, &format!("prompt of {id}"))?;
        }
        if closed(&scenario["expect"]).any(|one| one == id) {
            site::closes(&session).await;
        }
    }
    Ok(())
}

/// The replicates whose connections are seen to close.
fn closed(expect: &Value) -> impl Iterator<Item = &str> {
    expect["closed"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn met(
    scenario: &Value,
    player: &Player,
    bundle: &EvidenceBundle,
    source: &str,
) -> Result<(), String> {
    let expect = &scenario["expect"];
    let lines: Vec<Value> = player.events.iter().map(|event| line(event).into()).collect();
    let list = |lines: &[Value]| lines.iter().map(|l| format!("    {l}\n")).collect::<String>();
    let wanted = expect["events"].as_array().unwrap();
    check(lines == *wanted, &format!("wanted\n{}  got\n{}", list(wanted), list(&lines)))?;
    for (at, event) in player.events.iter().enumerate() {
        check(event["seq"] == at + 1, "seq")?;
        check(event["metadata"]["source"] == source, "source")?;
    }
    let EvidenceBundle { meta, replicates, summary, .. } = bundle;
    check(replicates.len() == meta.started, "one entry for each that was started")?;
    let seeds = player.seeds.lock();
    let in_order = replicates.iter().enumerate().all(|(at, one)| {
        let seed = Some(&one.seed);
        one.id == format!("r{}", at + 1) && meta.seeds.get(at) == seed && seeds.get(&one.id) == seed
    });
    check(in_order, "ids and seeds")?;
    let fields: Value = summary.disagreements.iter().map(|one| one.field.clone()).collect();
    for (name, got) in [
        ("confidence", json!(short(&json!(summary.confidence)))),
        ("consensus", json!(summary.consensus)),
        ("valid", json!(summary.valid_count)),
        ("disagreements", fields),
        ("usage", json!(meta.usage.total)),
        ("cost", json!(meta.cost)),
        ("model", json!(meta.model)),
        ("models", meta.per_replicate.iter().map(|one| json!(one.model)).collect()),
        ("strategies", meta.per_replicate.iter().map(|one| json!(one.strategy)).collect()),
    ] {
        let Some(want) = expect.get(name) else { continue };
        let want = if name == "confidence" { json!(short(want)) } else { want.clone() };
        check(got == want, &format!("{name}: {got}"))?;
    }
    Ok(())
}

fn check(fact: bool, what: &str) -> Result<(), String> {
    if fact { Ok(()) } else { Err(what.to_owned()) }
}

/// With the options of a table.
fn given(options: BundleOptions, table: &Value) -> BundleOptions {
    let mut all: Value = options.to_json().to().unwrap();
    all.as_object_mut().unwrap().extend(table.as_object().cloned().unwrap_or_default());
    BundleOptions::from_json(all.into()).unwrap()
}

/// An event as a line.
fn line(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let id = event["id"].as_str();
    let whom = id.unwrap_or("bundle");
    match text("type") {
        "replicate_started" => match event["attempt"].as_u64().unwrap() {
            1 => format!("started {whom}"),
            attempt => format!("started {whom} #{attempt}"),
        },
        "replicate_done" => format!("done {whom} {}", text("status")),
        "partial_summary" => format!("partial {}", short(&event["summary"]["confidence"])),
        "warning" => {
            let whom = id.map(|id| format!(" {id}")).unwrap_or_default();
            format!("warning {}{whom}", text("code"))
        }
        "cancelled" => format!("cancelled {whom} {}", text("reason")),
        "timeout" => format!("timeout {whom}"),
        _ => {
            let whole = || event["bundle"]["meta"]["stopped"].as_str();
            format!("ready {}", event["stopped"].as_str().or_else(whole).unwrap())
        }
    }
}

/// Four decimals, as JavaScript writes them.
fn short(number: &Value) -> String {
    let Some(number) = number.as_f64() else { return "null".to_owned() };
    number_text((number * 1e4).round() / 1e4)
}
