//! The tool-request pass as a Rust host meets it: what the tables cannot say.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::future::pending;
use serde::Deserialize;
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::planning::{
    Channel, PassEventKind, PassOutcome, Policy, Recorded, Template, plan_prompt,
};
use turnlock::stream::Delta;
use turnlock::tool::Status;
use turnlock_client::{Error, Model, PassError, PassEvent, PassOptions, Tool, run_planning};

use crate::platform::{Seen, sleep, test};
use crate::requests::said;
use crate::site;

pub type Asked = Seen<Vec<Value>>;

/// A model that says these texts, one a request, and what it was asked.
pub fn scripted(texts: &[&str]) -> (Model, Asked) {
    let left: VecDeque<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let (left, asked) = (Seen::new(left), Asked::default());
    let seen = asked.clone();
    let model = Model::custom(move |request| {
        seen.lock().push(request.to().unwrap());
        let text = left.lock().pop_front().ok_or_else(|| "nothing left".to_owned());
        futures::stream::iter([text.map(Delta::Text)])
    });
    (model, asked)
}

fn input() -> Value {
    json!({ "symbol": "BTC", "global_context": { "regime": "calm" } })
}

/// A request for these calls.
pub fn asks(calls: &[(&str, Value)]) -> String {
    let call = |(name, params): &(&str, Value)| json!({ "tool_name": name, "params": params, "reason": "why" });
    json!({ "tool_calls": calls.iter().map(call).collect::<Vec<_>>() }).to_string()
}

pub fn reads(name: &str, value: Value) -> Tool {
    let run = move |_: Value, _| {
        let value = value.clone();
        async move { Ok::<_, String>(value) }
    };
    Tool::new(name, name, json!({ "type": "object" }), run).read_only()
}

pub fn with(texts: &[&str], tools: Vec<Tool>) -> (PassOptions, Asked) {
    let (model, asked) = scripted(texts);
    (PassOptions::new(model, input()).tools(tools), asked)
}

pub async fn events_of(options: PassOptions) -> Vec<PassEvent> {
    run_planning(options).unwrap().collect().await
}

#[test]
async fn dropping_the_pass_closes_the_connection() {
    for (at, script) in ["stall", "stall-head"].into_iter().enumerate() {
        let session = format!("rust-passes-drop-{at}");
        let model = site::model(&session, script, "openai-chat");
        let pass = run_planning(PassOptions::new(model, input())).unwrap();
        site::asked(&session).await;
        assert_eq!(site::requests(&session).await[0]["closedEarly"], false);
        drop(pass);
        site::closes(&session).await;
        assert_eq!(site::requests(&session).await.len(), 1);
    }
}

#[test]
async fn dropping_what_waits_for_the_result_drops_the_tools_as_well() {
    struct Alive(Seen<bool>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    let alive = Seen::new(false);
    let seen = alive.clone();
    let run = move |_: Value, _| {
        alive.set(true);
        let alive = Alive(alive.clone());
        async move {
            let _alive = alive;
            pending::<Result<(), String>>().await
        }
    };
    let slow = Tool::new("slow", "slow", json!({ "type": "object" }), run).read_only();
    let (options, asked) = with(&[&asks(&[("slow", json!({}))]), "{}"], vec![slow]);
    let recorded = Seen::new(Vec::new());
    let kept = recorded.clone();
    let pass = run_planning(options.record(move |one| kept.lock().push(one))).unwrap();
    let mut result = Box::pin(pass.result());
    site::until("it runs", async || seen.get()).await;
    assert!(futures::poll!(&mut result).is_pending());
    drop(result);
    site::until("it is dropped", async || !seen.get()).await;
    assert_eq!(asked.lock().len(), 1, "no plan is asked for");
    assert_eq!(recorded.lock().len(), 0, "what the end cut off is no record");
}

#[test]
async fn a_pass_is_cancelled_before_it_asks() {
    let (options, asked) = with(&[], vec![]);
    let pass = run_planning(options).unwrap();
    pass.control().cancel("enough");
    let error = pass.result().await.unwrap_err();
    assert_eq!(error.to_string(), "request.cancelled: enough");
    assert_eq!(asked.lock().len(), 0);
}

#[test]
async fn a_tool_that_panics_is_a_result_and_the_plan_is_made() {
    #[allow(unreachable_code)]
    let late = |_: Value, _| async move {
        sleep(1).await;
        panic!("on purpose, later");
        Ok::<(), String>(())
    };
    let schema = json!({ "type": "object" });
    let now = |_: Value, _| -> std::future::Ready<Result<(), String>> { panic!("on purpose") };
    let tools = vec![
        Tool::new("now", "now", schema.clone(), now).read_only(),
        Tool::new("late", "late", schema, late).read_only(),
        reads("quote", Value::Null),
    ];
    let calls = [("now", json!({})), ("late", json!({})), ("quote", json!({}))];
    let (options, asked) = with(&[&asks(&calls), r#"{"plan":1}"#], tools);
    let policy = Policy::default().max_tool_calls(3);
    let result = run_planning(options.policy(policy)).unwrap().result().await.unwrap();
    assert_eq!(result.plan, json!({ "plan": 1 }));
    let statuses: Vec<_> = result.pass.calls.iter().map(|call| call.status).collect();
    assert_eq!(statuses, [Status::Error, Status::Error, Status::Ok]);
    for one in &result.pass.tool_results[..2] {
        let PassOutcome::Error(error) = &one.outcome else { panic!("{one:?}") };
        assert_eq!((&*error.code, &*error.message), ("tool.threw", "it panicked"));
    }
    let results = &result.pass.tool_results;
    assert_eq!(results[2].outcome, PassOutcome::Result(Json::Null));
    let given: Value = result.input.get("global_context").unwrap().to().unwrap();
    assert_eq!(given["tool_results"], serde_json::to_value(results).unwrap());
    assert_eq!(given["tool_results"][2].get("result"), Some(&Value::Null));
    assert_eq!(given["regime"], "calm");
    assert_eq!(asked.lock().len(), 2);
}

#[test]
async fn misuse_is_an_error_and_nothing_is_asked() {
    let (model, asked) = scripted(&[]);
    let wrong = |input: Value, change: &dyn Fn(PassOptions) -> PassOptions| {
        let options = change(PassOptions::new(model.clone(), input));
        run_planning(options).unwrap_err()
    };
    let same = |options: PassOptions| options;
    assert_eq!(wrong(json!("text"), &same).code, "options.invalid");
    assert_eq!(wrong(json!([]), &same).code, "options.invalid");
    assert_eq!(wrong(json!({ "global_context": [] }), &same).code, "options.invalid");
    let policy = Policy::default().max_iterations(5);
    let error = wrong(input(), &|options| options.policy(policy.clone()));
    assert_eq!(error.code, "options.invalid");
    assert!(error.message.contains("maxIterations"), "{error}");
    let error = wrong(input(), &|options| options.tool(reads("request_tools", Value::Null)));
    assert_eq!(error.code, "tool.invalid_name");
    let error = wrong(input(), &|options| options.record(|_| {}).replay([]));
    assert_eq!((&*error.code, error.message.contains("`record`")), ("options.invalid", true));
    let error = wrong(input(), &|options| options.record_in_result().replay([]));
    assert_eq!(error.code, "options.invalid");
    let broken = r#"{"signature":"x","status":"ok","result":1,"duration_ms":1,"truncated":false}"#;
    let error = serde_json::from_str::<Recorded>(broken).unwrap_err();
    assert!(error.to_string().contains("a recorded call"), "{error}");
    let no_json = PassOptions::new(
        model.clone(),
        [(vec![0_u8], 1)].into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    );
    assert_eq!(run_planning(no_json).unwrap_err().code, "json.not_serializable");
    assert_eq!(asked.lock().len(), 0);
}

#[test]
async fn prompts_of_the_host_are_used_and_traced() {
    let (options, asked) = with(&[&asks(&[]), "plan"], vec![]);
    let named = Template::new("mine.v2", "Plan.");
    let hash = named.hash();
    let events = events_of(options.request_prompt("Ask.").plan_prompt(named)).await;
    let systems: Vec<_> = asked.lock().iter().map(|body| said(&body["messages"][0])).collect();
    assert!(systems[0].starts_with("Ask.\n\nLimit: 2 calls. Tools:\n[]"), "{}", systems[0]);
    assert!(systems[0].contains("\n\nPlan.\n\n"), "the request pass sees the strategy");
    assert_eq!(systems[1].trim(), "Plan.");
    let used = |event: &PassEvent| match &event.kind {
        PassEventKind::ToolRequest { prompt_template_id: id, .. }
        | PassEventKind::LlmCall { prompt_template_id: id, .. } => id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(events.iter().map(used).collect::<Vec<_>>(), ["custom", "custom", "mine.v2"]);
    let PassEventKind::LlmCall { prompt_template_hash, .. } = &events[2].kind else { panic!() };
    assert_eq!((prompt_template_hash, plan_prompt().hash().len()), (&hash, 64));
}

#[test]
async fn the_channel_and_the_start_are_the_hosts() {
    let (options, asked) = with(&[&asks(&[]), "{}"], vec![]);
    let policy = Policy::default().channel(Channel::Structured);
    let options = options.policy(policy).started_at(5000).source("nightly");
    let events = events_of(options.plan_id("p").run_id("r")).await;
    let asked = asked.lock();
    assert!(asked[0].get("response_format").is_some() && asked[1].get("response_format").is_none());
    for event in events {
        assert_eq!(event.at, 5000 + event.at_ms);
        let ids = (&*event.plan_id, &*event.run_id, event.source.as_deref());
        assert_eq!(ids, ("p", "r", Some("nightly")));
    }
}

#[derive(Deserialize, Debug, PartialEq)]
struct Sized {
    size: u32,
}

const FENCED: &str = "Here:\n```json\n{\"size\": 1}\n```";

async fn planned(answer: &str) -> turnlock_client::RunningPass {
    let quote = vec![reads("quote", json!(42))];
    let (options, _) = with(&[&asks(&[("quote", json!({}))]), answer], quote);
    run_planning(options.record_in_result()).unwrap()
}

/// What every refused plan has beside the reason.
fn refused(error: &PassError, why: &str) {
    assert_eq!(error.failure.code, "plan.invalid");
    assert!(error.failure.message.contains(why), "{error}");
    let pass = error.pass.as_ref().unwrap();
    assert_eq!(pass.text.as_deref(), Some("{\"size\": 1}"));
    assert_eq!(pass.tool_results[0].outcome, PassOutcome::Result(Json::integer(42)));
    assert_eq!((pass.calls.len(), pass.recorded.len()), (1, 1));
}

#[test]
async fn plans_of_the_hosts_own() {
    let result = planned(FENCED).await.result_as::<Sized>().await.unwrap();
    assert_eq!(result.plan, Sized { size: 1 });
    assert_eq!(result.pass.text.as_deref(), Some("{\"size\": 1}"));
    assert_eq!(result.pass.recorded.len(), 1);
    let parse = |text: String| async move {
        sleep(1).await;
        serde_json::from_str::<Sized>(&text)
    };
    assert_eq!(planned(FENCED).await.result_with(parse).await.unwrap().plan.size, 1);
    assert_eq!(planned("Hold.").await.result().await.unwrap().plan, json!("Hold."));

    refused(&planned(FENCED).await.result_as::<Vec<u8>>().await.unwrap_err(), "sequence");
    let small = |_| async { Err::<(), _>("size is too small") };
    refused(&planned(FENCED).await.result_with(small).await.unwrap_err(), "size is too small");
    let panics = |_| -> std::future::Ready<Result<(), String>> { panic!("on purpose") };
    refused(&planned(FENCED).await.result_with(panics).await.unwrap_err(), "it panicked");
    let later = |text: String| async move {
        sleep(1).await;
        assert!(text.is_empty(), "on purpose");
        Ok::<_, String>(())
    };
    refused(&planned(FENCED).await.result_with(later).await.unwrap_err(), "it panicked");
    // A code of its own stays.
    let own =
        |_| async { Err::<(), _>(Error { code: "mine.refused".into(), message: "no".to_owned() }) };
    let error = planned(FENCED).await.result_with(own).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.pass), ("mine.refused: no", None));
}

#[test]
async fn prose_is_no_plan_of_a_schema_nor_is_json_that_does_not_match() {
    let schema = json!({ "type": "object", "required": ["size"],
        "properties": { "size": { "type": "integer" } } });
    let run = async |answer: &str, schema: &Value| {
        let quote = vec![reads("quote", json!(42))];
        let (options, _) = with(&[&asks(&[("quote", json!({}))]), answer], quote);
        run_planning(options.plan_schema(schema)).unwrap().result().await
    };
    for answer in [FENCED, "Hold {now}: {\"size\":1}."] {
        assert_eq!(run(answer, &schema).await.unwrap().plan, json!({ "size": 1 }));
    }
    for (answer, schema, why) in [
        ("Hold.", &schema, "expected JSON"),
        ("{\"size\":1} or {\"size\":2}", &schema, "several different"),
        ("Hold.", &json!({ "type": "string" }), "expected JSON"),
        ("{\"size\":\"one\"}", &schema, "#/size"),
        ("{}", &schema, "size"),
    ] {
        let error = run(answer, schema).await.unwrap_err();
        assert_eq!(error.failure.code, "plan.invalid");
        assert!(error.failure.message.contains(why), "{error}");
        let pass = error.pass.unwrap();
        assert_eq!(pass.text.as_deref(), Some(answer));
        assert_eq!(pass.tool_results[0].outcome, PassOutcome::Result(Json::integer(42)));
    }
    let (options, asked) = with(&[], vec![]);
    let error = run_planning(options.plan_schema(json!(1))).unwrap_err();
    assert_eq!((&*error.code, error.message.contains("`planSchema`")), ("options.invalid", true));
    assert_eq!(asked.lock().len(), 0);
}

/// Reads anything, and panics.
#[derive(Debug)]
struct Bomb;

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("on purpose")
    }
}

#[test]
async fn a_type_that_panics_is_a_refused_plan() {
    refused(&planned(FENCED).await.result_as::<Bomb>().await.unwrap_err(), "it panicked");
}

#[test]
async fn a_failed_plan_pass_says_what_it_had() {
    let session = "rust-passes-status";
    let model = site::model(session, "server-error", "openai-chat");
    let pass = run_planning(PassOptions::new(model, input())).unwrap();
    let error = pass.result().await.unwrap_err();
    assert_eq!((&*error.failure.code, error.failure.status()), ("model.status", Some(500)));
    assert_eq!(site::requests(session).await.len(), 2, "one for the request, one for the plan");
}
