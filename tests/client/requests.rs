//! The tables of the tool-request pass: see tests/requests/README.md.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock::Signature;
use turnlock::json::Json;
use turnlock::planning::{Policy, Recorded};
use turnlock_client::{PassOptions, run_planning};

use crate::pass_lines::{calls, recorded, rejected, results, trace};
use crate::platform::test;
use crate::site;
use crate::turns::{Dead, Executed, Held, tools};

#[test]
async fn tables() {
    play_tables("rust-requests").await;
}

/// Plays all of them, in sessions of these names.
pub async fn play_tables(sessions: &str) {
    let mut jobs = Vec::new();
    for (at, scenario) in site::tables("requests").await.into_iter().enumerate() {
        let scenario = Arc::new(scenario);
        let dialects = site::wires(&scenario, at);
        jobs.extend(dialects.into_iter().map(|dialect| (scenario.clone(), dialect)));
    }
    let jobs = jobs.into_iter().enumerate().map(|(at, (scenario, dialect))| async move {
        let session = format!("{sessions}-{at}");
        let played = play(&scenario, &dialect, &session).await;
        played.map_err(|why| format!("{} [{dialect}]\n  {why}", scenario["name"]))
    });
    site::play_all(jobs).await;
}

/// What came of one pass.
#[derive(PartialEq)]
struct Played {
    /// Its result, or its error and what that had.
    result: Value,
    events: Vec<Value>,
    executed: Vec<String>,
    requests: Vec<Value>,
    recorded: Vec<Recorded>,
}

/// As the table says; then what was recorded is replayed, twice.
async fn play(scenario: &Arc<Value>, dialect: &str, session: &str) -> Result<(), String> {
    let given = scenario["replay"].as_array().map(|all| all.iter().map(recorded_call).collect());
    let live = pass(scenario, dialect, session, given.clone()).await?;
    judge(scenario, dialect, &live)?;
    if scenario.get("cancel").is_some() || live.result["error"] == "model.timeout" {
        return Ok(());
    }
    // As it would come back from where it was kept.
    let kept = serde_json::to_string(&live.recorded).unwrap();
    let again = given.unwrap_or_else(|| serde_json::from_str(&kept).unwrap());
    let one = pass(scenario, dialect, &format!("{session}-one"), Some(again.clone())).await?;
    let two = pass(scenario, dialect, &format!("{session}-two"), Some(again)).await?;
    if one != two {
        return Err(format!("two replays differ: {} {}", one.result, two.result));
    }
    if !one.executed.is_empty() || !one.recorded.is_empty() {
        return Err(format!("a replay ran {:?}", one.executed));
    }
    let same = |what: &str, a: Value, b: Value| {
        if a == b { Ok(()) } else { Err(format!("{what}: live\n    {a}\n  replayed\n    {b}")) }
    };
    for key in ["plan", "rejected", "notes", "text"] {
        same(key, live.result[key].clone(), one.result[key].clone())?;
    }
    // What the end of all calls cut off has no record.
    let mut wanted = live.result["toolResults"].clone();
    let mut cut = false;
    for (entry, replayed) in
        wanted.as_array_mut().unwrap().iter_mut().zip(one.result["toolResults"].as_array().unwrap())
    {
        if entry["error"]["message"].as_str().is_some_and(|text| text.contains("`totalToolMs`")) {
            same("the code", json!("replay.miss"), replayed["error"]["code"].clone())?;
            (*entry, cut) = (replayed.clone(), true);
        }
    }
    same("toolResults", wanted, one.result["toolResults"].clone())?;
    if cut {
        return Ok(());
    }
    same("requests", sent(&live), sent(&one))
}

/// A recording as a table writes it, with signatures instead of calls.
fn recorded_call(entry: &Value) -> Recorded {
    let params = entry["params"].to_string();
    let tool = entry["tool_name"].as_str().unwrap();
    let signature = Signature::of_text(tool, None, params.as_bytes(), None).unwrap();
    let mut entry = entry.clone();
    entry["signature"] = signature.as_str().into();
    serde_json::from_value(entry).unwrap()
}

/// The bodies of requests, as text, without the secrets of their boxes.
fn sent(played: &Played) -> Value {
    let masked = |request: &Value| {
        let text = request["body"].to_string();
        let mut pieces = text.split("TOOL RESULT ");
        let mut out = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let secret = piece.len() > 32 && piece[..32].bytes().all(|b| b.is_ascii_hexdigit());
            out.push_str("TOOL RESULT ");
            out.push_str(if secret { &piece[32..] } else { piece });
        }
        Value::from(out)
    };
    played.requests.iter().map(masked).collect()
}

async fn pass(
    scenario: &Arc<Value>,
    dialect: &str,
    session: &str,
    replay: Option<Vec<Recorded>>,
) -> Result<Played, String> {
    let script = format!("scenario:{}", scenario["name"].as_str().unwrap());
    let retries = scenario["maxRetries"].as_u64().unwrap_or(0);
    let model = site::model(session, &script, dialect).max_retries(u32::try_from(retries).unwrap());
    let model = site::up_to_the_cut(model, &scenario["model"]);
    let executed = Executed::default();
    let input = match &scenario["input"] {
        Value::Null => json!({ "symbol": "BTC", "global_context": { "regime": "calm" } }),
        input => input.clone(),
    };
    let mut options = PassOptions::new(model, input)
        .tools(tools(scenario, &executed, &Dead::default(), &Held::default()))
        .policy(scenario.get("policy").map_or_else(Policy::default, |policy| {
            let policy = Json::parse_str(&policy.to_string()).unwrap().into_owned();
            Policy::from_json(&policy).unwrap()
        }));
    if let Some(text) = scenario["prompts"]["request"].as_str() {
        options = options.request_prompt(text);
    }
    if let Some(text) = scenario["prompts"]["plan"].as_str() {
        options = options.plan_prompt(text);
    }
    if scenario["strict"] == true {
        options = options.strict(true);
    }
    let is_replay = replay.is_some();
    options = match replay {
        Some(recorded) => options.plan_id("plan-1").replay(recorded),
        None => options.plan_id("plan-1").run_id("run-1").record_in_result(),
    };
    let mut pass = run_planning(options).map_err(|error| error.to_string())?;
    let mut events = Vec::new();
    while let Some(event) = pass.next().await {
        let fits = event.source.is_none()
            && event.request_id == event.run_id
            && event.project_id.is_none()
            && (is_replay || (event.plan_id == "plan-1" && event.run_id == "run-1"))
            && (event.at == event.at_ms) == is_replay;
        if !fits {
            return Err(format!("the envelope of {event:?}"));
        }
        let event = serde_json::to_value(event).unwrap();
        if event["type"] == scenario["cancel"] {
            pass.cancel("user");
        }
        events.push(event);
    }
    let (result, recorded) = match pass.result().await {
        Ok(mut planned) => {
            let recorded = std::mem::take(&mut planned.pass.recorded);
            (serde_json::to_value(planned).unwrap(), recorded)
        }
        Err(error) => {
            let pass = *error.pass.unwrap();
            let result = json!({
                "error": error.failure.code, "plan": null, "calls": pass.calls,
                "toolResults": pass.tool_results, "rejected": pass.rejected, "notes": pass.notes,
            });
            (result, pass.recorded)
        }
    };
    let executed = executed.lock().clone();
    Ok(Played { result, events, executed, requests: bodies(session).await, recorded })
}

/// Of the requests of a session, what does not change with the runtime.
async fn bodies(session: &str) -> Vec<Value> {
    let all = site::requests(session).await;
    let kept = ["wire", "body", "tools", "messages"];
    all.iter().map(|one| kept.map(|key| (key, one[key].clone())).into_iter().collect()).collect()
}

/// Whether what happened is what was wanted.
fn judge(scenario: &Value, dialect: &str, played: &Played) -> Result<(), String> {
    let Played { result, events, executed, requests, .. } = played;
    let got = json!({
        "recorded": recorded(&serde_json::to_value(&played.recorded).unwrap()),
        "plan": result["plan"], "error": result["error"], "executed": executed,
        "calls": calls(result), "results": results(result),
        "rejected": rejected(&result["rejected"]),
        "notes": rejected(&result["notes"]), "trace": trace(events),
        "fellBack": result["fellBack"], "usage": result["usage"],
    });
    for (key, want) in scenario["expect"].as_object().unwrap() {
        // A pass without a plan says what it had, not how it would have gone on.
        let left_out = result.get("error").is_some() && result.get(key).is_none();
        if key == "requests" || (left_out && ["fellBack", "usage"].contains(&key.as_str())) {
            continue;
        }
        if got[key] != *want {
            return Err(format!("{key}: wanted\n    {want}\n  got\n    {}", got[key]));
        }
    }
    for request in requests {
        site::acceptable(request, dialect)?;
    }
    if requests.len() != scenario["model"].as_array().unwrap().len() {
        return Err(format!("{} requests were made", requests.len()));
    }
    let wanted = scenario["expect"]["requests"].as_array().into_iter().flatten();
    wanted.enumerate().try_for_each(|(at, want)| check_request(&requests[at], want, at + 1))
}

fn check_request(request: &Value, want: &Value, number: usize) -> Result<(), String> {
    if want.get("tools").is_some_and(|tools| *tools != request["tools"]) {
        return Err(format!("request {number} offers {}", request["tools"]));
    }
    // What the model reads, whatever its wire is.
    let body = &request["body"];
    let system = body.get("system").unwrap_or_else(|| &body["systemInstruction"]);
    let read = format!("{}\n{}", said(system), said(&request["messages"]));
    let parts =
        |key: &str| want[key].as_array().into_iter().flatten().map(|part| part.as_str().unwrap());
    if let Some(part) = parts("has").find(|part| !read.contains(part)) {
        return Err(format!("request {number} lacks {part}: {read}"));
    }
    if let Some(part) = parts("lacks").find(|part| read.contains(part)) {
        return Err(format!("request {number} has {part}: {read}"));
    }
    Ok(())
}

/// All text of a part of a request.
pub fn said(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(said).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let texts = ["content", "parts", "text"].iter().filter_map(|key| members.get(*key));
            texts.map(said).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
