//! The conversation, and the turn that says more.

use std::cell::RefCell;
use std::rc::Rc;

use futures::StreamExt;
use serde::Serialize;
use turnlock_client::turnlock::turn::{Event, EventKind};
use turnlock_client::{Control, Error, RunningTurn, TurnOptions, TurnStatus, run_plain_turn};
use web_sys::{HtmlButtonElement, HtmlElement, HtmlTextAreaElement};

use crate::dom;
use crate::settings;
use crate::timeline::Timeline;
use crate::tools::tools;

#[derive(Clone, Serialize)]
struct Message {
    role: &'static str,
    content: String,
}

/// What was said, and what is being said.
pub struct Chat {
    history: RefCell<Vec<Message>>,
    /// Stops the turn that runs, if one does.
    running: RefCell<Option<Control>>,
    timeline: Timeline,
    messages: HtmlElement,
    prompt: HtmlTextAreaElement,
    send: HtmlButtonElement,
    stop: HtmlButtonElement,
    clear: HtmlButtonElement,
    status: HtmlElement,
}

impl Chat {
    /// An empty one.
    pub fn new() -> Rc<Self> {
        Rc::new(Self {
            history: RefCell::default(),
            running: RefCell::default(),
            timeline: Timeline::new(),
            messages: dom::by_id("messages"),
            prompt: dom::by_id("prompt"),
            send: dom::by_id("send"),
            stop: dom::by_id("stop"),
            clear: dom::by_id("clear"),
            status: dom::by_id("status"),
        })
    }

    /// Ends the turn: the model's response is closed, tools are dropped.
    pub fn stop(&self) {
        if let Some(turn) = &*self.running.borrow() {
            turn.cancel("stopped by the user");
        }
    }

    /// Forgets the conversation.
    pub fn clear(&self) {
        self.history.borrow_mut().clear();
        dom::empty(&self.messages);
        self.timeline.clear();
        self.say_status("");
        let _ = self.prompt.focus();
    }

    /// Runs a turn over the conversation and what is in the text box.
    pub async fn send(self: Rc<Self>) {
        let text = self.prompt.value().trim().to_owned();
        if self.running.borrow().is_some() {
            return;
        }
        if text.is_empty() {
            self.say_status("Write a message first.");
            return;
        }
        let mut messages = self.history.borrow().clone();
        messages.push(Message { role: "user", content: text.clone() });
        let options = TurnOptions::new(settings::model(), &messages)
            .mode(settings::mode())
            .policy(settings::policy())
            .tools(tools());
        match run_plain_turn(options) {
            Ok(turn) => {
                self.prompt.set_value("");
                self.show(text, turn).await;
            }
            // What the page itself got wrong: an empty base URL, a limit that is none.
            Err(Error { code, message }) => self.say_status(&format!("{code}: {message}")),
        }
    }

    /// Shows a turn to its end; what was said becomes part of the conversation.
    async fn show(&self, text: String, mut turn: RunningTurn) {
        *self.running.borrow_mut() = Some(turn.control());
        self.enable(false);
        self.say_status("The model is asked.");
        self.timeline.clear();
        self.add_message("user", &text);
        let bubble = self.add_message("assistant", "");
        bubble.set_hidden(true);
        // Read out once, when it is whole.
        let _ = bubble.set_attribute("aria-busy", "true");
        while let Some(event) = turn.next().await {
            self.add(&event, &bubble);
        }
        let result = turn.result().await;
        let _ = bubble.set_attribute("aria-busy", "false");
        let mut history = self.history.borrow_mut();
        history.push(Message { role: "user", content: text });
        if !result.full_content.is_empty() {
            history.push(Message { role: "assistant", content: result.full_content.clone() });
        }
        self.timeline.end(&result);
        self.say_status(match result.status {
            TurnStatus::Complete => "The turn is complete.",
            TurnStatus::Cancelled => "The turn was stopped.",
            TurnStatus::Failed => "The turn failed.",
            TurnStatus::Paused => "The turn is paused.",
        });
        *self.running.borrow_mut() = None;
        self.enable(true);
    }

    fn add(&self, event: &Event, bubble: &HtmlElement) {
        match &event.kind {
            EventKind::Text { chunk, .. } => dom::follow(&self.messages, || {
                bubble.set_hidden(false);
                dom::append_text(bubble, chunk);
            }),
            EventKind::Error { failure, .. } => {
                self.add_message("failed", &failure.to_string());
            }
            _ => {}
        }
        self.timeline.add(event);
    }

    fn add_message(&self, kind: &str, text: &str) -> HtmlElement {
        dom::follow(&self.messages, || {
            let bubble = dom::element("div", &format!("message {kind}"), text);
            dom::append(&self.messages, &bubble);
            bubble
        })
    }

    /// One turn at a time. The focus stays on a button that does something.
    fn enable(&self, idle: bool) {
        // Asked first: a button that is disabled loses the focus, in some browsers at once.
        let focused = dom::document().active_element();
        let was_on = |button: &HtmlButtonElement| focused.as_ref() == Some(button.as_ref());
        self.send.set_disabled(!idle);
        self.clear.set_disabled(!idle);
        self.stop.set_disabled(idle);
        let _ = match idle {
            false if was_on(&self.send) || was_on(&self.clear) => self.stop.focus(),
            true if was_on(&self.stop) => self.prompt.focus(),
            _ => Ok(()),
        };
    }

    fn say_status(&self, text: &str) {
        self.status.set_text_content(Some(text));
    }
}
