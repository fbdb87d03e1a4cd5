//! The callbacks of a scenario.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;
use futures::stream;
use serde_json::{Value, json};
use turnlock_client::chain::{
    AnswerContext, CacheEntry, Callbacks, ChainOptions, ChainText, Complexity, MemoryCache,
    PlanContext, StepContext, StepError, StepId, SynthesisContext,
};

use crate::lines::canonical;
use crate::platform::{Seen, now, sleep, spawn};

const QUERY: &str = "Compare the two, and say which one came first.";

#[derive(Clone)]
pub struct Host {
    scenario: Arc<Value>,
    /// How often each callback was called.
    pub asked: Seen<BTreeMap<&'static str, usize>>,
    counts: Seen<BTreeMap<String, u64>>,
    gates: Seen<BTreeMap<String, Gate>>,
    cache: Option<MemoryCache>,
}

/// Opened when the step has settled.
struct Gate {
    tell: Option<oneshot::Sender<()>>,
    open: Shared<oneshot::Receiver<()>>,
}

impl Host {
    pub fn new(scenario: Arc<Value>) -> Self {
        let entry = |entry: &Value| {
            let stored_at = now() as u64 - entry["ageMs"].as_u64().unwrap();
            (canonical(&entry["key"]), CacheEntry { value: entry["value"].clone(), stored_at })
        };
        let cache = scenario["cache"].as_array().map(|all| all.iter().map(entry).collect());
        let (asked, counts, gates) = Default::default();
        Self { scenario, asked, counts, gates, cache }
    }

    pub fn options(&self) -> ChainOptions {
        let mut options = json!({ "query": self.scenario["query"].as_str().unwrap_or(QUERY) });
        let own = self.scenario["options"].as_object().cloned().unwrap_or_default();
        options.as_object_mut().unwrap().extend(own);
        ChainOptions::from_json(options.into()).unwrap()
    }

    pub fn callbacks(&self) -> Callbacks {
        let [answer, plan, search, synthesize, refine] = std::array::from_fn(|_| self.clone());
        let mut callbacks = Callbacks::new(
            move |context: AnswerContext| ready(answer.answer(&context)),
            move |context: PlanContext| plan.clone().plan(context),
            move |context: StepContext| search.clone().searched("search", context),
            move |context: SynthesisContext| synthesize.clone().synthesize(context),
        );
        if self.scenario["refine"] != false {
            callbacks = callbacks
                .refine(move |context: StepContext| refine.clone().searched("refine", context));
        }
        if let Some(said) = self.scenario["enhance"].as_object().cloned() {
            let host = self.clone();
            callbacks = callbacks.enhance(move |context| {
                host.next("enhance");
                let said = said[&context.step.id.to_string()].as_str().map(str::to_owned);
                ready(Ok::<_, StepError>(said))
            });
        }
        if let Some(said) = self.scenario["quality"].as_object().cloned() {
            let host = self.clone();
            callbacks = callbacks.quality(move |step| {
                host.next("quality");
                let said = said[&step.id.to_string()].as_f64();
                ready(said.ok_or_else(|| StepError::new("it is none")))
            });
        }
        if let Some(said) = self.scenario["short"].as_object().cloned() {
            let host = self.clone();
            callbacks = callbacks.summarize_result(move |step| {
                host.next("summarizeResult");
                let said = said[&step.id.to_string()].as_str().unwrap().to_owned();
                ready(Ok::<_, StepError>(said))
            });
        }
        if let Some(cache) = &self.cache {
            callbacks = callbacks.cache(cache.clone());
        }
        if self.scenario.get("classify").is_none_or(|given| !given.is_null()) {
            let host = self.clone();
            callbacks = callbacks.classify(move |_| {
                host.next("classify");
                ready(Ok::<_, StepError>(match host.scenario["classify"].as_str() {
                    Some("simple") => Complexity::Simple,
                    None | Some("complex") => Complexity::Complex,
                    Some(other) => panic!("{other}"),
                }))
            });
        }
        if let Some(said) = self.scenario["assess"].as_array().cloned() {
            let host = self.clone();
            callbacks = callbacks.assess(move |_| {
                let at = host.next("assess").min(said.len() - 1);
                ready(Ok::<_, StepError>(said[at].as_f64().unwrap()))
            });
        }
        if let Some(said) = self.scenario["replan"].as_array().cloned() {
            let host = self.clone();
            callbacks = callbacks.replan(move |_| {
                let steps = said.get(host.next("replan")).cloned();
                ready(Ok::<_, StepError>(steps.filter(|steps| !steps.is_null())))
            });
        }
        if self.scenario["condition"].is_object() {
            let host = self.clone();
            callbacks = callbacks.condition(move |context| {
                host.next("condition");
                let decided = &host.scenario["condition"][context.step.id.to_string()];
                ready(Ok::<_, StepError>(decided.as_bool().unwrap()))
            });
        }
        callbacks
    }

    /// Keys that should be in the cache and are not.
    pub fn forgotten(&self) -> Vec<String> {
        let kept = self.scenario["kept"].as_array().into_iter().flatten().map(canonical);
        let entries = self.cache.as_ref().map(MemoryCache::entries).unwrap_or_default();
        kept.filter(|key| !entries.contains_key(key))
            .map(|key| format!("not kept: {key}"))
            .collect()
    }

    /// Calls before this one.
    fn next(&self, kind: &'static str) -> usize {
        let mut asked = self.asked.lock();
        let count = asked.entry(kind).or_default();
        *count += 1;
        *count - 1
    }

    fn answer(&self, context: &AnswerContext) -> Result<ChainText, StepError> {
        assert!(!context.query.is_empty());
        Ok(self.write("answer", &[], &[]))
    }

    /// What the call of a step reports with `spend`.
    fn spends(&self, id: &str) -> Option<f64> {
        self.scenario["spends"][id].as_f64()
    }

    async fn plan(self, context: PlanContext) -> Result<Value, StepError> {
        let n = self.next("plan");
        assert_eq!(usize::try_from(context.attempt).unwrap(), n + 1);
        self.spends("plan").into_iter().for_each(|cost| context.spend(cost));
        let plan = self.scenario["plans"].get(n).unwrap_or_else(|| &self.scenario["plan"]);
        if let Some(why) = plan["fails"].as_str() {
            return Err(why.into());
        }
        if plan["hangs"] == true {
            futures::future::pending::<()>().await;
        }
        Ok(plan.clone())
    }

    async fn searched(self, kind: &'static str, context: StepContext) -> Result<Value, StepError> {
        let id = context.id.to_string();
        self.spends(&id).into_iter().for_each(|cost| context.spend(cost));
        self.step(kind, &context.id, &context.query).await
    }

    async fn synthesize(self, context: SynthesisContext) -> Result<ChainText, StepError> {
        let id = context.id.to_string();
        self.spends(&id).into_iter().for_each(|cost| context.spend(cost));
        if context.is_final {
            let results: Vec<_> = context.results.iter().map(|one| one.id.clone()).collect();
            let missing: Vec<_> = context.missing.iter().map(|one| one.id.clone()).collect();
            return Ok(self.write("synthesize", &results, &missing));
        }
        let value = self.step("synthesize", &context.id, &context.task).await?;
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned).into())
    }

    async fn step(&self, kind: &'static str, id: &StepId, query: &str) -> Result<Value, StepError> {
        self.next(kind);
        let id = id.to_string();
        let call = &self.scenario["calls"][&id];
        let n = {
            let mut counts = self.counts.lock();
            let count = counts.entry(id.clone()).or_default();
            *count += 1;
            *count - 1
        };
        if call["hangs"] == true {
            futures::future::pending::<()>().await;
        }
        for other in call["after"].as_array().into_iter().flatten() {
            let open = self.gate(other.as_str().unwrap(), |gate| gate.open.clone());
            open.await.unwrap();
        }
        let (host, opened) = (self.clone(), id.clone());
        // Behind everything that this settles.
        spawn(async move {
            sleep(0).await;
            if let Some(tell) = host.gate(&opened, |gate| gate.tell.take()) {
                let _ = tell.send(());
            }
        });
        if let Some(why) = call["fails"].as_str()
            && n < call["times"].as_u64().unwrap_or(u64::MAX)
        {
            let error = StepError::new(why);
            return Err(if call["retryable"] == false { error.fatal() } else { error });
        }
        let default = || json!([format!("{id}: {query}")]);
        Ok(call.get("returns").cloned().unwrap_or_else(default))
    }

    fn gate<R>(&self, id: &str, of: impl FnOnce(&mut Gate) -> R) -> R {
        let mut gates = self.gates.lock();
        of(gates.entry(id.to_owned()).or_insert_with(|| {
            let (tell, open) = oneshot::channel();
            Gate { tell: Some(tell), open: open.shared() }
        }))
    }

    fn write(&self, kind: &'static str, results: &[StepId], missing: &[StepId]) -> ChainText {
        let n = self.next(kind) as u64;
        let script = &self.scenario[kind];
        if let Some(why) = script["fails"].as_str()
            && n < script["times"].as_u64().unwrap_or(u64::MAX)
        {
            return ChainText::stream(stream::iter([Err::<String, _>(why.to_owned())]));
        }
        if let Some(pieces) = script.as_array().cloned() {
            // Who cancels at the first piece may be on another thread: no other one comes.
            let cancelled = self.scenario["cancelOn"] == "text";
            return ChainText::stream(stream::unfold(0, move |at| {
                let piece = pieces.get(at).map(|piece| piece.as_str().unwrap().to_owned());
                async move {
                    if at > 0 && cancelled {
                        futures::future::pending::<()>().await;
                    }
                    if at > 0 {
                        sleep(0).await;
                    }
                    piece.map(|piece| (Ok::<_, StepError>(piece), at + 1))
                }
            }));
        }
        let ids =
            |list: &[StepId]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let without = match missing {
            [] => String::new(),
            missing => format!(" without {}", ids(missing)),
        };
        format!("from {}{without}", ids(results)).into()
    }
}
