use std::sync::Arc;
use std::time::Duration;

use js_sys::{Error, Function, Reflect};
use serde::{Deserialize, Serialize};
use turnlock_client::store::{IndexedDbStore, IndexedDbStoreOptions, Store, StoreError, Watch};
use turnlock_client::turnlock::store::{Commit, CommitResult};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

/// An `IndexedDbStore` with the methods of the npm package's `Store`.
#[wasm_bindgen]
pub struct RustStore(IndexedDbStore);

/// What the npm package's `Commit` holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenCommit {
    owner: String,
    revision: u64,
    take_over: bool,
    #[serde(default)]
    replaces: Option<String>,
    open: bool,
    state: Option<String>,
    records: Vec<(String, String)>,
    events: Option<Group>,
    forget: u64,
    reusable: Vec<(String, String, u64)>,
    ttl_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Group {
    last: u64,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GivenKept {
    owner: Option<String>,
    revision: u64,
    /// `Infinity` where the owner is known to be gone.
    idle_ms: f64,
    open: bool,
    state: String,
    records: Vec<(String, String)>,
}

#[derive(Serialize)]
struct GivenAnswer {
    ok: bool,
    state: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GivenRecalled {
    text: String,
    age_ms: u64,
}

#[wasm_bindgen]
impl RustStore {
    #[wasm_bindgen(constructor)]
    pub fn new(name: Option<String>, open_timeout_ms: Option<u32>) -> Self {
        let mut options = IndexedDbStoreOptions::default();
        if let Some(name) = name {
            options.name = name;
        }
        if let Some(ms) = open_timeout_ms {
            options.open_timeout = Duration::from_millis(ms.into());
        }
        Self(IndexedDbStore::with_options(options))
    }

    pub async fn read(&self, turn: String) -> Result<JsValue, JsValue> {
        let kept = self.0.read(&turn).await.map_err(thrown)?;
        given(&kept.map(|kept| GivenKept {
            owner: kept.owner,
            revision: kept.revision,
            idle_ms: kept.idle_ms.map_or(f64::INFINITY, |idle| idle as f64),
            open: kept.open,
            state: kept.state,
            records: kept.records,
        }))
    }

    pub async fn commit(&self, turn: String, commit: JsValue) -> Result<JsValue, JsValue> {
        let commit: GivenCommit = serde_wasm_bindgen::from_value(commit)?;
        let commit = Commit {
            owner: commit.owner,
            revision: commit.revision,
            take_over: commit.take_over,
            replaces: commit.replaces,
            open: commit.open,
            state: commit.state,
            records: commit.records,
            events: commit.events.map(|group| (group.last, group.text)),
            forget: commit.forget,
            reusable: commit.reusable,
            ttl_ms: commit.ttl_ms,
        };
        given(&match self.0.commit(&turn, Arc::new(commit)).await.map_err(thrown)? {
            CommitResult::Stored => GivenAnswer { ok: true, state: None },
            CommitResult::Refused { state } => GivenAnswer { ok: false, state },
            CommitResult::Failed { code, message } => {
                return Err(thrown(StoreError::new(code, message)));
            }
        })
    }

    pub async fn events(&self, turn: String, after: f64, most: u32) -> Result<JsValue, JsValue> {
        let groups = self.0.events(&turn, after as u64, most).await.map_err(thrown)?;
        let groups = groups.into_iter().map(|group| Group { last: group.last, text: group.text });
        given(&groups.collect::<Vec<_>>())
    }

    pub async fn recall(&self, key: String) -> Result<JsValue, JsValue> {
        let found = self.0.recall(&key).await.map_err(thrown)?;
        given(&found.map(|found| GivenRecalled { text: found.text, age_ms: found.age_ms }))
    }

    /// Ends with the `free` of what it gives.
    pub fn watch(&self, turn: &str, changed: Function) -> Option<RustWatch> {
        let changed = Arc::new(move |owner: Option<&str>| {
            if let Err(error) = changed.call1(&JsValue::UNDEFINED, &owner.into()) {
                wasm_bindgen::throw_val(error);
            }
        });
        self.0.watch(turn, changed).map(RustWatch)
    }
}

#[wasm_bindgen]
pub struct RustWatch(#[expect(dead_code, reason = "watches until it is dropped")] Watch);

fn given<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    Ok(serde_wasm_bindgen::to_value(value)?)
}

fn thrown(error: StoreError) -> JsValue {
    let thrown = Error::new(&error.message);
    match Reflect::set(&thrown, &"code".into(), &error.code.into()) {
        Ok(_) => thrown.unchecked_into(),
        Err(error) => error,
    }
}
