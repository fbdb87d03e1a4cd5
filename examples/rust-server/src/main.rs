//! `POST /chat` with `{ messages }`: one turn, answered as `text/event-stream`.

use std::convert::Infallible;
use std::env;
use std::error::Error;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use turnlock_client::turnlock::turn::EventKind;
use turnlock_client::{Model, Tool, TurnOptions, run_turn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let name = env::var("MODEL").unwrap_or_else(|_| "gpt-5-mini".to_owned());
    // One model for all requests: they share its connections.
    let base = env::var("BASE_URL").unwrap_or_else(|_| "https://api.openai.com/v1".to_owned());
    let model = Model::openai_chat(base, name);
    let model = match env::var("OPENAI_API_KEY") {
        Ok(key) => model.api_key(key),
        Err(_) => model,
    };
    let address = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let routes = Router::new().route("/chat", post(chat)).with_state(model);
    Ok(axum::serve(listener, routes).await?)
}

#[derive(Deserialize)]
struct Asked {
    messages: Vec<Value>,
}

/// Whoever may ask is for your code to say, before anything else.
async fn chat(State(model): State<Model>, Json(Asked { messages }): Json<Asked>) -> Response {
    let turn = match run_turn(TurnOptions::new(model, messages).tool(list_files())) {
        Ok(turn) => turn,
        Err(error) => {
            let error = json!({ "error": { "code": error.code, "message": error.message } });
            return (StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8".to_owned()),
        (header::CACHE_CONTROL, "no-cache, no-transform".to_owned()),
        (HeaderName::from_static("x-request-id"), turn.request_id().to_owned()),
    ];
    // Pulled as the client reads, which holds the model back; dropped when the client leaves, which
    // ends the turn.
    let events = turn.map(|event| {
        if let EventKind::Error { failure, .. } = &event.kind {
            eprintln!("{}: {}: {}", event.request_id, failure.code, failure.message);
        }
        Ok::<_, Infallible>(event.to_sse())
    });
    (headers, Body::from_stream(events)).into_response()
}

const FILES: [&str; 3] = ["notes.txt", "readme.md", "log/today.txt"];

#[derive(Deserialize)]
struct Listing {
    path: String,
}

/// The files below a folder. A bucket or a database would be asked here, and awaited.
fn list_files() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
    });
    let list = |Listing { path }: Listing, _| async move {
        let folder = path.trim_matches(['.', '/']);
        let below = FILES.into_iter().filter(|file| file.starts_with(folder));
        Ok::<_, Infallible>(below.collect::<Vec<_>>())
    };
    Tool::new("list_files", "Lists the files below a folder.", schema, list).read_only()
}
