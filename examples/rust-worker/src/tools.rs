//! What the model may call.

use std::convert::Infallible;

use serde::Deserialize;
use serde_json::json;
use turnlock_client::Tool;

const FILES: [&str; 3] = ["notes.txt", "readme.md", "log/today.txt"];

#[derive(Deserialize)]
struct Listing {
    path: String,
    #[serde(default)]
    recursive: bool,
}

/// The files below a folder. A bucket or a database would be asked here, and awaited.
pub fn list_files() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "recursive": { "type": "boolean" } },
        "required": ["path"],
    });
    let list = |wanted: Listing, _| async move { Ok::<_, Infallible>(list(&wanted)) };
    Tool::new("list_files", "Lists the files below a folder.", schema, list).read_only()
}

fn list(wanted: &Listing) -> Vec<&'static str> {
    let folder = wanted.path.trim_matches(['.', '/']);
    let below = |name: &&str| match folder {
        "" => wanted.recursive || !name.contains('/'),
        folder => name
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| wanted.recursive || !rest.contains('/')),
    };
    FILES.into_iter().filter(below).collect()
}
