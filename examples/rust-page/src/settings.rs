//! What the form says: the model, the mode, the limits.

use turnlock_client::Model;
use turnlock_client::turnlock::turn::{Mode, Policy};
use web_sys::{HtmlElement, HtmlInputElement, HtmlSelectElement};

use crate::dom;

fn select(id: &str) -> String {
    dom::by_id::<HtmlSelectElement>(id).value()
}

fn input(id: &str) -> String {
    dom::by_id::<HtmlInputElement>(id).value().trim().to_owned()
}

/// Shows the fields of the provider that is chosen.
pub fn watch() {
    // Enter in a field must not load the page again.
    dom::on(&dom::by_id::<HtmlElement>("settings"), "submit", |event| event.prevent_default());
    dom::on(&dom::by_id::<HtmlElement>("provider"), "change", |_| {
        let is_real = select("provider") == "real";
        dom::by_id::<HtmlElement>("real").set_hidden(!is_real);
        dom::by_id::<HtmlElement>("scripted").set_hidden(is_real);
    });
}

/// The model that is chosen.
pub fn model() -> Model {
    if select("provider") == "real" {
        let model = Model::openai_chat(input("base-url"), input("model"));
        let key = input("key");
        return if key.is_empty() { model } else { model.api_key(key) };
    }
    // The scripted model of the development server, where a session is one turn.
    let session = web_sys::window().and_then(|window| window.crypto().ok());
    let session = session.map(|crypto| crypto.random_uuid()).unwrap_or_default();
    Model::openai_chat(format!("/model/s/{session}/{}/v1", select("behaviour")), "scripted")
}

/// Two stages, or the plain loop.
pub fn mode() -> Mode {
    if dom::by_id::<HtmlInputElement>("unified").checked() { Mode::Unified } else { Mode::TwoStage }
}

/// The limits.
pub fn policy() -> Policy {
    let max_tools = input("max-tools").parse().unwrap_or(1);
    Policy::default().max_tools(max_tools)
}
