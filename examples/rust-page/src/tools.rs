//! What the model may call.

use std::convert::Infallible;

use js_sys::Function;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnlock_client::Tool;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::timeline;

#[wasm_bindgen(module = "/src/files.js")]
extern "C" {
    #[wasm_bindgen(js_name = fileNames)]
    fn file_names() -> Vec<String>;
    #[wasm_bindgen(js_name = readFile, thread_local_v2)]
    static READ_FILE: Function;
}

#[derive(Deserialize)]
struct Listing {
    path: String,
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize)]
struct Files {
    files: Vec<String>,
}

async fn list_files(wanted: Listing) -> Files {
    let folder = match wanted.path.trim_matches(['.', '/']) {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let is_wanted = |name: &String| {
        name.strip_prefix(&folder).is_some_and(|rest| wanted.recursive || !rest.contains('/'))
    };
    Files { files: file_names().into_iter().filter(is_wanted).collect() }
}

#[derive(Deserialize)]
struct Division {
    dividend: i64,
    divisor: i64,
}

/// Two of Rust and one of JavaScript.
pub fn tools() -> [Tool; 3] {
    let path = json!({ "type": "string" });
    let listing = json!({
        "type": "object",
        "properties": { "path": path, "recursive": { "type": "boolean" } },
        "required": ["path"],
    });
    let list = Tool::new(
        "list_files",
        "Lists the files below a folder.",
        listing,
        |wanted: Listing, _| async move {
            timeline::count_run();
            Ok::<_, Infallible>(list_files(wanted).await)
        },
    );
    let file = json!({ "type": "object", "properties": { "path": path }, "required": ["path"] });
    let read = Tool::js("read_file", "Reads one file.", file, READ_FILE.with(Function::clone));
    let numbers = json!({
        "type": "object",
        "properties": { "dividend": { "type": "integer" }, "divisor": { "type": "integer" } },
        "required": ["dividend", "divisor"],
    });
    // A bug, kept to show what comes of one: a division by zero panics. The call has an error then,
    // and the turn goes on.
    let divide =
        Tool::new("divide", "Divides two whole numbers.", numbers, |of: Division, _| async move {
            Ok::<_, Infallible>(of.dividend / of.divisor)
        });
    [list.read_only(), read.read_only(), divide.read_only()]
}
