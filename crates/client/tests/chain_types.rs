//! The types of a Rust host hold everything that a chain says.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations, dead_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../../../tests/chain/sim.rs"]
mod sim;

use serde_json::{Value, json};
use sim::Sim;

/// The types of a Rust host lose nothing of what the core says.
#[test]
fn typed_events_and_results() {
    use std::collections::BTreeSet;
    use turnlock_client::{ChainEvent, ChainResult};

    let mut kinds = BTreeSet::new();
    let tables: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/chain/scenarios.json")).unwrap();
    for scenario in tables {
        let mut sim = Sim::table(&scenario);
        sim.play();
        for event in &sim.events {
            let typed: ChainEvent = serde_json::from_value(event.clone()).unwrap();
            assert_eq!(floats(&serde_json::to_value(&typed).unwrap()), floats(event));
            kinds.insert(event["type"].as_str().unwrap().to_owned());
        }
        let result = sim.result.unwrap();
        let typed: ChainResult = serde_json::from_value(result.clone()).unwrap();
        assert_eq!(floats(&serde_json::to_value(&typed).unwrap()), floats(&result));
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

/// 1 is 1.0.
fn floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(floats).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), floats(value))).collect())
        }
        other => other.clone(),
    }
}
