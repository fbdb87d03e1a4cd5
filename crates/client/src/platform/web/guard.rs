//! Panics of the host's callbacks.
//!
//! On stable Rust a panic on wasm32 is a trap: it unwinds to the JavaScript frame below and
//! runs no destructor. So a callback is called through one such frame, `Reflect.apply`, which hands
//! the trap on as an error. What the callback owned is leaked; everything below it goes on. For the
//! standard library the thread is panicking from then on: `std::thread::panicking()` is true, and
//! no panic hook can be set any more.

use js_sys::Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Reflect, js_name = apply, catch)]
    fn apply(work: &mut dyn FnMut(), this: &JsValue, args: &Array) -> Result<(), JsValue>;
}

pub(super) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let mut work = Some(work);
    let mut returned = None;
    let ended = apply(
        &mut || returned = work.take().map(|work| work()),
        &JsValue::UNDEFINED,
        &Array::new(),
    );
    match (returned, ended) {
        (Some(returned), _) => Ok(returned),
        (None, Err(thrown)) => Err(describe_trap(&thrown)),
        (None, Ok(())) => Err("it did not return".to_owned()),
    }
}

/// The words of a trap, such as `unreachable`, say nothing; those of the panic are on the console,
/// where a hook puts them.
fn describe_trap(thrown: &JsValue) -> String {
    if thrown.is_instance_of::<js_sys::WebAssembly::RuntimeError>() {
        return "it panicked".to_owned();
    }
    describe(thrown)
}

/// The most UTF-16 units of the JSON of a thrown object.
const MOST: u32 = 4096;

/// The text of a thrown value: its message; of an object without one its compact JSON, cut to
/// [`MOST`]; of a `Response` its status.
pub(super) fn describe(thrown: &JsValue) -> String {
    if let Some(text) = thrown.as_string() {
        return text;
    }
    let json = js_sys::JSON::stringify(thrown).ok().filter(|json| json.is_string());
    if !thrown.is_object() {
        let kind = || thrown.js_typeof().as_string().unwrap_or_default();
        return json.map_or_else(kind, String::from);
    }
    // Neither a message nor a JSON text need be strings, whatever their types say.
    let member = |name: &str| js_sys::Reflect::get(thrown, &name.into()).ok();
    let message = member("message").and_then(|message| message.as_string());
    if let Some(message) = message.filter(|message| !message.trim().is_empty()) {
        return message;
    }
    let kind = js_sys::Reflect::get(thrown, &js_sys::Symbol::to_string_tag()).ok();
    // Without its address, which may hold a key.
    if kind.and_then(|kind| kind.as_string()).as_deref() == Some("Response") {
        let status = member("status").and_then(|status| status.as_f64()).unwrap_or_default();
        let text = member("statusText").and_then(|text| text.as_string()).unwrap_or_default();
        return format!("Response {status} {text}").trim_end().to_owned();
    }
    let name = member("name").and_then(|name| name.as_string()).unwrap_or_default();
    let json = json.map(|json| if json.length() > MOST { json.slice(0, MOST) } else { json });
    let json = json.map(String::from).filter(|json| json != "{}");
    match json {
        Some(json) if thrown.is_instance_of::<js_sys::Error>() => format!("{name} {json}"),
        Some(json) => json,
        None if !name.is_empty() => name,
        None => "an error that cannot be shown".to_owned(),
    }
}
