//! What there is on the web alone: tools in JavaScript, signals, a `fetch` of the host's, and drivers
//! that a runtime no longer wakes.

use serde_json::json;
use turnlock::json::Json;
use turnlock::tool::Status;
use turnlock_client::evidence::{
    BundleOptions, Replicate, ReplicateContext, ReplicateError, Replicates, run_bundle,
};
use turnlock_client::{Tool, TurnOptions, TurnStatus, run_turn};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

use crate::callbacks::{
    any, assert_error, calls_once, go, hangs, in_tool, late, outcome, progresses, returned,
};
use crate::platform::{Seen, test};
use crate::site;

fn function(body: &str) -> js_sys::Function {
    js_sys::Function::new_with_args("args, context", body)
}

#[test]
async fn errors_of_javascript_are_told() {
    let thrown = Tool::js("tool", "", any(), function("throw new Error('no ' + args.n)"));
    assert_error(&outcome(thrown).await, "tool.threw", "no 1");
    let rejected = Tool::js("tool", "", any(), function("return Promise.reject('later')"));
    assert_error(&outcome(rejected).await, "tool.threw", "later");
    // As `describe` of the package has it.
    for (value, text) in [
        ("{ code: 'E42', message: 'quota' }", "quota"),
        ("{ code: 'E42', detail: 'quota' }", r#"{"code":"E42","detail":"quota"}"#),
        ("new Response('no', { status: 404, statusText: 'Not Found' })", "Response 404 Not Found"),
        ("Object.assign(new Error(''), { status: 422 })", r#"Error {"status":422}"#),
        ("new TypeError('')", "TypeError"),
        ("7", "7"),
    ] {
        let thrown = Tool::js("tool", "", any(), function(&format!("throw {value}")));
        assert_error(&outcome(thrown).await, "tool.threw", text);
    }
    for nothing in
        ["undefined", "() => 1", "Symbol()", "Object.assign(new Error(), { message: 7 })"]
    {
        let thrown = Tool::js("tool", "", any(), function(&format!("throw {nothing}")));
        assert_error(&outcome(thrown).await, "tool.threw", "");
    }
    let null = outcome(Tool::js("tool", "", any(), function("return null"))).await;
    assert_eq!(null.tool_results[0].outcome.result, Some(Json::Null));
    let told = Tool::js(
        "tool",
        "",
        any(),
        function(
            "return { ...context, signal: context.signal.aborted, report: typeof context.report }",
        ),
    );
    let result = outcome(told).await;
    let said = returned(&result);
    assert_eq!(said["requestId"], *result.request_id);
    let fields = ["toolBatchId", "toolCallId", "projectId", "signal", "report"];
    let fields: Vec<_> = fields.iter().map(|field| said[*field].clone()).collect();
    assert_eq!(json!(fields), json!([1, "c1", null, false, "function"]));
    assert!(said["idempotencyKey"].as_str().unwrap().len() > 20);
    let schema = Tool::js("a", "", json!(7), js_sys::Function::new_no_args(""));
    let error = run_turn(TurnOptions::new(calls_once("tool"), go()).tool(schema)).unwrap_err();
    assert_eq!(error.code, "tool.invalid_schema");
}

#[test]
async fn javascript_says_how_far_it_is() {
    let body = "context.report({ done: 1 }); await null; context.report(() => 1); return 2";
    let body = format!("return (async () => {{ {body} }})()");
    progresses(Tool::js("tool", "", any(), function(&body))).await;
}

#[test]
async fn leaving_aborts_the_signal() {
    let (started, told) = (Seen::new(false), Seen::new(false));
    let [start, tell] = [&started, &told].map(|flag| {
        let flag = flag.clone();
        Closure::<dyn Fn()>::new(move || flag.set(true))
    });
    let make = js_sys::Function::new_with_args(
        "start, tell",
        "return (_, { signal }) => {
            start()
            return new Promise(() => signal.addEventListener('abort', tell))
        }",
    );
    let function = make.call2(&JsValue::UNDEFINED, start.as_ref(), tell.as_ref()).unwrap();
    let tool = Tool::js("tool", "", any(), function.unchecked_into());
    drop(in_tool(tool, &started).await);
    site::until("the tool's signal is aborted", async || told.get()).await;
}

#[test]
async fn a_turn_that_is_dropped_is_over_at_once() {
    let (started, gone) = (Seen::new(false), Seen::new(false));
    let turn = in_tool(hangs(&started, &gone), &started).await;
    // A runtime that ends what a request has begun wakes nothing any more.
    drop(turn);
    assert!(gone.get());
}

#[test]
async fn a_tool_is_told_why_it_ends() {
    let make = js_sys::Function::new_with_args(
        "tell",
        "return (_, { signal, report }) => new Promise(() => {
            tell('started')
            signal.addEventListener('abort', () => {
                report('stopping')
                tell(signal.reason.name + ' ' + signal.reason.message)
            })
        })",
    );
    let said = Seen::new(String::new());
    let heard = said.clone();
    let tell = Closure::<dyn Fn(String)>::new(move |why| heard.set(why));
    let function = make.call1(&JsValue::UNDEFINED, tell.as_ref()).unwrap();
    let slow = || Tool::js("tool", "", any(), function.clone().unchecked_into());
    let result = late(slow, || !said.lock().is_empty()).await;
    assert_eq!(result.tool_results[0].outcome.status, Status::Timeout);
    assert_eq!(*said.lock(), "AbortError timeout");
}

#[test]
async fn a_replicate_is_told_why_it_ends() {
    let signals = Seen::new(Vec::new());
    let seen = signals.clone();
    let replicates = Replicates::new(move |context: ReplicateContext| {
        let seen = seen.clone();
        async move {
            if context.id != "r3" {
                return Ok::<_, ReplicateError>(Replicate::new(1));
            }
            seen.lock().push(context.signal().unwrap());
            std::future::pending().await
        }
    });
    run_bundle(BundleOptions::new("t").parallel(Some(3)), replicates)
        .unwrap()
        .result()
        .await
        .unwrap();
    let signal = signals.lock()[0].clone();
    let message = js_sys::Error::from(signal.reason()).message();
    assert!(signal.aborted() && message == "early", "{message}");
}

#[test]
async fn a_host_may_bring_its_fetch() {
    let seen = Seen::new(0);
    let count = seen.clone();
    let fetch = Closure::<dyn Fn(JsValue) -> JsValue>::new(move |request: JsValue| {
        count.set(count.get() + 1);
        let make = js_sys::Function::new_with_args("request", "return fetch(request)");
        make.call1(&JsValue::UNDEFINED, &request).unwrap()
    });
    let own: js_sys::Function = fetch.as_ref().unchecked_ref::<js_sys::Function>().clone();
    let model = site::model("rust-fetch", "answer", "openai-chat").fetch(own);
    let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
    assert_eq!((result.status, seen.get()), (TurnStatus::Complete, 1));
    let refuses = js_sys::Function::new_no_args("throw new Error('https://key@host/')");
    let model = site::model("rust-fetch-2", "answer", "openai-chat").fetch(refuses);
    let error = run_turn(TurnOptions::new(model, go())).unwrap().result().await.error.unwrap();
    assert_eq!(error.code, "model.unreachable");
    assert!(!error.message.contains("key"), "{error:?}");
}
