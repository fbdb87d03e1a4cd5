//! Tools that are JavaScript functions: what they get and return is what the npm package's `execute`
//! does, value by value.

use std::sync::Arc;

use js_sys::{Function, JSON, Object, Promise, Reflect};
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::JsFuture;

use super::guard::describe;
use crate::tool::{Run, Tool, ToolContext, failed, text_of, unserializable};
use turnlock::json::Json;
use turnlock::stream::Usage;
use turnlock::turn::Settled;

impl Tool {
    /// On the web. A tool from a JavaScript function `(args, context) => value`, or a promise of
    /// one: what the npm package's `execute` gets and may return. Arguments are values of
    /// `JSON.parse`.
    ///
    /// Without the feature `jsonschema` its arguments are checked by [`Tool::check`] alone.
    pub fn js(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Serialize,
        function: Function,
    ) -> Self {
        let run: Run = Arc::new(move |args: Json<'static>, context| {
            let function = function.clone();
            Box::pin(async move { call_js(&function, &args, &context).await })
        });
        Self::of(name.into(), description.into(), &schema, run)
    }
}

/// Calls the function of a tool, and says what came of it.
async fn call_js(function: &Function, args: &Json<'static>, context: &ToolContext) -> Settled {
    let report = context.report.clone();
    // Lives as long as the call: who reports behind its end gets an exception.
    let report = Closure::<dyn Fn(JsValue)>::new(move |data: JsValue| {
        // As a result: what has no JSON is not shown.
        if let Settled::Ok { text, .. } = returned_js(&data) {
            report(text);
        }
    });
    let spend = context.spend.clone();
    let spend = Closure::<dyn Fn(JsValue)>::new(move |usage: JsValue| spend(usage_of(&usage)));
    let called = JSON::parse(&args.to_text()).and_then(|args| {
        function.call2(&JsValue::UNDEFINED, &args, &js_context(context, &report, &spend)?)
    });
    let ended = match called {
        Ok(value) => JsFuture::from(Promise::resolve(&value)).await,
        Err(thrown) => Err(thrown),
    };
    match ended {
        Ok(value) => returned_js(&value),
        Err(thrown) => failed("tool.threw", &describe(&thrown)),
    }
}

fn js_context(
    context: &ToolContext,
    report: &Closure<dyn Fn(JsValue)>,
    spend: &Closure<dyn Fn(JsValue)>,
) -> Result<JsValue, JsValue> {
    let object = Object::new();
    let set = |key: &str, value: JsValue| Reflect::set(&object, &key.into(), &value).map(drop);
    let text = |text: Option<&str>| text.map_or(JsValue::NULL, JsValue::from);
    set("signal", context.signal().map_or(JsValue::UNDEFINED, JsValue::from))?;
    set("requestId", text(Some(&context.request_id)))?;
    set("toolBatchId", context.tool_batch_id.into())?;
    set("toolCallId", text(Some(&context.tool_call_id)))?;
    set("idempotencyKey", text(Some(&context.idempotency_key)))?;
    set("projectId", text(context.project_id.as_deref()))?;
    if let Some(id) = context.conversation_id.as_deref() {
        set("conversationId", id.into())?;
    }
    set("report", report.as_ref().clone())?;
    set("reportUsage", spend.as_ref().clone())?;
    Ok(object.into())
}

/// The numbers of a usage; what is none counts as not reported.
fn usage_of(usage: &JsValue) -> Usage {
    let text = JSON::stringify(usage).ok().and_then(|text| text.as_string()).unwrap_or_default();
    let json = Json::parse_str(&text).unwrap_or_default();
    let tokens = |name| json.get(name).and_then(Json::as_u64);
    Usage {
        input_tokens: tokens("inputTokens"),
        output_tokens: tokens("outputTokens"),
        cached_input_tokens: tokens("cachedInputTokens"),
        cache_write_input_tokens: tokens("cacheWriteInputTokens"),
        reasoning_tokens: tokens("reasoningTokens"),
    }
}

/// The value of a JavaScript tool as JSON text; `undefined` counts as `null`.
fn returned_js(value: &JsValue) -> Settled {
    if value.is_undefined() {
        return text_of("null".to_owned());
    }
    match JSON::stringify(value) {
        // Functions, symbols, and a `toJSON` that returns one of them: `undefined`, no string.
        Ok(text) => match text.as_string() {
            Some(text) => text_of(text),
            None => {
                let kind = value.js_typeof().as_string().unwrap_or_default();
                unserializable(&format!("a {kind} has no JSON"))
            }
        },
        Err(thrown) => unserializable(&describe(&thrown)),
    }
}
