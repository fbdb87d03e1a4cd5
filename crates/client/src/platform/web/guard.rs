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

/// What JavaScript threw, in words.
pub(super) fn describe(thrown: &JsValue) -> String {
    if let Some(text) = thrown.as_string() {
        return text;
    }
    // Neither a message nor a JSON text need be strings, whatever their types say.
    let message = || js_sys::Reflect::get(thrown, &"message".into()).ok()?.as_string();
    let shown = || js_sys::JSON::stringify(thrown).ok()?.as_string();
    let is_error = thrown.is_instance_of::<js_sys::Error>();
    let said = is_error.then(message).flatten().filter(|message| !message.is_empty());
    said.or_else(shown).unwrap_or_else(|| "an error that cannot be shown".to_owned())
}
