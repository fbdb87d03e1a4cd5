//! A pass whose tool really searches, as tests/requests/search.mjs plays it: live, then recorded,
//! then replayed twice; the planner of the scripted provider asks.

use std::collections::BTreeSet;

use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::planning::{PassOutcome, Policy, Reason, Recorded};
use turnlock::tool::Status;
use turnlock_client::planning::{audit_tool_use, inventory_tools};
use turnlock_client::{PassEvent, PassOptions, Planned, Tool, run_planning};

use crate::platform::{Seen, test};
use crate::site;

#[test]
async fn searches() {
    let searches = site::get("/tables/searches").await;
    let searches = searches.as_array().unwrap();
    assert_eq!(searches.len(), 4);
    let jobs =
        searches.iter().flat_map(|one| ["openai-chat", "anthropic", "gemini"].map(|d| (one, d)));
    let jobs = jobs.enumerate().map(|(at, (one, dialect))| async move {
        let played = play(&one["search"], dialect, &format!("rust-searches-{at}")).await;
        played.map_err(|why| format!("{} [{dialect}]\n  {why}", one["name"]))
    });
    site::play_all(jobs).await;
}

#[derive(Deserialize, Clone)]
struct Document {
    id: String,
    title: String,
    text: String,
}

/// Lower-case words, a plural without its `s`.
fn terms(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    words.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
}

/// The three best by BM25 (k1 = 1.2, b = 0.75), words of the title twice.
fn search(documents: &[Document], query: &str) -> Vec<Value> {
    let texts: Vec<Vec<String>> = documents
        .iter()
        .map(|one| [terms(&one.title), terms(&one.title), terms(&one.text)].concat())
        .collect();
    let count = texts.len() as f64;
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / count;
    let score = |text: &Vec<String>| -> f64 {
        let wanted: BTreeSet<String> = terms(query).into_iter().collect();
        let of_term = |term: &String| {
            let often = text.iter().filter(|one| *one == term).count() as f64;
            let holding = texts.iter().filter(|one| one.contains(term)).count() as f64;
            let rare = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
            let length = 0.25 + 0.75 * text.len() as f64 / average;
            rare * often * 2.2 / (often + 1.2 * length)
        };
        wanted.iter().map(of_term).sum()
    };
    let mut hits: Vec<_> = documents.iter().zip(texts.iter().map(score)).collect();
    hits.retain(|(_, score)| *score > 0.0);
    hits.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let hit = |(one, score): &(&Document, f64)| json!({ "id": one.id, "title": one.title, "score": (score * 100.0).round() / 100.0 });
    hits.iter().take(3).map(hit).collect()
}

#[derive(Deserialize)]
struct Query {
    query: String,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Plan {
    action: String,
    because: Vec<String>,
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, wanted: T, what: &str) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: wanted {wanted:?}, got {got:?}")) }
}

#[derive(PartialEq, Debug)]
struct Passed {
    result: Planned<Plan>,
    events: Vec<PassEvent>,
    bodies: Vec<Value>,
}

struct Player<'a> {
    search: &'a Value,
    dialect: &'a str,
    session: &'a str,
    searched: Seen<u32>,
    ordered: Seen<Vec<Value>>,
}

impl Player<'_> {
    fn tools(&self) -> Vec<Tool> {
        let documents: Vec<Document> =
            serde_json::from_value(self.search["documents"].clone()).unwrap();
        let schema = json!({
            "type": "object", "required": ["query"], "additionalProperties": false,
            "properties": { "query": { "type": "string", "minLength": 1 } },
        });
        let searched = self.searched.clone();
        let search_tool =
            Tool::new("search", "Searches the library.", schema, move |q: Query, _| {
                searched.set(searched.get() + 1);
                let hits = search(&documents, &q.query);
                async move { Ok::<_, String>(hits) }
            });
        let ordered = self.ordered.clone();
        let schema = json!({ "type": "object" });
        let order = Tool::new("place_order", "Places an order.", schema, move |args: Value, _| {
            ordered.lock().push(args);
            async { Ok::<_, String>(()) }
        });
        vec![search_tool.read_only(), order]
    }

    async fn pass(
        &self,
        mode: &str,
        own: impl FnOnce(PassOptions) -> PassOptions,
    ) -> Result<Passed, String> {
        let question = self.search["question"].as_str().unwrap();
        let title = self.search["title"].as_str().unwrap();
        let session = format!("{}-{mode}", self.session);
        let tools = self.tools();
        let allow = inventory_tools(&tools).unwrap().allow;
        same(allow.as_slice(), &["search".to_owned()], "the allowlist")?;
        let allow = Some([allow, vec!["place_order".to_owned()]].concat());
        let input =
            json!({ "question": question, "global_context": { "market_structure": "range" } });
        let options = PassOptions::new(site::model(&session, "planner", self.dialect), input)
            .tools(tools)
            .policy(Policy::default().allow(allow));
        let mut pass = run_planning(own(options)).map_err(|error| error.to_string())?;
        let mut events = Vec::new();
        while let Some(event) = pass.next().await {
            events.push(event);
        }
        let result = pass.result_as::<Plan>().await.map_err(|error| error.to_string())?;
        let requests = site::requests(&session).await;
        same(requests.len(), 2, "requests")?;
        same(requests[1]["body"].get("tools"), None, "tools of the plan pass")?;
        for request in &requests {
            site::acceptable(request, self.dialect)?;
        }
        same(result.pass.fell_back, None, "fellBack")?;
        let Plan { action, because } = &result.plan;
        same((action.as_str(), because[0].as_str()), ("act", title), "the plan")?;
        let said: Vec<_> = result
            .pass
            .calls
            .iter()
            .map(|one| (&*one.tool_name, one.status, one.refusal))
            .collect();
        let wanted = vec![
            ("search", Status::Ok, None),
            ("place_order", Status::Blocked, Some(Reason::NotReadOnly)),
            ("search", Status::Skipped, Some(Reason::Duplicate)),
        ];
        same(said, wanted, "calls")?;
        let PassOutcome::Result(hits) = &result.pass.tool_results[0].outcome else {
            return Err(format!("{:?}", result.pass.tool_results));
        };
        let read = hits
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit.get("title").and_then(Json::as_str).unwrap());
        let read: Vec<_> = read.map(str::to_owned).collect();
        same(&read, because, "what the model read")?;
        let audit = audit_tool_use(&events, &result.pass.plan_id);
        let used: Vec<_> = audit
            .calls
            .iter()
            .filter(|call| call.duration_ms.is_some())
            .map(|call| (&*call.tool_name, call.params.get("query"), &*call.reason, call.status))
            .collect();
        let question = question.into();
        let reason = "The input does not answer the question.";
        same(used, vec![("search", Some(&question), reason, "ok")], "the audit")?;
        let bodies = requests.iter().map(|one| one["body"].clone()).collect();
        Ok(Passed { result, events, bodies })
    }
}

/// Live, recorded, replayed.
async fn play(search: &Value, dialect: &str, session: &str) -> Result<(), String> {
    let player =
        Player { search, dialect, session, searched: Seen::default(), ordered: Seen::default() };
    let searched = || player.searched.get();
    let live = player.pass("live", |options| options).await?;
    same(live.events[0].source.as_deref(), None, "source")?;
    let recording = Seen::new(Vec::new());
    let kept = recording.clone();
    let paper = player
        .pass("paper", |options| options.source("paper").record(move |one| kept.lock().push(one)));
    let paper = paper.await?;
    let got = (paper.events[0].source.as_deref(), recording.lock().len(), searched());
    same(got, (Some("paper"), 1, 2), "the recording")?;
    let kept = serde_json::to_string(&*recording.lock()).unwrap();
    let kept: Vec<Recorded> = serde_json::from_str(&kept).unwrap();
    let one = player.pass("one", |options| options.replay(kept.clone())).await?;
    let two = player.pass("two", |options| options.replay(kept)).await?;
    same(searched(), 2, "searches: a replay runs no tool")?;
    same(&one, &two, "two replays")?;
    same(&one.result.pass.tool_results, &paper.result.pass.tool_results, "what was recorded")?;
    same(player.ordered.lock().len(), 0, "orders")
}
