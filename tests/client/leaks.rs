//! Many turns, one behind the other, leave nothing in the page's memory.

use futures::{StreamExt, stream};
use serde_json::json;
use turnlock_client::{Tool, TurnOptions, TurnStatus, run_turn};
use wasm_bindgen::JsCast;

use crate::callbacks::{calls_once, go};
use crate::platform::{say, sleep, test};
use crate::site;

/// Pages of 64 KiB.
fn pages() -> u32 {
    let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length() / 65_536
}

/// JavaScript values that Rust holds: promises, closures, controllers, readers.
fn handles() -> u32 {
    wasm_bindgen::externref_heap_live_count()
}

/// One turn with a call; every fourth over HTTP, every third with a tool in JavaScript, some left
/// in the middle.
async fn one(n: u32) {
    let function = js_sys::Function::new_no_args("return new Promise((r) => setTimeout(r, 0, 7))");
    let name = if n.is_multiple_of(4) { "list_files" } else { "tool" };
    let schema = json!({ "type": "object" });
    let tool = match n % 3 {
        0 => Tool::js(name, "", schema, function),
        _ => Tool::new(name, "", schema, |_: serde_json::Value, _| async {
            Ok::<_, String>("x".repeat(500))
        }),
    };
    // Few sessions: the provider forgets the rest, and the test is about this side.
    let model = match n % 4 {
        0 => site::model(&format!("rust-leak-{n}"), "one-call", "openai-chat"),
        _ => calls_once("tool"),
    };
    let turn = TurnOptions::new(model, go()).tool(tool).on_trace(|_| ());
    let mut turn = run_turn(turn).unwrap();
    if n.is_multiple_of(7) {
        turn.next().await.unwrap();
        return;
    }
    while turn.next().await.is_some() {}
    assert_eq!(turn.result().await.status, TurnStatus::Complete);
}

#[test]
async fn ten_thousand_turns_leave_nothing() {
    let play = |range: std::ops::Range<u32>, lanes: usize| {
        stream::iter(range).map(one).buffer_unordered(lanes).count()
    };
    // More at once than later, so that memory is there for as many as then happen to be open.
    play(0..1000, 32).await;
    settle(0, 20).await;
    let before = (pages(), handles());
    play(1000..10_000, 8).await;
    settle(before.1, 600).await;
    let after = (pages(), handles());
    say!("pages, handles: {before:?}, then {after:?}");
    // A hundred bytes a turn would be 14 pages.
    assert!(after.0 <= before.0 + 1, "{before:?} {after:?}");
    assert!(after.1 <= before.1, "{before:?} {after:?}");
}

/// What was left in the middle ends behind its event: waits until no more than `most` handles are
/// left, or there are no fewer for so many looks.
async fn settle(most: u32, looks: u32) {
    let (mut least, mut same) = (handles(), 0);
    while least > most && same < looks {
        sleep(100).await;
        same = if handles() < least { 0 } else { same + 1 };
        least = least.min(handles());
    }
}
