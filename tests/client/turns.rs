//! The scenario tables of turns: see tests/scenarios/README.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock::guard::Dedupe;
use turnlock::history::Strategy;
use turnlock::json::Json;
use turnlock::stream::Usage;
use turnlock::turn::{Mode, Policy};
use turnlock_client::{
    ApprovalDecision, Control, Model, Reconciled, Tool, TurnOptions, TurnResult, run_plain_turn,
    run_turn,
};

use crate::lines::{Group, Reduction, canonical};
use crate::platform::{Seen, sleep, test};
use crate::{legs, site};

pub const TERMINAL: [&str; 4] = ["complete", "paused", "cancelled", "error"];

pub type Executed = Seen<Vec<String>>;
/// Whether the simulated process has ended.
pub type Dead = Seen<bool>;
/// Whether tools wait for what the table does behind the first event: on threads, a turn may have come
/// to its end before its reader is heard.
pub type Held = Seen<bool>;

#[test]
async fn tables() {
    play_tables("rust-turns").await;
}

/// Plays all of them, in sessions of these names.
pub async fn play_tables(sessions: &str) {
    let mut jobs = Vec::new();
    // The checks of this driver change no arguments.
    let fills = |scenario: &Value| {
        let mut tools = scenario["tools"].as_object().into_iter().flatten();
        tools.any(|(_, tool)| tool["fills"].is_object())
    };
    let all = site::tables("scenarios").await.into_iter().filter(|one| !fills(one));
    for (at, scenario) in all.enumerate() {
        let scenario = Arc::new(scenario);
        for dialect in site::wires(&scenario, at) {
            if dialect == "openai-chat" && is_plain(&scenario) {
                jobs.push((scenario.clone(), dialect.clone(), Run::Plain));
            }
            jobs.push((scenario.clone(), dialect, Run::Any));
        }
    }
    let plain = jobs.iter().filter(|(_, _, run)| matches!(run, Run::Plain)).count();
    assert!(plain > 50, "only {plain} plain turns");
    let jobs = jobs.into_iter().enumerate().map(|(at, (scenario, dialect, run))| async move {
        let session = format!("{sessions}-{at}");
        let played = play(scenario.clone(), &dialect, &session, run).await;
        played.map_err(|why| format!("{} [{dialect}, {run:?}]\n  {why}", scenario["name"]))
    });
    site::play_all(jobs).await;
}

/// The function that runs a turn.
#[derive(Debug, Clone, Copy)]
enum Run {
    Any,
    Plain,
}

/// Whether `run_plain_turn` runs the turn of a scenario: without a store, and with the history of
/// one message that scenarios have by default.
fn is_plain(scenario: &Value) -> bool {
    let plain = ["messages", "strategy", "fallbacks"].iter().all(|own| scenario[own].is_null());
    // A turn of the small function repairs nothing.
    let refused =
        scenario["model"].as_array().unwrap().iter().any(|one| one["message"].is_string());
    plain && scenario["store"] != true && !refused
}

async fn play(scenario: Arc<Value>, dialect: &str, session: &str, run: Run) -> Result<(), String> {
    let script = format!("scenario:{}", scenario["name"].as_str().unwrap());
    let model = site::up_to_the_cut(site::model(session, &script, dialect), &scenario["model"]);
    let retries = scenario["maxRetries"].as_u64().unwrap_or(0);
    let model = model.max_retries(u32::try_from(retries).unwrap());
    if scenario["store"] == true {
        legs::play(&scenario, &model, session).await?;
    } else {
        play_once(&scenario, model, session, run).await?;
    }
    let requests = site::requests(session).await;
    // Whatever the history was, every request is one that the provider takes.
    for request in &requests {
        let own = request["wire"].as_str().filter(|_| scenario["fallbacks"].is_array());
        site::acceptable(request, own.unwrap_or(dialect))?;
    }
    let scripted = scenario["model"].as_array().unwrap().len();
    // A turn that is cancelled at once may end before its request has left.
    let early = scenario["expect"]["status"] == "cancelled" && requests.len() < scripted;
    if early || requests.len() == scripted {
        return Ok(());
    }
    Err(format!("{} requests were made", requests.len()))
}

async fn play_once(
    scenario: &Arc<Value>,
    model: Model,
    session: &str,
    run: Run,
) -> Result<(), String> {
    let executed = Executed::default();
    let options = given(scenario, model).fallbacks(site::fallbacks(session, scenario));
    let held = held_by(&scenario["facts"]);
    let options = options.tools(tools(scenario, &executed, &Dead::default(), &held));
    let turn = match run {
        Run::Any => run_turn(options),
        Run::Plain => run_plain_turn(options),
    };
    let mut turn = turn.map_err(|error| error.to_string())?;
    let control = turn.control();
    let mut counts = BTreeMap::new();
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        let event: Value = event.to_json().to().unwrap();
        intervene(&control, &scenario["facts"], &event, &mut counts);
        held.set(false);
        events.push(event);
    }
    let result = turn.result().await;
    invariants(scenario, &events)?;
    let mut reduction =
        Reduction { scenario, known: BTreeMap::new(), lines: Vec::new(), group: Group::default() };
    events.iter().for_each(|event| reduction.event(event));
    reduction.flush();
    let requests = site::requests(session).await;
    let executed = executed.lock().clone();
    met(&scenario["expect"], &reduction.lines, &executed, Some(&result), &requests)
}

/// What a scenario says of a new turn.
pub fn given(scenario: &Value, model: Model) -> TurnOptions {
    let messages = match &scenario["messages"] {
        Value::Null => json!([{ "role": "user", "content": "go" }]),
        messages => messages.clone(),
    };
    let threads = scenario["strategy"] == "thread";
    let model = if threads { model.threads() } else { model };
    let mut options = TurnOptions::new(model, messages).request_id("request-1");
    if let Some(conversation) = scenario["conversationId"].as_str() {
        options = options.conversation_id(conversation);
    }
    if threads {
        options = options.strategy(Strategy::Thread);
    }
    if let Some(repairs) = scenario["repairOnError"].as_bool() {
        options = options.repair_on_error(repairs);
    }
    if let Some(project) = scenario["projectId"].as_str() {
        options = options.project_id(project);
    }
    if let Some(system) = scenario["system"].as_str() {
        options = options.system(system);
    }
    if scenario["answerSchema"].is_object() {
        options = options.answer_schema(&scenario["answerSchema"]);
    }
    if scenario["mode"] == "unified" {
        options = options.mode(Mode::Unified);
    }
    if let Some(policy) = scenario.get("policy") {
        let policy = Json::parse_str(&policy.to_string()).unwrap().into_owned();
        options = options.policy(Policy::from_json(&policy).unwrap());
    }
    options
}

pub fn tools(scenario: &Value, executed: &Executed, dead: &Dead, held: &Held) -> Vec<Tool> {
    let all = scenario["tools"].as_object().into_iter().flatten();
    let process = (dead.clone(), held.clone());
    all.map(|(name, tool)| tool_of(name, tool, executed.clone(), process.clone())).collect()
}

/// Holds tools until the first event is read, where the table does something behind it.
pub fn held_by(facts: &Value) -> Held {
    let held = Held::default();
    let mut all = facts.as_array().into_iter().flatten();
    held.set(all.any(|fact| fact["after"] == "phase_start"));
    held
}

/// A tool that behaves as the table says.
fn tool_of(name: &str, table: &Value, executed: Executed, process: (Dead, Held)) -> Tool {
    let schema = table.get("schema").cloned().unwrap_or_else(|| json!({ "type": "object" }));
    let mut tool = match table["special"].as_str() {
        Some(special) => special_tool(name, schema, special, &executed),
        None => rust_tool(name, schema, table.clone(), executed, process),
    };
    let whole = |key: &str| table[key].as_u64();
    if table["readOnly"] == true {
        tool = tool.read_only();
    }
    if table["idempotent"] == true {
        tool = tool.idempotent();
    }
    tool = match table["dedupe"].as_str() {
        Some("allow") => tool.dedupe(Dedupe::Allow),
        Some("block") => tool.dedupe(Dedupe::Block),
        Some("replay") => tool.dedupe(Dedupe::Replay),
        _ => tool,
    };
    if let Some(ms) = whole("timeoutMs") {
        tool = tool.timeout_ms(ms);
    }
    if let Some(bytes) = whole("maxResultBytes") {
        tool = tool.max_result_bytes(bytes);
    }
    if table["untrusted"] == true {
        tool = tool.untrusted();
    }
    if let Some(calls) = whole("maxCalls") {
        tool = tool.max_calls(u32::try_from(calls).unwrap());
    }
    if let Some(ms) = whole("reuseMs") {
        tool = tool.reuse_ms(ms);
    }
    if table["needsApproval"] == true {
        tool = tool.needs_approval();
    }
    if let Some(reason) = table["denies"].as_str() {
        let denial = ApprovalDecision::Deny(reason.to_owned());
        tool = tool.decide_approval(move |_: Value| denial.clone());
    }
    if table["page"] == true {
        tool = tool.page();
    }
    if let Some(key) = table["action"].as_str() {
        let key = key.to_owned();
        tool = tool.action(move |args: Value| {
            // As `String(value)`.
            args[&key].as_str().map_or_else(|| args[&key].to_string(), str::to_owned)
        });
    }
    tool
}

fn rust_tool(
    name: &str,
    schema: Value,
    table: Value,
    executed: Executed,
    (dead, held): (Dead, Held),
) -> Tool {
    let said = name.to_owned();
    let reconciles = table["reconciles"].clone();
    let tool = Tool::new(name, name, schema, move |args: Value, context| {
        executed.lock().push(format!("{said} {}", canonical(&args)));
        if let Some(usage) = table["spends"].as_object() {
            let tokens = |name: &str| usage.get(name).and_then(Value::as_u64);
            context.report_usage(Usage {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                ..Usage::default()
            });
        }
        let starts =
            executed.lock().iter().filter(|one| one.starts_with(&format!("{said} "))).count();
        let (table, dead, held) = (table.clone(), dead.clone(), held.clone());
        async move {
            while held.get() {
                sleep(1).await;
            }
            if starts as u64 <= table["crashes"].as_u64().unwrap_or(0) {
                dead.set(true);
                futures::future::pending::<()>().await;
            }
            if table["hangs"] == true {
                futures::future::pending::<()>().await;
            }
            if let Some(why) = table["throws"].as_str() {
                return Err(why.to_owned());
            }
            if let Some(text) = table.get("returnsText") {
                let times = usize::try_from(text["times"].as_u64().unwrap()).unwrap();
                return Ok(json!(text["repeat"].as_str().unwrap().repeat(times)));
            }
            Ok(table["returns"].clone())
        }
    });
    if reconciles.is_null() {
        return tool;
    }
    let said = name.to_owned();
    tool.reconcile(move |call, key| {
        assert!(call.name == said && key.len() == 64, "a call to reconcile");
        let answer = reconciles.clone();
        async move {
            if answer == "hangs" {
                futures::future::pending::<()>().await;
            }
            if let Some(why) = answer["throws"].as_str() {
                return Err(why.to_owned());
            }
            Ok(match (answer.get("result"), answer["error"].as_str()) {
                (Some(result), _) => Reconciled::Returned(result.clone()),
                (None, Some(error)) => Reconciled::Failed(error.to_owned()),
                (None, None) => Reconciled::Unknown,
            })
        }
    })
}

/// What only JavaScript can return; natively what comes nearest.
#[cfg(not(target_arch = "wasm32"))]
fn special_tool(name: &str, schema: Value, special: &str, executed: &Executed) -> Tool {
    let (said, executed) = (name.to_owned(), executed.clone());
    let is_nothing = special == "undefined";
    Tool::new(name, name, schema, move |args: Value, _| {
        executed.lock().push(format!("{said} {}", canonical(&args)));
        // A map whose keys are no texts has no JSON.
        let value = (!is_nothing).then(|| BTreeMap::from([((1, 2), 3)]));
        async move { Ok::<_, String>(value) }
    })
}

/// What only JavaScript can return.
#[cfg(target_arch = "wasm32")]
fn special_tool(name: &str, schema: Value, special: &str, executed: &Executed) -> Tool {
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    let body = match special {
        "undefined" => "return undefined",
        "cycle" => "const ring = {}; ring.self = ring; return ring",
        "bigint" => "return { big: 1n }",
        _ => "return () => 1",
    };
    let (said, executed) = (name.to_owned(), executed.clone());
    let note = Closure::<dyn Fn(String)>::new(move |args: String| {
        let args: Value = serde_json::from_str(&args).unwrap();
        executed.lock().push(format!("{said} {}", canonical(&args)));
    });
    let make = js_sys::Function::new_with_args(
        "note",
        &format!("return (args) => {{ note(JSON.stringify(args)); {body} }}"),
    );
    let note = note.into_js_value();
    let function = make.call1(&wasm_bindgen::JsValue::UNDEFINED, &note).unwrap();
    Tool::js(name, name, schema, function.unchecked_into())
}

/// Pauses or cancels where the table says.
pub fn intervene(
    control: &Control,
    facts: &Value,
    event: &Value,
    counts: &mut BTreeMap<String, u64>,
) {
    let kind = event["type"].as_str().unwrap();
    let count = counts.entry(kind.to_owned()).or_default();
    *count += 1;
    for fact in facts.as_array().into_iter().flatten() {
        if fact["after"] != kind || fact["nth"].as_u64().unwrap_or(1) != *count {
            continue;
        }
        match fact["do"].as_str() {
            Some("cancel") => control.cancel(fact["reason"].as_str().unwrap_or_default()),
            _ => control.pause(),
        }
    }
}

fn invariants(scenario: &Value, events: &[Value]) -> Result<(), String> {
    let order = |event: &Value| match event["phase"].as_str().unwrap() {
        "tool_phase" | "unified" => 0,
        "action_phase" => 1,
        _ => 2,
    };
    let mut last = 0;
    for (at, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        let ends = TERMINAL.contains(&kind) == (at + 1 == events.len());
        let fits = event["seq"].as_u64() == Some(at as u64 + 1)
            && event["requestId"] == "request-1"
            && event["projectId"] == scenario["projectId"]
            && event["conversationId"] == scenario["conversationId"]
            && ends
            && (order(event) >= last || kind == "phase_start");
        if !fits {
            return Err(format!("event {at} of {events:?}"));
        }
        last = order(event);
    }
    Ok(())
}

/// Whether what happened is what was wanted.
pub fn met(
    expect: &Value,
    lines: &[String],
    executed: &[String],
    result: Option<&TurnResult>,
    requests: &[Value],
) -> Result<(), String> {
    let list = |lines: &[String]| lines.iter().map(|l| format!("    {l}\n")).collect::<String>();
    let wanted: Vec<String> = expect["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l.as_str().unwrap().to_owned())
        .collect();
    if lines != wanted {
        return Err(format!("wanted\n{}  got\n{}", list(&wanted), list(lines)));
    }
    let same = |what: &str, want: Option<&Value>, got: Value| match want {
        Some(want) if *want != got => Err(format!("{what}: wanted {want}, got {got}")),
        _ => Ok(()),
    };
    same("executed", expect.get("executed"), json!(executed))?;
    site::check_requests(requests, &expect["requests"])?;
    let Some(result) = result else { return Ok(()) };
    let result = serde_json::to_value(result).unwrap();
    for key in ["status", "text", "fullContent", "messages", "model", "finishReason", "object"] {
        same(key, expect.get(key), result[key].clone())?;
    }
    for all in ["usage", "totalUsage"] {
        for (key, want) in expect[all].as_object().into_iter().flatten() {
            same(key, Some(want), result[all][key].clone())?;
        }
    }
    let codes = result["repairs"].as_array().unwrap().iter().map(|one| one["code"].clone());
    same("repairs", expect.get("repairs"), codes.collect())
}
