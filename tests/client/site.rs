//! The scripted provider, and the tables.

use futures::StreamExt;
use serde_json::Value;
use turnlock::Dialect;
use turnlock::json::Json;
use turnlock_client::Model;

use crate::platform::{self, LANES, say, url};

pub async fn get(path: &str) -> Value {
    serde_json::from_str(&platform::get(&format!("{}{path}", url())).await).unwrap()
}

/// All scenarios of a folder of tables.
pub async fn tables(folder: &str) -> Vec<Value> {
    let tables = get(&format!("/tables/{folder}")).await;
    let tables = tables.as_array().unwrap().clone();
    assert!(tables.len() > 20, "only {} of {folder}", tables.len());
    tables
}

/// What the provider was asked in a session, in order.
pub async fn requests(session: &str) -> Vec<Value> {
    get(&format!("/s/{session}/requests")).await.as_array().unwrap().clone()
}

/// A model of the scripted provider.
pub fn model(session: &str, script: &str, dialect: &str) -> Model {
    named(session, script, dialect, "scripted")
}

/// The fallbacks of a scenario.
pub fn fallbacks(session: &str, scenario: &Value) -> Vec<Model> {
    let script = format!("scenario:{}", scenario["name"].as_str().unwrap());
    let retries = scenario["maxRetries"].as_u64().unwrap_or(0);
    let wires = scenario["fallbacks"].as_array().into_iter().flatten().enumerate();
    let of = |(place, wire): (usize, &Value)| {
        let name = format!("fallback-{}", place + 1);
        let model = named(session, &script, wire.as_str().unwrap(), &name);
        model.max_retries(u32::try_from(retries).unwrap())
    };
    wires.map(of).collect()
}

fn named(session: &str, script: &str, dialect: &str, name: &str) -> Model {
    let base = format!("{}/s/{session}/{}/v1", url(), encoded(script));
    let model = match dialect {
        "anthropic" => Model::anthropic(name),
        "openai-responses" => Model::openai_responses(name),
        "gemini" => Model::gemini(name),
        "bedrock" => Model::bedrock("eu-west-1", name),
        "cohere" => Model::cohere(name),
        "ollama" => Model::ollama(name),
        other => Model::openai_chat("", name).dialect(Dialect::parse(other).unwrap()),
    };
    model.base_url(base).api_key("secret").max_retries(0)
}

/// The wires on which a scenario is played: the one that it names, or the first two and one of the
/// others, which its place decides. See `tests/lanes.mjs`.
pub fn wires(scenario: &Value, at: usize) -> Vec<String> {
    const LATER: [&str; 5] = ["openai-responses", "gemini", "bedrock", "cohere", "ollama"];
    let wires = match scenario["dialect"].as_str() {
        Some(dialect) => vec![dialect],
        None => vec!["openai-chat", "anthropic", LATER[at % LATER.len()]],
    };
    let plays = |wire: &&str| scenario["not"].get(*wire).is_none();
    wires.into_iter().filter(plays).map(str::to_owned).collect()
}

/// As one part of a path.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one =
        |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// The model, where its entries let a connection break; see `tests/provider/cut.mjs`. Natively what
/// came before the break is read anyway.
#[cfg(not(target_arch = "wasm32"))]
pub fn up_to_the_cut(model: Model, _: &Value) -> Model {
    model
}

/// The model, where its entries let a connection break; see `tests/provider/cut.mjs`.
#[cfg(target_arch = "wasm32")]
pub fn up_to_the_cut(model: Model, entries: &Value) -> Model {
    let mut entries = entries.as_array().into_iter().flatten();
    if !entries.any(|entry| entry["then"] == "cut") {
        return model;
    }
    use wasm_bindgen::{JsCast, JsValue};
    let script = include_str!("../provider/cut.mjs").replace("export ", "");
    let make = js_sys::Function::new_no_args(&format!("{script}\nreturn fetchUpToTheCut"));
    let fetch = make.call0(&JsValue::UNDEFINED).unwrap();
    model.fetch(fetch.unchecked_into())
}

/// Resolves when it is so, however busy the machine is; panics where that never comes.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..12_000 {
        if is_so().await {
            return;
        }
        platform::sleep(10).await;
    }
    panic!("never: {what}");
}

/// Resolves when the provider was asked in a session. No `until`: a future with an async closure is
/// not `Send` for every lifetime, and a replicate waits for this.
pub async fn asked(session: &str) {
    let mut looks = 0..12_000;
    while requests(session).await.is_empty() {
        assert!(looks.next().is_some(), "never: {session}");
        platform::sleep(10).await;
    }
}

/// Resolves when the provider has seen the connection close, of the first request of a session.
pub async fn closes(session: &str) {
    let closed = async || {
        requests(session).await.first().is_some_and(|request| request["closedEarly"] == true)
    };
    until(&format!("the connection of {session} closes"), closed).await;
}

/// Plays many at a time; panics with all that is wrong.
pub async fn play_all<F>(jobs: impl IntoIterator<Item = F>)
where
    F: Future<Output = Result<(), String>>,
{
    let played: Vec<_> = futures::stream::iter(jobs).buffer_unordered(LANES).collect().await;
    let count = played.len();
    let failures: Vec<_> = played.into_iter().filter_map(Result::err).collect();
    assert!(
        failures.is_empty(),
        "\n\n{}\n{} of {count} failed",
        failures.join("\n\n"),
        failures.len()
    );
    say!("{count} plays");
}

/// Whether a request is one that its provider takes.
pub fn acceptable(request: &Value, dialect: &str) -> Result<(), String> {
    let body = &request["body"];
    let Some(messages) = request["messages"].as_array() else { return Ok(()) };
    let read = |one: &Value| Json::parse_str(&one.to_string()).unwrap().into_owned();
    let dialect = Dialect::parse(dialect).unwrap();
    let mut violations = turnlock::history::diagnose(messages.iter().map(read), dialect).unwrap();
    // A thread that goes on has its beginning already.
    let thread = body["threadId"].is_string();
    violations.retain(|one| !thread || one.code.to_string() != "MSG_LIST_EMPTY");
    if violations.is_empty() { Ok(()) } else { Err(format!("refused: {violations:?} {body}")) }
}

/// Whether requests offered and said what was wanted.
pub fn check_requests(requests: &[Value], wanted: &Value) -> Result<(), String> {
    for (at, want) in wanted.as_array().into_iter().flatten().enumerate() {
        if want.is_null() {
            continue;
        }
        let at_request = format!("request {}", at + 1);
        let Some(got) = requests.get(at) else { return Err(format!("{at_request} was not made")) };
        let mut want = want.clone();
        // It has no choice, and leaves the tools out.
        if got["wire"] == "ollama" && want["choice"] == "none" {
            want["tools"] = Value::Array(Vec::new());
            want["choice"] = Value::Null;
        }
        // Its calls have no ids.
        if got["wire"] == "gemini"
            && let Some(parts) = want["has"].as_array_mut()
        {
            parts.retain(|part| !["c1", "c2", "c3", "old"].contains(&part.as_str().unwrap()));
        }
        for key in ["tools", "choice"] {
            if want.get(key).is_some_and(|want| *want != got[key]) {
                return Err(format!("{key} of {at_request}: {}", got[key]));
            }
        }
        let body = &got["body"];
        let text = body.to_string();
        if let Some(structured) = want["structured"].as_bool() {
            let format = [&body["response_format"], &body["text"]["format"], &body["format"]];
            let said = format.iter().any(|one| one.is_object())
                || body["generationConfig"]["responseJsonSchema"].is_object();
            let takes = structured && got["wire"] != "anthropic" && got["wire"] != "bedrock";
            if said != takes {
                return Err(format!("structured output of {at_request}: {text}"));
            }
        }
        let parts =
            |key: &str| want[key].as_array().into_iter().flatten().map(|p| p.as_str().unwrap());
        let places: Option<Vec<_>> = parts("ordered").map(|part| text.find(part)).collect();
        if places.is_none_or(|places| !places.is_sorted()) {
            return Err(format!("{at_request} has another order: {text}"));
        }
        if let Some(part) = parts("has").find(|part| !text.contains(part)) {
            return Err(format!("{at_request} lacks {part}: {text}"));
        }
        if let Some(part) = parts("lacks").find(|part| text.contains(part)) {
            return Err(format!("{at_request} has {part}: {text}"));
        }
    }
    Ok(())
}
