//! Many turns at once.

use futures::StreamExt;
use futures::future::join_all;
use serde_json::{Value, json};
use turnlock_client::{Tool, TurnOptions, TurnStatus, run_turn};

use crate::platform::test;
use crate::site;

fn go() -> Value {
    json!([{ "role": "user", "content": "go" }])
}

#[test]
async fn a_hundred_turns_at_once() {
    let turns = (0..100_u32).map(|n| async move {
        let dialect = if n % 2 == 0 { "openai-chat" } else { "anthropic" };
        let session = format!("rust-at-once-{n}");
        let files = Tool::new(
            "list_files",
            "",
            json!({ "type": "object" }),
            move |_: Value, _| async move { Ok::<_, String>([format!("file-{n}.txt")]) },
        );
        let model = site::model(&session, "one-call", dialect);
        let mut turn = run_turn(TurnOptions::new(model, go()).tool(files)).unwrap();
        let mut text = String::new();
        let mut seq = 0;
        while let Some(event) = turn.next().await {
            seq += 1;
            assert_eq!(event.seq, seq);
            text.push_str(event.chunk().unwrap_or_default());
        }
        let result = turn.result().await;
        assert_eq!(result.status, TurnStatus::Complete);
        assert_eq!(result.full_content, text);
        assert!(result.text.contains(&format!("file-{n}.txt")), "{}", result.text);
        assert_eq!(site::requests(&session).await.len(), 2);
    });
    join_all(turns).await;
}
