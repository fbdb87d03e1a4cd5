//! Small helpers. Text only ever becomes text, never markup.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, Event, HtmlElement};

/// The document and its parts are there: the page and this code are made for each other.
const MADE: &str = "index.html has it";

/// The document.
pub fn document() -> Document {
    web_sys::window().and_then(|window| window.document()).expect(MADE)
}

/// Its body.
pub fn body() -> HtmlElement {
    document().body().expect(MADE)
}

/// An element of the page.
pub fn by_id<E: JsCast>(id: &str) -> E {
    document().get_element_by_id(id).and_then(|found| found.dyn_into().ok()).expect(MADE)
}

/// `value` as one of its classes.
pub fn cast<T: JsCast>(value: &JsValue) -> Option<T> {
    value.dyn_ref::<T>().map(|one| one.unchecked_ref::<JsValue>().clone().unchecked_into())
}

/// Listens for as long as the page lives.
pub fn on(target: &Element, name: &str, listener: impl Fn(Event) + 'static) {
    let listener = Closure::<dyn Fn(Event)>::new(listener);
    target
        .add_event_listener_with_callback(name, listener.as_ref().unchecked_ref())
        .expect("an element takes listeners");
    listener.forget();
}

/// An element with a class and a text.
pub fn element(tag: &str, class: &str, text: &str) -> HtmlElement {
    let made = document().create_element(tag).expect("a tag");
    made.set_class_name(class);
    made.set_text_content((!text.is_empty()).then_some(text));
    made.unchecked_into()
}

/// Appends text to an element.
pub fn append_text(to: &Element, text: &str) {
    let _ = to.append_with_str_1(text);
}

/// Appends an element to another.
pub fn append(to: &Element, child: &Element) {
    let _ = to.append_child(child);
}

/// Removes what an element holds.
pub fn empty(element: &Element) {
    element.set_text_content(None);
}

/// Keeps a list at its end while it grows, unless the reader has scrolled back.
pub fn follow<R>(list: &Element, grow: impl FnOnce() -> R) -> R {
    let at_end = list.scroll_height() - list.scroll_top() - list.client_height() < 40;
    let grown = grow();
    if at_end {
        list.set_scroll_top(list.scroll_height());
    }
    grown
}
