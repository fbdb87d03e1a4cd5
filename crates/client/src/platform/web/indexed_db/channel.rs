//! News from other pages and workers of the origin.

use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use web_sys::{BroadcastChannel, MessageEvent};

use super::listener::Listener;

/// A commit was applied.
#[derive(Serialize, Deserialize)]
pub(super) struct News {
    pub(super) turn: String,
    /// Who wrote.
    pub(super) owner: String,
    /// Whether the turn may be written again.
    pub(super) open: bool,
}

/// Open until it is dropped.
pub(super) struct Channel {
    channel: BroadcastChannel,
    _listener: Listener,
}

impl Channel {
    /// `None` where there are no channels.
    pub(super) fn open(name: &str, heard: impl Fn(News) + 'static) -> Option<Self> {
        let channel = BroadcastChannel::new(name).ok()?;
        let listener = Listener::new(&channel, "message", move |event| {
            let message: &MessageEvent = event.unchecked_ref();
            // What cannot be read is not from a store.
            if let Ok(news) = serde_wasm_bindgen::from_value(message.data()) {
                heard(news);
            }
        });
        Some(Self { channel, _listener: listener })
    }

    pub(super) fn post(&self, news: &News) {
        // News that get lost cost a reader some time, and nothing else.
        if let Ok(news) = serde_wasm_bindgen::to_value(news) {
            let _ = self.channel.post_message(&news);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.channel.close();
    }
}
