//! What no table reaches: the text of a turn alone, and Anthropic's header for pages.

use futures::StreamExt;
use serde_json::Value;
use turnlock_client::{Tool, TurnOptions, TurnStatus, run_turn};

use crate::callbacks::{any, calls_once, go};
use crate::platform::test;
use crate::site;

#[test]
async fn the_text_of_a_turn_alone() {
    let tool = Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>("seven") });
    let mut turn = run_turn(TurnOptions::new(calls_once("tool"), go()).tool(tool)).unwrap();
    let text: String = turn.text_stream().collect().await;
    let result = turn.result().await;
    assert_eq!((result.status, result.tool_results.len()), (TurnStatus::Complete, 1));
    assert_eq!((text.as_str(), result.text.as_str()), ("done", "done"));

    // A turn that fails ends its text; the result says why.
    let broken = site::model("rust-text", "no-such-script", "openai-chat");
    let mut turn = run_turn(TurnOptions::new(broken, go())).unwrap();
    assert_eq!(turn.text_stream().collect::<Vec<_>>().await, Vec::<String>::new());
    assert_eq!(turn.result().await.status, TurnStatus::Failed);
}

#[test]
async fn anthropic_answers_pages_that_ask_for_it() {
    for (session, asks) in [("rust-page-asks", true), ("rust-page-does-not", false)] {
        let model = site::model(session, "answer", "anthropic");
        let model = if asks { model.dangerously_allow_browser() } else { model };
        let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
        assert_eq!(result.status, TurnStatus::Complete, "{result:?}");
        let request = &site::requests(session).await[0];
        let header = &request["headers"]["anthropic-dangerous-direct-browser-access"];
        assert_eq!(header.as_str(), asks.then_some("true"));
    }
}
