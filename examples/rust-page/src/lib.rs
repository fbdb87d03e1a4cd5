//! A chat page in Rust without a framework: one message, one turn, every event of it shown.

mod chat;
mod dom;
mod settings;
mod timeline;
mod tools;

use std::rc::Rc;

use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::{HtmlElement, HtmlFormElement, HtmlTextAreaElement, KeyboardEvent};

use chat::Chat;

/// Runs when the module has been loaded.
#[wasm_bindgen(start)]
pub fn start() {
    // A panic of a tool is that call's error; what it said goes to the console.
    std::panic::set_hook(Box::new(|panic| {
        web_sys::console::error_1(&panic.to_string().into());
    }));
    let chat = Chat::new();

    let form: HtmlFormElement = dom::by_id("composer");
    let sender = chat.clone();
    dom::on(&form, "submit", move |event| {
        event.prevent_default();
        wasm_bindgen_futures::spawn_local(Rc::clone(&sender).send());
    });

    let prompt: HtmlTextAreaElement = dom::by_id("prompt");
    dom::on(&prompt, "keydown", move |event| {
        let Some(key) = dom::cast::<KeyboardEvent>(&event) else { return };
        if key.key() == "Enter" && !key.shift_key() && !key.is_composing() {
            key.prevent_default();
            // Checks the form, as the button does.
            let _ = form.request_submit();
        }
    });

    let stopper = chat.clone();
    dom::on(&dom::by_id::<HtmlElement>("stop"), "click", move |_| stopper.stop());
    dom::on(&dom::by_id::<HtmlElement>("clear"), "click", move |_| chat.clear());
    settings::watch();
    let _ = dom::body().set_attribute("data-ready", "");
}
