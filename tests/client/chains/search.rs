//! Chains end to end, as tests/chain/search.mjs has them: scripted models, and the same full-text
//! search over the same documents, all over HTTP.

use std::future::ready;

use futures::{StreamExt, future, stream};
use serde_json::{Value, json};
use turnlock::chain::{Pattern, Stop};
use turnlock_client::chain::{
    AnswerContext, Callbacks, ChainOptions, ChainPath, ChainResult, ChainStatus, ChainText,
    Complexity, MemoryCache, PatternStats, PlanContext, StepContext, StepError, StepStatus,
    SynthesisContext, run_chain,
};

use super::invariants;
use crate::platform::{NO_SIGNAL, Seen, Signal, post, signal, sleep, test, url};
use crate::site;

const COMPARE: &str = "Compare the Ashby lighthouse and the Corran lighthouse: which one is older, \
                       and who built each?";
const FOLLOW: &str =
    "Who built the lighthouse on the island where the writer of The Long Tide was born?";
const INVESTIGATE: &str =
    "Investigate the Halcyon lamp oil: was it recalled, and if so, what was the cause of it?";

/// One call of a model of tests/provider/chains.mjs, as pieces of text.
async fn ask(
    session: &str,
    model: &str,
    content: &str,
    signal: Signal,
) -> Result<Vec<String>, StepError> {
    let url = format!("{}/s/{session}/chain%3A{model}/v1/chat/completions", url());
    let body = json!({
        "model": model, "stream": true, "messages": [{ "role": "user", "content": content }],
    });
    let (status, text) = post(&url, body.to_string(), signal).await?;
    if status != 200 {
        return Err(StepError::new(format!("the model answered {status}")));
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let pieces = lines.filter(|line| line.starts_with('{')).map(|line| {
        let chunk: Value = serde_json::from_str(line).unwrap();
        chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
    });
    Ok(pieces.collect())
}

async fn written(session: &str, content: &str, signal: Signal) -> Result<ChainText, StepError> {
    let pieces = ask(session, "writer", content, signal).await?;
    Ok(ChainText::stream(stream::iter(pieces).map(Ok::<_, StepError>)))
}

/// `createSearch` of tests/chain/library.mjs over the texts of its folder.
async fn search(query: String) -> Result<Value, StepError> {
    let (_, found) = post(&format!("{}/search", url()), query, NO_SIGNAL).await?;
    Ok(serde_json::from_str(&found)?)
}

/// What a synthesis is told: the query, and each document that was found, once.
fn report(context: &SynthesisContext) -> String {
    let mut found = Vec::<(String, String)>::new();
    for document in context.results.iter().filter_map(|one| one.result.as_array()).flatten() {
        let part = |key: &str| document.get(key).unwrap().as_str().unwrap().to_owned();
        if found.iter().all(|(id, _)| *id != part("id")) {
            found.push((part("id"), part("text")));
        }
    }
    let lines: Vec<_> = found.iter().map(|(id, text)| format!("[{id}] {text}")).collect();
    format!("{}\n\n{}", context.query, lines.join("\n"))
}

/// What a small model would do: the focus says what to take out of the results.
fn refined(context: &StepContext) -> String {
    let items = context.inputs.iter().filter_map(|one| one.result.as_array()).flatten();
    let text: Vec<_> = items.map(|item| item.get("text").unwrap().as_str().unwrap()).collect();
    let text = text.join(" ");
    let before = context.focus.strip_suffix("(\\w+)").unwrap();
    let word = text.split_once(before).map(|(_, behind)| behind.split_whitespace().next());
    let word = word.flatten().unwrap_or_default();
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

type Searched = Seen<Vec<String>>;

/// Models behind the provider, a search over the library; `searched` is filled.
fn host(query: &str, session: &'static str, searched: &Searched) -> (ChainOptions, Callbacks) {
    let searched = searched.clone();
    let callbacks = Callbacks::new(
        move |context: AnswerContext| async move {
            written(session, &context.query, signal!(context)).await
        },
        move |context: PlanContext| async move {
            let pieces = ask(session, "planner", &context.prompt, signal!(context)).await;
            pieces.map(|pieces| pieces.concat())
        },
        move |context: StepContext| {
            searched.lock().push(context.query.clone());
            search(context.into_inner().query)
        },
        move |context: SynthesisContext| async move {
            written(session, &report(&context), signal!(context)).await
        },
    )
    .refine(async |context: StepContext| Ok::<_, StepError>(refined(&context)));
    (ChainOptions::new(query), callbacks)
}

struct Ran {
    events: Vec<Value>,
    result: ChainResult,
}

async fn run((options, callbacks): (ChainOptions, Callbacks)) -> Ran {
    let mut chain = run_chain(options, callbacks).unwrap();
    let mut events = Vec::new();
    while let Some(event) = chain.next().await {
        events.push(serde_json::to_value(&event).unwrap());
    }
    let result = chain.result().await;
    assert_eq!(invariants(&events, &result), Vec::<String>::new());
    Ran { events, result }
}

#[test]
async fn a_comparison_searches_side_by_side() {
    let session = "rust-chain-compare";
    let Ran { events, result } = run(host(COMPARE, session, &Searched::default())).await;
    assert_eq!(
        (result.outcome.path, result.outcome.stopped),
        (ChainPath::Chain, Some(Stop::PlanFinished))
    );
    let at = |kind: &str, id: u64| {
        events.iter().position(|event| event["type"] == kind && event["id"] == id).unwrap()
    };
    assert!(at("step_started", 2) < at("step_done", 1));
    for fact in ["1843", "Ida Thorne", "1861", "Samuel Okoye"] {
        assert!(result.outcome.text.contains(fact), "{fact} is not in: {}", result.outcome.text);
    }
    assert_eq!(site::requests(session).await.len(), 2, "a plan and a synthesis");
}

#[test]
async fn a_chain_follows_what_it_finds() {
    let (session, searched) = ("rust-chain-follow", Searched::default());
    let Ran { result, .. } = run(host(FOLLOW, session, &searched)).await;
    assert_eq!(searched.lock()[1], "lighthouse built engineer Veyra");
    assert!(result.outcome.text.contains("Ida Thorne"), "{}", result.outcome.text);
    assert_eq!(result.steps.len(), 4);
    assert!(result.steps.iter().all(|step| step.status == StepStatus::Done));
    assert_eq!(site::requests(session).await.len(), 2);
}

#[test]
async fn a_condition_picks_the_way() {
    let options = host(INVESTIGATE, "rust-chain-way", &Searched::default());
    let Ran { result, .. } = run(options).await;
    let status = |id: u64| result.steps.iter().find(|step| step.id == id.into()).unwrap().status;
    assert_eq!((status(2), status(3)), (StepStatus::Done, StepStatus::Skipped));
    assert!(result.outcome.text.contains("supplier"), "{}", result.outcome.text);
}

#[test]
async fn a_simple_query_is_one_request() {
    let (session, searched) = ("rust-chain-simple", Searched::default());
    let Ran { result, .. } = run(host("What is a causeway?", session, &searched)).await;
    assert_eq!(result.outcome.path, ChainPath::Simple);
    assert!(searched.lock().is_empty());
    assert_eq!(site::requests(session).await.len(), 1);
}

#[test]
async fn a_planner_without_a_plan() {
    let session = "rust-chain-unplanned";
    let query = "Compare the tax rules of Veyra and Stell and how they have changed since 1900.";
    let Ran { result, .. } = run(host(query, session, &Searched::default())).await;
    assert_eq!(result.outcome.path, ChainPath::Simple);
    assert_eq!(result.outcome.fell_back.unwrap().code, "plan.syntax");
    assert_eq!(site::requests(session).await.len(), 3, "the planner twice, then the answer");
}

#[test]
async fn what_was_searched_is_not_searched_again() {
    let (session, cache) = ("rust-chain-cache", MemoryCache::new());
    let play = async || {
        let searched = Searched::default();
        let (options, callbacks) = host(COMPARE, session, &searched);
        let Ran { result, .. } = run((options, callbacks.cache(cache.clone()))).await;
        let count = searched.lock().len();
        (result, count)
    };
    let (first, searches) = play().await;
    assert_eq!(searches, 2);
    // Another life of the page.
    let kept = serde_json::to_string(&cache.entries()).unwrap();
    let entries: std::collections::BTreeMap<String, _> = serde_json::from_str(&kept).unwrap();
    assert_eq!(entries.into_iter().collect::<MemoryCache>().entries(), cache.entries());
    let (second, searches) = play().await;
    assert_eq!(searches, 0);
    assert_eq!(second.steps.iter().filter(|step| step.cached).count(), 2);
    assert_eq!(first.outcome.text, second.outcome.text);
}

/// Counts what is dropped.
struct Counted(Seen<u32>);

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.lock() += 1;
    }
}

#[test]
async fn cancelled_in_the_middle() {
    let dropped = Seen::new(0);
    let drops = dropped.clone();
    let control = Seen::new(None::<turnlock_client::chain::ChainControl>);
    let cancels = control.clone();
    let session = "rust-chain-cancel";
    let callbacks = Callbacks::new(
        async |_| Err::<ChainText, _>("not asked"),
        move |context: PlanContext| async move {
            let pieces = ask(session, "planner", &context.prompt, signal!(context)).await;
            pieces.map(|pieces| pieces.concat())
        },
        move |_| {
            let (drops, cancels) = (Counted(drops.clone()), cancels.clone());
            async move {
                let _drops = drops;
                sleep(0).await;
                cancels.lock().as_ref().unwrap().cancel("enough");
                future::pending::<Result<Value, StepError>>().await
            }
        },
        async |_| Err::<ChainText, _>("not asked"),
    );
    let chain = run_chain(ChainOptions::new(COMPARE), callbacks).unwrap();
    control.set(Some(chain.control()));
    let result = chain.result().await;
    assert_eq!(
        (result.outcome.status, result.outcome.stopped),
        (ChainStatus::Cancelled, Some(Stop::Cancelled))
    );
    assert_eq!(result.outcome.error.unwrap().message, "enough");
    assert_eq!(dropped.get(), 2, "both searches are dropped");
}

#[test]
async fn feedback_is_counted_by_pattern() {
    let stats = PatternStats::new();
    let plan = json!({
        "pattern": "parallel",
        "steps": [
            { "id": 1, "type": "search", "query": "x" },
            { "id": 2, "type": "search", "query": "y" },
        ],
    });
    let callbacks = Callbacks::new(
        async |_| Ok::<_, StepError>("x"),
        move |_| ready(Ok::<_, StepError>(plan.clone())),
        async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
        async |context: SynthesisContext| {
            context.spend(1.5);
            context.spend(1.0);
            Ok::<_, StepError>("done")
        },
    )
    .classify(async |_| Ok::<_, StepError>(Complexity::Complex))
    .feedback(stats.clone());
    let chain = run_chain(ChainOptions::new(COMPARE), callbacks).unwrap();
    let control = chain.control();
    control.feedback(true).await;
    drop(chain);
    control.feedback(false).await;
    let parallel = stats.of(Pattern::Parallel);
    assert_eq!((parallel.n, parallel.successes), (1, 1));
    assert!((parallel.cost - 2.5).abs() < 1e-9, "what was spent adds up");
    assert_eq!(stats.choose(Pattern::ALL), None, "nothing is chosen without data");
    let restored = PatternStats::restore(&stats.export()).unwrap();
    assert_eq!(restored.export(), stats.export());
    assert_eq!(restored.of(Pattern::Parallel), parallel);
}

#[test]
async fn the_pattern_that_did_best_is_asked_for() {
    let known = || {
        let stats = PatternStats::new().enough(2).explore(0.0);
        for satisfied in [true, true, true, false] {
            stats.record(Pattern::Sequential, satisfied, 1.0, 10);
            stats.record(Pattern::Parallel, !satisfied, 1.0, 10);
        }
        stats
    };
    for (stats, asked) in [
        (known().prefer_best(), r#""pattern": "sequential""#),
        (known(), r#""pattern": "sequential|parallel|conditional""#),
        // A share of one keeps every query free.
        (known().prefer_best().explore(1.0), r#""pattern": "sequential|parallel|conditional""#),
    ] {
        let prompts = Seen::new(Vec::<String>::new());
        let seen = prompts.clone();
        let callbacks = Callbacks::new(
            async |_| Ok::<_, StepError>("x"),
            move |context: PlanContext| {
                seen.lock().push(context.prompt.clone());
                ready(Ok::<_, StepError>(
                    json!({ "steps": [{ "id": 1, "type": "search", "query": "x" }] }),
                ))
            },
            async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
            async |_| Ok::<_, StepError>("done"),
        )
        .classify(async |_| Ok::<_, StepError>(Complexity::Complex))
        .feedback(stats);
        let ran = run((ChainOptions::new(COMPARE), callbacks)).await;
        assert_eq!(ran.result.outcome.status, ChainStatus::Complete);
        let prompts = prompts.lock();
        assert!(prompts.len() == 1 && prompts[0].contains(asked), "{prompts:?}");
    }
}
