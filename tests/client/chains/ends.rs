//! Chains that are dropped, callbacks that panic, and what callbacks may give.

use std::collections::BTreeMap;

use std::future::ready;

use futures::{StreamExt, future, stream};
use serde_json::{Value, json};
use turnlock::chain::{Costs, Failure, Limits, Stop};
use turnlock::json::Json;
use turnlock_client::chain::{
    CacheEntry, Callbacks, ChainCache, ChainEventKind, ChainOptions, ChainPath, ChainResult,
    ChainStatus, ChainText, Classifier, Complexity, MemoryCache, RunningChain, StepContext,
    StepError, StepStatus, SynthesisContext, run_chain,
};

use turnlock_client::{BoxFuture, MaybeSend, MaybeSync};

use crate::platform::{Seen, post, signal, sleep, test, url};
use crate::site;

/// Every callback, by the name that the core has for it, and the two halves of the cache.
const KINDS: [&str; 11] = [
    "answer",
    "plan",
    "search",
    "refine",
    "synthesize",
    "classify",
    "assess",
    "condition",
    "replan",
    "get",
    "set",
];

/// What happens in the callback `at`.
#[derive(Clone)]
struct Trouble {
    at: &'static str,
    what: What,
    entered: Seen<u32>,
    dropped: Seen<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Hang,
    /// Hangs; its destructor panics.
    HangBadly,
    Panic,
    PanicLater,
}

impl Trouble {
    fn new(at: &'static str, what: What) -> Self {
        let (entered, dropped) = Default::default();
        Self { at, what, entered, dropped }
    }

    async fn pass(&self, kind: &str) {
        if kind != self.at {
            return;
        }
        self.entered.set(self.entered.get() + 1);
        match self.what {
            What::Panic => panic!("planned: {kind}"),
            What::PanicLater => {
                sleep(0).await;
                panic!("planned, later: {kind}");
            }
            What::Hang | What::HangBadly => {
                let _guard = Guard(self.clone());
                future::pending().await
            }
        }
    }
}

struct Guard(Trouble);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.set(self.0.dropped.get() + 1);
        assert!(self.0.what != What::HangBadly, "planned: a destructor");
    }
}

struct TroubledCache(MemoryCache, Trouble);

impl ChainCache for TroubledCache {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<CacheEntry>> {
        Box::pin(async move {
            self.1.pass("get").await;
            self.0.get(key).await
        })
    }

    fn set<'a>(&'a self, key: &'a str, entry: CacheEntry) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.1.pass("set").await;
            self.0.set(key, entry).await;
        })
    }
}

type Given = (ChainOptions, Callbacks);

fn compare() -> ChainOptions {
    ChainOptions::new("Compare the two.")
}

fn start((options, callbacks): Given) -> RunningChain {
    run_chain(options, callbacks).unwrap()
}

/// Every callback there is; steps a, b (conditional) and c (a refinement).
fn troubled(trouble: &Trouble) -> Given {
    let said = if trouble.at == "answer" { Complexity::Simple } else { Complexity::Complex };
    let plan = json!([
        { "id": "a", "type": "search", "query": "a" },
        { "id": "b", "type": "search", "query": "b", "depends_on": ["a"], "when": "so" },
        { "id": "c", "type": "refine", "depends_on": ["a"] },
    ]);
    let callbacks = Callbacks::new(
        says("answer", trouble, "from memory"),
        says("plan", trouble, plan),
        says("search", trouble, json!(["found"])),
        says("synthesize", trouble, "from results"),
    )
    .refine(says("refine", trouble, "short"))
    .classify(says("classify", trouble, said))
    .assess(says("assess", trouble, 0.5))
    .condition(says("condition", trouble, true))
    .replan(says("replan", trouble, None::<Value>))
    .cache(TroubledCache(MemoryCache::new(), trouble.clone()));
    (compare().limits(Limits::default().retry_ms(0).diminishing(0.0)), callbacks)
}

/// A callback that says something, behind its trouble.
fn says<C, T>(
    kind: &'static str,
    trouble: &Trouble,
    value: T,
) -> impl Fn(C) -> BoxFuture<'static, Result<T, StepError>> + MaybeSend + MaybeSync + 'static + use<C, T>
where
    T: Clone + MaybeSend + MaybeSync + 'static,
    C: 'static,
{
    let trouble = trouble.clone();
    move |_| {
        let (trouble, value) = (trouble.clone(), value.clone());
        Box::pin(async move {
            trouble.pass(kind).await;
            Ok(value)
        })
    }
}

#[test]
async fn dropping_a_chain_drops_every_callback() {
    for what in [What::Hang, What::HangBadly] {
        // A write to the cache is finished.
        for at in KINDS.into_iter().filter(|at| *at != "set") {
            let trouble = Trouble::new(at, what);
            let mut chain = start(troubled(&trouble));
            let reading = async {
                while chain.next().await.is_some() {}
                panic!("{at} did not hang");
            };
            let entered = site::until(at, async || trouble.entered.get() == 1);
            future::select(Box::pin(reading), Box::pin(entered)).await;
            assert_eq!(trouble.dropped.get(), 0, "{at}");
            drop(chain);
            site::until(at, async || trouble.dropped.get() == 1).await;
            if what == What::Hang {
                // Callbacks are gone, and what they own.
                site::until(at, async || trouble.entered.others() == 0).await;
            }
        }
    }
}

#[test]
async fn a_call_that_takes_too_long_is_dropped() {
    let trouble = Trouble::new("search", What::Hang);
    let (hangs, dropped) = (trouble.clone(), trouble.dropped.clone());
    let plan = json!([
        { "id": 1, "type": "search", "query": "slow" },
        { "id": 2, "type": "search", "query": "quick" },
    ]);
    let callbacks = Callbacks::new(
        async |_| Err::<ChainText, _>("not asked"),
        move |_| ready(Ok::<_, StepError>(plan.clone())),
        move |context: StepContext| {
            let hangs = hangs.clone();
            async move {
                if context.query == "slow" {
                    hangs.pass("search").await;
                }
                Ok::<_, StepError>([context.query.clone()])
            }
        },
        // While the chain goes on.
        move |_| ready(Ok::<_, StepError>(format!("{} dropped", dropped.get()))),
    )
    .classify(async |_| Ok::<_, StepError>(Complexity::Complex));
    let options = compare().limits(Limits::default().step_ms(2000).max_retries(0));
    let result = run((options, callbacks)).await.result;
    assert_eq!(result.outcome.text, "1 dropped");
    assert_eq!(failures(&result)["1"], "chain.timeout");
}

#[test]
async fn dropping_a_chain_closes_its_connections() {
    let session = "rust-chain-drop";
    let plan = json!([
        { "id": 1, "type": "search", "query": "stall" },
        { "id": 2, "type": "search", "query": "stall-head" },
    ]);
    let callbacks = Callbacks::new(
        async |_| Err::<ChainText, _>("not asked"),
        move |_| ready(Ok::<_, StepError>(plan.clone())),
        move |context: StepContext| async move {
            let url = format!("{}/s/{session}/{}/v1/chat/completions", url(), context.query);
            let body = json!({ "model": "x", "messages": [{ "role": "user", "content": "go" }] });
            let (_, text) = post(&url, body.to_string(), signal!(context)).await?;
            Ok::<_, StepError>(text)
        },
        async |_| Err::<ChainText, _>("not asked"),
    )
    .classify(async |_| Ok::<_, StepError>(Complexity::Complex));
    let chain = start((compare(), callbacks));
    site::until("two requests", async || site::requests(session).await.len() == 2).await;
    let closed = async || {
        let requests = site::requests(session).await;
        requests.iter().filter(|request| request["closedEarly"] == true).count()
    };
    assert_eq!(closed().await, 0);
    drop(chain);
    site::until("both are closed", async || closed().await == 2).await;
}

struct Ended {
    result: ChainResult,
    classifier: Option<Classifier>,
}

async fn run(given: Given) -> Ended {
    let mut chain = start(given);
    let (mut classifier, mut ends) = (None, 0);
    while let Some(event) = chain.next().await {
        match event.kind {
            ChainEventKind::Classified { by, .. } => classifier = Some(by),
            ChainEventKind::Complete { .. } => ends += 1,
            _ => {}
        }
    }
    assert_eq!(ends, 1);
    Ended { result: chain.result().await, classifier }
}

fn failures(result: &ChainResult) -> BTreeMap<String, String> {
    let failed = result.steps.iter().filter_map(|step| Some((&step.id, step.error.as_ref()?)));
    failed.map(|(id, error)| (id.to_string(), error.code.clone())).collect()
}

#[test]
async fn a_panic_is_the_failure_of_its_call() {
    for (at, what) in KINDS.into_iter().flat_map(|at| [(at, What::Panic), (at, What::PanicLater)]) {
        let trouble = Trouble::new(at, what);
        let Ended { result, classifier } = run(troubled(&trouble)).await;
        let code = |error: Option<&Failure>| error.map(|one| one.code.clone());
        let failed: Vec<_> = failures(&result).into_iter().collect();
        let pairs: Vec<(&str, &str)> =
            failed.iter().map(|(id, code)| (id.as_str(), code.as_str())).collect();
        let threw = format!("{at}.threw");
        let expected: &[(&str, &str)] = match at {
            "search" => &[("a", "search.threw")],
            "refine" => &[("c", "refine.threw")],
            "condition" => &[("b", "condition.threw")],
            "synthesize" => &[("synthesis", "synthesize.threw")],
            _ => &[],
        };
        assert_eq!(pairs, expected, "{at}");
        match at {
            "answer" | "synthesize" => {
                assert_eq!(result.outcome.status, ChainStatus::Failed, "{at}");
                assert_eq!(code(result.outcome.error.as_ref()), Some(threw));
                assert_eq!(trouble.entered.get(), 2, "{at} is tried again");
            }
            "plan" => {
                assert_eq!(code(result.outcome.fell_back.as_ref()).as_deref(), Some("plan.failed"))
            }
            "search" => {
                assert_eq!(
                    code(result.outcome.fell_back.as_ref()).as_deref(),
                    Some("chain.no_results")
                );
            }
            "classify" => assert_eq!(classifier, Some(Classifier::Core)),
            "assess" => assert_eq!(result.completeness, None),
            _ => assert_eq!(result.outcome.status, ChainStatus::Complete, "{at}"),
        }
        if at != "assess" && result.outcome.path == ChainPath::Chain {
            assert_eq!(result.completeness, Some(0.5), "{at}");
        }
        assert!(trouble.entered.get() > 0, "{at} was not called");
    }
}

/// One search and a synthesis.
fn searching<R, E, S, W>(
    search: impl Fn(StepContext) -> S + MaybeSend + MaybeSync + 'static,
    synthesize: impl Fn(SynthesisContext) -> W + MaybeSend + MaybeSync + 'static,
) -> Given
where
    R: serde::Serialize + 'static,
    E: Into<StepError> + 'static,
    S: Future<Output = Result<R, E>> + MaybeSend + 'static,
    W: Future<Output = Result<ChainText, StepError>> + MaybeSend + 'static,
{
    let callbacks = Callbacks::new(
        async |_| Ok::<_, StepError>("from memory"),
        async |_| {
            Ok::<_, StepError>(json!([{ "id": 1, "type": "search", "query": "Cafe\u{301}" }]))
        },
        search,
        synthesize,
    )
    .classify(async |_| Ok::<_, StepError>(Complexity::Complex));
    (compare().limits(Limits::default().retry_ms(0)), callbacks)
}

struct Unsayable;

impl std::fmt::Display for Unsayable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("planned: words of an error")
    }
}

struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("planned: a value")
    }
}

#[test]
async fn what_cannot_be_said_or_written() {
    let fail = async |_: SynthesisContext| Ok(ChainText::from("x"));
    let ended = run(searching(async |_| Err::<Value, _>(Unsayable), fail)).await.result;
    assert_eq!(failures(&ended)["1"], "search.threw");
    assert_eq!(ended.steps[0].attempts, 2);
    let ended = run(searching(async |_| Ok::<_, StepError>(Unwritable), fail)).await.result;
    assert_eq!(failures(&ended)["1"], "search.threw");
    // Keys that are no texts; whoever made it makes it again.
    let map = || BTreeMap::from([((1, 2), 3)]);
    let ended = run(searching(move |_| ready(Ok::<_, StepError>(map())), fail)).await.result;
    assert_eq!(failures(&ended)["1"], "json.not_serializable");
    assert_eq!(ended.steps[0].attempts, 1);
    let own = async |_| Err::<Value, _>(StepError::new("no").code("index.gone").fatal());
    let ended = run(searching(own, fail)).await.result;
    assert_eq!((failures(&ended)["1"].as_str(), ended.steps[0].attempts), ("index.gone", 1));
    assert_eq!(ended.steps[0].error.as_ref().unwrap().message, "no");
}

#[test]
async fn a_result_as_deep_as_the_core_takes() {
    let deep = (0..127).fold(json!("found"), |inside, _| json!([inside]));
    let given = deep.clone();
    let seen = Seen::new(Value::Null);
    let saw = seen.clone();
    let options = searching(
        move |_| ready(Ok::<_, StepError>(given.clone())),
        move |context| {
            saw.set(context.results[0].result.clone().into());
            ready(Ok("read".into()))
        },
    );
    let result = run(options).await.result;
    assert_eq!(result.outcome.text, "read");
    assert_eq!(result.steps[0].result.as_ref(), Some(&Json::from(deep.clone())));
    assert_eq!(*seen.lock(), deep);
}

#[test]
async fn text_that_breaks_off() {
    for panics in [false, true] {
        let options = searching(
            async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
            move |_| {
                let pieces = stream::iter(["First ", "second"]).map(move |piece| {
                    assert!(!panics || piece == "First ", "planned: a piece");
                    if piece == "First " { Ok(piece) } else { Err("the line went dead") }
                });
                ready(Ok(ChainText::stream(pieces)))
            },
        );
        let result = run(options).await.result;
        assert_eq!(
            (result.outcome.status, result.outcome.text.as_str()),
            (ChainStatus::Failed, "First ")
        );
        assert_eq!(result.outcome.error.unwrap().code, "synthesize.threw");
        assert_eq!(result.steps[1].attempts, 1, "not behind a word that was shown");
    }
}

#[test]
async fn text_without_end() {
    let options = searching(
        async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
        async |_| Ok(ChainText::stream(stream::repeat("more ").map(Ok::<_, StepError>))),
    );
    let mut chain = start(options);
    while let Some(event) = chain.next().await {
        if event.chunk().is_some() {
            chain.cancel("enough");
        }
    }
    let result = chain.result().await;
    assert_eq!(
        (result.outcome.status, result.outcome.stopped),
        (ChainStatus::Cancelled, Some(Stop::Cancelled))
    );
    assert!(
        result.outcome.text.starts_with("more ") && result.outcome.text.len() < 1000,
        "{}",
        result.outcome.text.len()
    );
}

/// A step that writes more than a result may have is stopped, and its text is no result.
#[test]
async fn a_step_that_writes_without_end() {
    let plan = json!({
        "pattern": "sequential",
        "steps": [
            { "id": 1, "type": "search", "query": "x" },
            { "id": 2, "type": "synthesize", "query": "w", "depends_on": [1] },
            { "id": 3, "type": "search", "query": "y" },
        ],
    });
    let pieces = Seen::<usize>::default();
    let taken = pieces.clone();
    let callbacks = Callbacks::new(
        async |_| Ok::<_, StepError>(ChainText::from("simple")),
        move |_| ready(Ok::<_, StepError>(plan.clone())),
        async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
        move |context: SynthesisContext| {
            let taken = taken.clone();
            let endless = stream::repeat("x".repeat(64 * 1024)).map(move |piece| {
                *taken.lock() += 1;
                Ok::<_, StepError>(piece)
            });
            let text = if context.is_final { "the end".into() } else { ChainText::stream(endless) };
            ready(Ok::<_, StepError>(text))
        },
    );
    let options = ChainOptions::new("Compare Ohio and Texas, and tell why.");
    let result = run((options, callbacks)).await.result;
    let step = result.steps.iter().find(|step| step.query == "w").unwrap();
    assert_eq!(step.status, StepStatus::Failed);
    assert_eq!(step.error.as_ref().unwrap().code, "chain.result_too_large");
    assert!(*pieces.lock() < 64, "{} pieces of 64 KiB", pieces.lock());
}

#[test]
async fn keys_are_those_of_the_npm_package() {
    let cache = MemoryCache::new();
    let (options, callbacks) = searching(
        async |context: StepContext| Ok::<_, StepError>([context.query.clone()]),
        async |_| Ok("x".into()),
    );
    let result = run((options.model("index".into()), callbacks.cache(cache.clone()))).await.result;
    assert_eq!(result.steps[0].status, StepStatus::Done);
    let keys: Vec<_> = cache.entries().into_keys().collect();
    let key = r#"{"focus":"","inputs":[],"model":"index","query":"Café","type":"search"}"#;
    assert_eq!(keys, [key], "in normal form C");
    let entry = serde_json::to_value(&cache.entries()[key]).unwrap();
    let members: Vec<_> = entry.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["value", "storedAt"]);
}

#[test]
async fn a_value_that_is_null_is_a_result() {
    let options =
        searching(async |_| Ok::<_, StepError>(None::<u32>), async |_| Ok("nothing".into()));
    let result = run(options).await.result;
    assert_eq!(result.steps[0].result, Some(Json::Null));
}

#[test]
async fn a_search_refines_where_nothing_else_does() {
    let plan = json!({
        "pattern": "sequential",
        "steps": [
            { "id": 1, "type": "search", "query": "x" },
            { "id": 2, "type": "refine", "query": "z", "focus": "y" },
        ],
    });
    let callbacks = Callbacks::new(
        async |_| Err::<ChainText, _>("not asked"),
        move |_| ready(Ok::<_, StepError>(plan.clone())),
        async |context: StepContext| {
            Ok::<_, StepError>(format!("{} from {}", context.focus, context.inputs.len()))
        },
        async |_| Ok::<_, StepError>("done"),
    )
    .classify(async |_| Ok::<_, StepError>(Complexity::Complex));
    let result = run((compare(), callbacks)).await.result;
    assert_eq!(result.steps[1].result, Some("y from 1".into()));
}

#[test]
async fn options_out_of_range_are_refused() {
    let callbacks = || {
        Callbacks::new(
            async |_| Ok::<_, StepError>("x"),
            async |_| Ok::<_, StepError>(()),
            async |_| Ok::<_, StepError>(()),
            async |_| Ok::<_, StepError>("x"),
        )
    };
    let steps = Limits::default().max_steps(0);
    let cost = Costs::default().search(f64::NAN);
    let refused = [
        (ChainOptions::new("  "), "query"),
        (compare().limits(steps), "limits.maxSteps"),
        (compare().costs(cost), "costs.search"),
        (compare().patterns(vec![]), "patterns"),
    ];
    for (options, named) in refused {
        let error = run_chain(options, callbacks()).unwrap_err();
        assert_eq!(error.code, "options.invalid");
        assert!(error.message.contains(named), "{error}");
    }
    let result = run((compare().enabled(false), callbacks())).await.result;
    assert_eq!((result.outcome.path, result.classification), (ChainPath::Simple, None));
}
