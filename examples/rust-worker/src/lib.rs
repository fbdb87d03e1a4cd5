//! `POST /chat` with `{ messages }`: one turn, answered as `text/event-stream`.

mod tools;

use futures::channel::oneshot;
use futures::{FutureExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use turnlock_client::{Error, Model, TurnOptions, run_turn};
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Context, Env, Method, Request, Response, ResponseBuilder, Result, event};

/// Bytes of a request that are read.
const MOST_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct Asked {
    messages: Vec<Value>,
}

/// Whoever may ask is for your code to say, before anything else.
#[event(fetch)]
async fn fetch(mut request: Request, env: Env, context: Context) -> Result<Response> {
    if request.path() != "/chat" {
        return refuse(404, "request.not_found", "no such path");
    }
    if request.method() != Method::Post {
        return refuse(405, "request.method", "POST it");
    }
    let body = request.bytes().await?;
    if body.len() > MOST_BYTES {
        return refuse(413, "request.too_large", "too long a conversation");
    }
    match serde_json::from_slice(&body) {
        Ok(asked) => chat(asked, &env, &context, left(&request)),
        Err(why) => refuse(400, "request.invalid", &why.to_string()),
    }
}

fn chat(
    Asked { messages }: Asked,
    env: &Env,
    context: &Context,
    left: impl Future<Output = ()> + 'static,
) -> Result<Response> {
    let options = TurnOptions::new(model(env)?, messages).tool(tools::list_files());
    let turn = match run_turn(options) {
        Ok(turn) => turn,
        Err(Error { code, message }) => return refuse(400, &code, &message),
    };
    let id = turn.request_id().to_owned();
    // Dropped with the stream, and only then is the worker done: a turn that is cut off ends first,
    // and gives back its memory.
    let (streaming, ended) = oneshot::channel::<()>();
    context.wait_until(ended.map(drop));
    // Pulled as the client reads, which holds the model back; dropped when the client leaves, which
    // ends the turn.
    let events = turn.take_until(left).map(move |event| {
        let _ = &streaming;
        Ok::<_, worker::Error>(event.to_sse())
    });
    ResponseBuilder::new()
        .with_header("content-type", "text/event-stream; charset=utf-8")?
        .with_header("cache-control", "no-cache, no-transform")?
        .with_header("x-request-id", &id)?
        .from_stream(events)
}

/// Resolves when the client leaves. Without it nobody would be told while the model is silent.
fn left(request: &Request) -> impl Future<Output = ()> + 'static {
    let signal = request.inner().signal();
    let aborted = Promise::new(&mut |resolve, _| signal.set_onabort(Some(&resolve)));
    JsFuture::from(aborted).map(drop)
}

fn model(env: &Env) -> Result<Model> {
    let name = env.var("MODEL").map_or_else(|_| "gpt-5-mini".to_owned(), |name| name.to_string());
    let model = Model::openai_chat(env.var("BASE_URL")?.to_string(), name);
    Ok(match env.secret("OPENAI_API_KEY") {
        Ok(key) => model.api_key(key.to_string()),
        Err(_) => model,
    })
}

fn refuse(status: u16, code: &str, message: &str) -> Result<Response> {
    let error = json!({ "error": { "code": code, "message": message } });
    Ok(Response::from_json(&error)?.with_status(status))
}
