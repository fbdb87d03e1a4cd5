//! What the model may call: one tool runs at once, the other when the user has approved.

use serde::Deserialize;
use serde_json::json;
use turnlock_client::Tool;

const FILES: [(&str, &str); 2] =
    [("notes.txt", "Buy milk. Call Ada about the engine."), ("readme.md", "A ship that answers.")];

#[derive(Deserialize)]
struct Wanted {
    path: String,
}

pub fn tools() -> [Tool; 2] {
    let path = json!({ "type": "string" });
    let schema = json!({ "type": "object", "properties": { "path": path }, "required": ["path"] });
    let list = |_: Wanted, _| async { Ok::<_, String>(FILES.map(|(name, _)| name)) };
    let read = |Wanted { path }: Wanted, _| async move {
        let found = FILES.into_iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| text).ok_or_else(|| format!("there is no file {path}"))
    };
    [
        Tool::new("list_files", "Lists the files.", &schema, list).read_only(),
        Tool::new("read_file", "Reads a file.", &schema, read).read_only().needs_approval(),
    ]
}
