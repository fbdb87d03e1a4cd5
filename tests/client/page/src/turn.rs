use futures::StreamExt;
use js_sys::{Function, Promise};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnlock_client::store::{IndexedDbStore, IndexedDbStoreOptions};
use turnlock_client::turnlock::json::Json;
use turnlock_client::turnlock::turn::Policy;
use turnlock_client::{
    Approval, Error, Model, ResumeOptions, RunningTurn, Tool, TurnOptions, cancel_turn,
    resume_turn, run_turn,
};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::future_to_promise;

/// What both ways of running a turn take.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    /// The database.
    name: String,
    request_id: String,
    tenant: String,
    base_url: String,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    fetch: Function,
    tools: Vec<GivenTool>,
    /// JSON.
    messages: String,
    /// JSON.
    policy: String,
    approvals: Vec<GivenApproval>,
    /// Gets the JSON of every event.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    on_event: Function,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenTool {
    name: String,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    needs_approval: bool,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    execute: Function,
}

#[derive(Deserialize)]
struct GivenApproval {
    signature: String,
    approved: bool,
}

/// Begins a turn; a promise of its result.
#[wasm_bindgen(js_name = runTurn)]
pub fn run(given: JsValue) -> Result<Promise, JsValue> {
    let given: Given = serde_wasm_bindgen::from_value(given)?;
    let json = |text: &str| Json::parse_str(text).map(Json::into_owned).map_err(misuse);
    let policy = Policy::from_json(&json(&given.policy)?).map_err(misuse)?;
    let options = TurnOptions::new(given.model(), json(&given.messages)?)
        .tools(given.tools())
        .policy(policy)
        .request_id(&given.request_id)
        .tenant(&given.tenant)
        .store(store(&given.name));
    played(run_turn(options), given.on_event)
}

/// Goes on with a turn; a promise of its result.
#[wasm_bindgen(js_name = resumeTurn)]
pub fn resume(given: JsValue) -> Result<Promise, JsValue> {
    let given: Given = serde_wasm_bindgen::from_value(given)?;
    let approvals = given
        .approvals
        .iter()
        .map(|GivenApproval { signature, approved }| Approval::new(signature.as_str(), *approved));
    let options = ResumeOptions::new(&given.request_id, store(&given.name), given.model())
        .tools(given.tools())
        .approvals(approvals)
        .tenant(&given.tenant);
    played(resume_turn(options), given.on_event)
}

/// Stops a turn, wherever it runs.
#[wasm_bindgen(js_name = cancelTurn)]
pub async fn cancel(name: String, request_id: String, tenant: String) -> Result<JsValue, JsValue> {
    let status = cancel_turn(request_id, store(&name), tenant, "enough").await;
    Ok(serde_wasm_bindgen::to_value(&status.map_err(misuse)?)?)
}

impl Given {
    fn model(&self) -> Model {
        let model = Model::openai_chat(&self.base_url, "scripted").fetch(self.fetch.clone());
        model.max_retries(0)
    }

    fn tools(&self) -> Vec<Tool> {
        let tool = |given: &GivenTool| {
            let schema = serde_json::json!({ "type": "object" });
            let tool = Tool::js(&given.name, "A tool", schema, given.execute.clone());
            let tool = if given.read_only { tool.read_only() } else { tool };
            if given.needs_approval { tool.needs_approval() } else { tool }
        };
        self.tools.iter().map(tool).collect()
    }
}

fn store(name: &str) -> IndexedDbStore {
    let name = name.to_owned();
    IndexedDbStore::with_options(IndexedDbStoreOptions { name, ..IndexedDbStoreOptions::default() })
}

fn played(turn: Result<RunningTurn, Error>, on_event: Function) -> Result<Promise, JsValue> {
    let mut turn = turn.map_err(misuse)?;
    Ok(future_to_promise(async move {
        while let Some(event) = turn.next().await {
            on_event.call1(&JsValue::UNDEFINED, &event.to_json().to_text().into())?;
        }
        let result: Value = serde_json::to_value(turn.result().await).map_err(misuse)?;
        let plain = serde_wasm_bindgen::Serializer::json_compatible();
        Ok(result.serialize(&plain)?)
    }))
}

fn misuse(error: impl std::fmt::Display) -> JsValue {
    js_sys::Error::new(&error.to_string()).unchecked_into()
}
