//! Turns with a store: the first run, and each leg behind it, by an owner of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use futures::future::{Either, select};
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult, StoredTurn};
use turnlock_client::store::{
    EventGroup, MemoryStore, MemoryStoreOptions, Store, StoreError, StoredOutcome,
};
use turnlock_client::{
    Approval, BoxFuture, Model, ResumeOptions, Revision, cancel_turn, resume_turn, run_turn,
};

use crate::lines::{Group, Reduction};
use crate::platform::{self, Seen, sleep};
use crate::site;
use crate::turns::{Dead, Executed, TERMINAL, given, held_by, intervene, met, tools};

fn parsed(value: &Value) -> Json<'static> {
    Json::parse_str(&value.to_string()).unwrap().into_owned()
}

/// What the legs have in common.
struct Legs<'a> {
    scenario: &'a Arc<Value>,
    model: &'a Model,
    session: &'a str,
    store: MemoryStore,
    skew: Seen<f64>,
    executed: Executed,
    known: BTreeMap<String, String>,
    /// Calls that wait for an approval: id → signature.
    waits: BTreeMap<String, String>,
    /// The `seq` of what the legs of each turn showed.
    taken: BTreeSet<(String, u64)>,
}

pub async fn play(scenario: &Arc<Value>, model: &Model, session: &str) -> Result<(), String> {
    let skew = Seen::new(0.0);
    let clock = skew.clone();
    let now = Arc::new(move || platform::now() + clock.get());
    let store = MemoryStore::with_options(MemoryStoreOptions { now, ..Default::default() });
    let executed = Executed::default();
    let (known, waits, taken) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let mut legs = Legs { scenario, model, session, store, skew, executed, known, waits, taken };
    let first = json!({ "run": true, "facts": scenario["facts"], "expect": scenario["expect"] });
    let behind = scenario["legs"].as_array().unwrap();
    for (at, leg) in std::iter::once(&first).chain(behind).enumerate() {
        if let Err(why) = legs.leg(leg).await {
            // The messages of each request: more requests than a scenario has are answered with 404.
            let asked = site::requests(session).await;
            let counts: Vec<_> =
                asked.iter().map(|one| one["messages"].as_array().map_or(0, Vec::len)).collect();
            return Err(format!("leg {}: {why}\n  messages of its requests: {counts:?}", at + 1));
        }
    }
    Ok(())
}

impl Legs<'_> {
    async fn leg(&mut self, leg: &Value) -> Result<(), String> {
        self.skew.set(self.skew.get() + leg["later"].as_f64().unwrap_or(0.0));
        // A process, of which nothing is heard any more once it is dead.
        let dead = Dead::default();
        let store = LegStore {
            store: self.store.clone(),
            dead: dead.clone(),
            owner_gone: leg["ownerGone"] == true,
        };
        let request = leg["requestId"].as_str().unwrap_or("request-1").to_owned();
        let tenant = leg["tenant"].as_str().unwrap_or("").to_owned();
        if let Some(reason) = leg["cancel"].as_str() {
            let got = match cancel_turn(request, store, tenant, reason).await {
                Ok(status) => json!({ "status": status }),
                Err(error) => json!({ "code": error.code }),
            };
            return if got == leg["expect"] { Ok(()) } else { Err(got.to_string()) };
        }
        let before = site::requests(self.session).await.len();
        let started = self.executed.lock().len();
        let held = held_by(&leg["facts"]);
        let mut own = tools(self.scenario, &self.executed, &dead, &held);
        if leg["expect"]["crashed"] == true {
            // On a busy machine the test sees a death late. If a tool timed out before that, the
            // dead process would ask the model again, and take the answer of the next leg.
            own = own.into_iter().map(|tool| tool.timeout_ms(3_600_000)).collect();
        }
        let turn = if leg["run"] == true {
            let fallbacks = site::fallbacks(self.session, self.scenario);
            let options = given(self.scenario, self.model.clone()).fallbacks(fallbacks);
            run_turn(options.tools(own).request_id(request.as_str()).tenant(tenant).store(store))
        } else {
            let mut options = ResumeOptions::new(request.as_str(), store, self.model.clone())
                .fallbacks(site::fallbacks(self.session, self.scenario))
                .tenant(tenant)
                .tools(own);
            if self.scenario["answerSchema"].is_object() {
                options = options.answer_schema(&self.scenario["answerSchema"]);
            }
            if let Some(id) = leg["resume"]["toolBatchId"].as_u64() {
                options = options.tool_batch_id(u32::try_from(id).unwrap());
            }
            let approval = |(id, decision): (&String, &Value)| {
                let signature = self.waits.get(id).unwrap_or(id).clone();
                let approved = decision.get("approved").unwrap_or(decision) == true;
                let reason = decision.get("reason").and_then(Value::as_str).map(str::to_owned);
                Approval::new(signature, approved).reason(reason)
            };
            // The outcome of a page's call is what its tool returns.
            let given = [&leg["resume"]["approvals"], &leg["resume"]["outcomes"]];
            let approvals = given.into_iter().filter_map(Value::as_object).flatten();
            let results = leg["resume"]["results"].as_array().into_iter().flatten().map(|one| {
                let id = one["toolCallId"].as_str().unwrap();
                match one.get("result") {
                    Some(new) => Revision::replaced(id, parsed(new)),
                    None => Revision::dropped(id),
                }
            });
            resume_turn(options.approvals(approvals.map(approval)).results(results))
        };
        let mut turn = turn.map_err(|error| error.to_string())?;
        let control = turn.control();
        let (mut events, mut counts) = (Vec::new(), BTreeMap::new());
        // Nothing more comes of a dead process: what it had said waits for nothing, and is read by
        // the next task.
        let silence = || {
            let died = dead.clone();
            Box::pin(async move {
                while !died.get() {
                    sleep(5).await;
                }
                sleep(1).await;
            })
        };
        while let Either::Left((Some(event), _)) = select(turn.next(), silence()).await {
            let event: Value = event.to_json().to().unwrap();
            intervene(&control, &leg["facts"], &event, &mut counts);
            held.set(false);
            events.push(event);
        }
        let dead = dead.get();
        self.check(&events, &request, dead)?;
        for event in &events {
            let seq = event["seq"].as_u64().unwrap();
            let new = self.taken.insert((format!("{} {request}", leg["tenant"]), seq));
            if !new && event["type"] != "error" {
                return Err(format!("two events have its seq: {event}"));
            }
        }
        if dead != (leg["expect"]["crashed"] == true) {
            return Err(format!("crashed: {dead}"));
        }
        let result = if dead {
            drop(turn);
            None
        } else {
            Some(turn.result().await)
        };
        let known = std::mem::take(&mut self.known);
        let mut reduction = Reduction {
            scenario: self.scenario,
            known,
            lines: Vec::new(),
            group: Group::default(),
        };
        events.iter().for_each(|event| reduction.event(event));
        reduction.flush();
        self.known = reduction.known;
        let lines = reduction.lines;
        let requests = site::requests(self.session).await.split_off(before);
        let ran = self.executed.lock()[started..].to_vec();
        met(&leg["expect"], &lines, &ran, result.as_ref(), &requests)
    }

    fn check(&mut self, events: &[Value], request: &str, dead: bool) -> Result<(), String> {
        let first = events.first().map_or(0, |event| event["seq"].as_u64().unwrap());
        for (at, event) in events.iter().enumerate() {
            let kind = event["type"].as_str().unwrap();
            let ends = !dead && at + 1 == events.len();
            let fits = event["seq"].as_u64() == Some(first + at as u64)
                && event["requestId"] == request
                && TERMINAL.contains(&kind) == ends;
            if !fits {
                return Err(format!("event {at} of {events:?}"));
            }
            let calls = match kind {
                "approval_required" => &event["toolCalls"],
                "paused" => &event["calls"],
                _ => continue,
            };
            for call in calls.as_array().into_iter().flatten() {
                let text = |key: &str| call[key].as_str().unwrap().to_owned();
                self.waits.insert(text("id"), text("signature"));
            }
        }
        Ok(())
    }
}

/// The store as the process of a leg sees it.
struct LegStore {
    store: MemoryStore,
    dead: Dead,
    owner_gone: bool,
}

impl Store for LegStore {
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            let kept = self.store.read(turn).await?;
            Ok(kept.map(|kept| StoredTurn {
                idle_ms: kept.idle_ms.filter(|_| !self.owner_gone),
                ..kept
            }))
        })
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        if self.dead.get() {
            let error = StoreError::new("store.unavailable", "the process is dead");
            return Box::pin(futures::future::ready(Err(error)));
        }
        self.store.commit(turn, commit)
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        self.store.events(turn, after, most)
    }

    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredOutcome>, StoreError>> {
        self.store.recall(key)
    }
}
