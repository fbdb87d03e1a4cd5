//! Conversations that the provider keeps: the strategy `thread` with the Responses API.

use serde_json::{Value, json};
use turnlock::history::Strategy;
use turnlock_client::{Tool, TurnOptions, TurnResult, TurnStatus, run_turn};

use crate::callbacks::any;
use crate::platform::test;
use crate::site;

async fn asked(session: &str, messages: &Value, previous: Option<&str>) -> TurnResult {
    let model = site::model(session, "one-call", "openai-responses");
    let tool = Tool::new("list_files", "", any(), |_: Value, _| async { Ok::<_, String>("a.txt") });
    let options = TurnOptions::new(model, messages)
        .strategy(Strategy::Thread)
        .conversation_id("c")
        .tool(tool.read_only());
    let options = match previous {
        Some(id) => options.previous_response_id(id),
        None => options,
    };
    run_turn(options).unwrap().result().await
}

#[test]
async fn a_turn_goes_on_behind_the_response_that_the_provider_keeps() {
    let session = "kept-by-the-provider";
    let first = json!([{ "role": "user", "content": "Which files are there?" }]);
    let result = asked(session, &first, None).await;
    assert_eq!(result.status, TurnStatus::Complete);
    assert_eq!(result.response_id.as_deref(), Some("resp_2"));
    let next = json!([first[0], { "role": "assistant", "content": result.text },
        { "role": "user", "content": "And now?" }]);
    // The second no longer exists.
    for id in ["resp_2", "resp_gone"] {
        assert_eq!(asked(session, &next, Some(id)).await.status, TurnStatus::Complete, "{id}");
    }
    let sent = site::requests(session).await;
    let told = |one: &Value| {
        let body = &one["body"];
        (body["previous_response_id"].clone(), body["input"].as_array().unwrap().len())
    };
    let told: Vec<_> = sent.iter().map(told).collect();
    let id = |id: &str| json!(id);
    assert_eq!(&told[..3], [(Value::Null, 1), (id("resp_1"), 1), (id("resp_2"), 1)]);
    let gone = told.iter().position(|(previous, _)| *previous == "resp_gone").unwrap();
    assert_eq!(told[gone + 1], (Value::Null, 3));
}
