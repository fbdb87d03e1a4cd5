//! What goes back of a response: with the calls that it came with, and where the provider has paused.
//! Responses are those of public reports in `tests/data/reports`.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

use crate::common;
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::tool::{Registry, ToolSpec};
use turnlock::turn::{Effect, Input, Policy, ResultsAs, Settled, Turn, TurnOptions, Verdict};
use turnlock::{Dialect, Next};

use common::data;

fn value(json: &Json<'_>) -> Value {
    serde_json::from_str(&json.to_text()).unwrap()
}

/// The bodies of the requests of a turn, and its result.
fn play(
    dialect: Dialect,
    native: bool,
    messages: &Value,
    responses: &[String],
) -> (Vec<Value>, Value) {
    let messages = messages.as_array().unwrap().iter();
    let messages = messages.map(|one| Json::parse_str(&one.to_string()).unwrap().into_owned());
    let secret = "0123456789abcdef0123456789abcdef";
    let results = if native { ResultsAs::Native } else { ResultsAs::Box };
    let options = TurnOptions::new(dialect, "r", secret, messages.collect())
        .model(Some("m".to_owned()))
        .policy(Policy::default().results_as(results))
        .tools(Registry::new(vec![ToolSpec::new("f").read_only(true)]).unwrap());
    let mut turn = Turn::new(options).unwrap();
    let (mut requests, mut facts, mut result) = (Vec::new(), vec![Input::Start], Value::Null);
    while let Some(fact) = facts.pop() {
        turn.handle(1, fact);
        while let Next::Effect(effect) = turn.poll() {
            match effect {
                Effect::Fetch { inference, attempt, request, .. } => {
                    let body = &responses[requests.len().min(responses.len() - 1)];
                    requests.push(value(&request.body));
                    let bytes = body.as_bytes().to_vec();
                    facts.insert(0, Input::ResponseBytes { inference, attempt, bytes });
                    facts.insert(0, Input::ResponseEnded { inference, attempt });
                }
                Effect::Check { call, .. } => {
                    let verdict = Verdict::Valid { args: None, action: None, approval: false };
                    facts.insert(0, Input::Checked { call, verdict });
                }
                Effect::RunTool { call, .. } => {
                    let settled = Settled::Ok { text: "1".to_owned(), bytes: 1 };
                    facts.insert(0, Input::ToolSettled { call, settled });
                }
                Effect::Done { result: ended } => result = value(&ended.to_json()),
                _ => {}
            }
        }
    }
    (requests, result)
}

struct Report {
    dialect: Dialect,
    native: bool,
    responses: Vec<String>,
}

fn report(name: &str) -> Report {
    let text = std::fs::read_to_string(data("reports").join(format!("{name}.json"))).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let input = &report["input"];
    let responses = input["responses"].as_array().unwrap().iter();
    Report {
        dialect: Dialect::parse(report["dialect"].as_str().unwrap()).unwrap(),
        native: input["policy"]["resultsAs"] == "native",
        responses: responses.map(|one| one["body"].as_str().unwrap().to_owned()).collect(),
    }
}

/// The requests of a report's turn, and the first one of the next turn.
fn played(name: &str) -> (Vec<Value>, Value, Value) {
    let Report { dialect, native, responses } = report(name);
    let mut history = json!([{ "role": "user", "content": "go" }]);
    let (requests, result) = play(dialect, native, &history, &responses);
    let all = history.as_array_mut().unwrap();
    all.extend(result["messages"].as_array().unwrap().iter().cloned());
    all.push(json!({ "role": "user", "content": "and now?" }));
    let (next, second) = play(dialect, native, &history, &responses[responses.len() - 1..]);
    assert_eq!(second["repairs"], json!([]), "{name}: {history}");
    (requests, result, next[0].clone())
}

fn called(request: &Value) -> &Value {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().find(|one| one.get("tool_calls").is_some()).unwrap()
}

#[test]
fn reasoning_content_goes_back_within_a_turn_and_in_the_next_one() {
    for name in
        ["reasoning-kimi-next-turn", "reasoning-kimi-boxed-turn", "reasoning-deepseek-libre-chat"]
    {
        let (requests, _, next) = played(name);
        assert_eq!(called(&next)["reasoning_content"], "think", "{name}");
        if name == "reasoning-kimi-next-turn" {
            assert_eq!(called(&requests[1])["reasoning_content"], "think", "{name}");
        }
    }
}

#[test]
fn members_go_back_under_the_names_with_which_they_came() {
    let (requests, _, next) = played("reasoning-member-of-vllm");
    for request in [&requests[1], &next] {
        assert_eq!(called(request)["reasoning"], "I look.");
        assert_eq!(called(request).get("reasoning_content"), None);
    }
    let (requests, _, next) = played("reasoning-vertex-signature");
    for request in [&requests[1], &next] {
        let signed = &called(request)["tool_calls"][0]["extra_content"];
        assert_eq!(*signed, json!({ "vertex": { "thought_signature": "S2" } }));
    }
    let (requests, ..) = played("reasoning-details-in-pieces");
    let details = &called(&requests[1])["reasoning_details"];
    assert_eq!(details.as_array().unwrap().len(), 1);
    assert_eq!((&details[0]["text"], &details[0]["signature"]), (&json!("Let me."), &json!("S1")));
}

#[test]
fn a_paused_response_goes_on() {
    let (requests, result, next) = played("streams-pause-turn");
    assert_eq!(requests.len(), 2);
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "assistant");
    assert_eq!(
        (&last["content"][0]["type"], &last["content"][1]["id"]),
        (&json!("text"), &json!("srvtoolu_1"))
    );
    assert!(result["text"].as_str().unwrap().contains("42"), "{result}");
    assert_eq!(result["finishReason"], "stop");
    assert!(next.to_string().contains("web_search_tool_result"), "{next}");
    let (requests, ..) = played("streams-pause-turn-order");
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    let kinds: Vec<_> = last["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["server_tool_use", "web_search_tool_result", "text", "server_tool_use"]);
    let (_, _, next) = played("streams-pause-turn-dangling");
    assert!(!next.to_string().contains("srvtoolu_1"), "{next}");
    let (requests, result, _) = played("streams-pause-turn-without-end");
    assert_eq!((requests.len(), &result["finishReason"]), (5, &json!("paused")));
}
